package server_test

import (
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/config"
)

// A queue with require_merchant_url takes a task with an address only if that is its registered
// merchant's; so does an order or refund whose merchant is notified by that queue, and an order
// whose refund is. What was accepted is delivered, although the merchant moves.
func TestRequireMerchantURL(t *testing.T) {
	d := newDesk(t)
	queues := d.parse(t, `
queues:
  strict: {require_merchant_url: true}
  loose: {}
  orders:
    kind: order
    query: {method: GET, url: "CHANNEL/{order_no}"}
    close: {method: POST, url: "CHANNEL/{order_no}/close"}
    states: wechat_v3
    close_states: wechat_v3
    schedule: 50ms*
    on_exhausted: close
    then: strict
  refunding:
    kind: order
    query: {method: GET, url: "CHANNEL/{order_no}"}
    close: {method: POST, url: "CHANNEL/{order_no}/close"}
    states: wechat_v3
    close_states: wechat_v3
    schedule: 1h*
    on_exhausted: close
    then: {default: loose, late_payment: {refund: refunds}}
  refunds:
    kind: poll
    query: {method: GET, url: "CHANNEL/refunds/{ref_no}"}
    request: {method: POST, url: "CHANNEL/refunds/{order_no}/{ref_no}"}
    states: wechat_refund
    schedule: 1h*
    then: strict
`)
	api, s, _ := serve(t, t.TempDir(), func(c *config.Config) { c.Queues = queues })
	own := d.merchant + "/notify"
	for _, m := range []client.PutMerchant{{MerchantNo: "M1", NotifyURL: own}, {MerchantNo: "M2", Name: "without an address"}} {
		if _, _, err := api.PutMerchant(t.Context(), m.MerchantNo, m); err != nil {
			t.Fatal(err)
		}
	}
	order := func(no, url string) client.CreateTask {
		in := client.CreateTask{Queue: "orders", MerchantNo: no, OrderNo: "1"}
		if url != "" {
			in.Notify = &client.Notify{URL: url}
		}
		return in
	}
	refund := func(no, url string) client.CreateTask {
		return client.CreateTask{Queue: "refunds", MerchantNo: no, OrderNo: "1", RefNo: "R1", Notify: &client.Notify{URL: url}}
	}
	for _, tt := range []struct {
		in    client.CreateTask
		field string // the wrong field; empty: the task is accepted
	}{
		{client.CreateTask{Queue: "strict", MerchantNo: "M1"}, ""},
		{client.CreateTask{Queue: "strict", MerchantNo: "M1", URL: own}, ""},
		{client.CreateTask{Queue: "strict", MerchantNo: "M1", URL: own + "?order=1"}, ""},
		{client.CreateTask{Queue: "strict", MerchantNo: "M1", URL: own + "/x"}, "body.url"},
		{client.CreateTask{Queue: "strict", MerchantNo: "M1", URL: d.channel + "/notify"}, "body.url"},
		{client.CreateTask{Queue: "strict", MerchantNo: "M2", URL: own}, "body.url"},
		{client.CreateTask{Queue: "strict", MerchantNo: "M3", URL: own}, "body.url"},
		{client.CreateTask{Queue: "strict", URL: own}, "body.url"},
		{client.CreateTask{Queue: "loose", MerchantNo: "M1", URL: d.channel + "/notify"}, ""},
		{order("M1", d.channel+"/notify"), "body.notify.url"},
		{order("M3", own), "body.notify.url"},
		{order("M1", own), ""},
		{client.CreateTask{Queue: "refunding", MerchantNo: "M1", OrderNo: "2", Notify: &client.Notify{URL: d.channel + "/notify"}}, "body.notify.url"},
		{refund("M1", d.channel+"/notify"), "body.notify.url"},
		{refund("M3", own), "body.notify.url"},
		{refund("M1", own), ""},
	} {
		_, _, err := api.Create(t.Context(), tt.in)
		p, _ := err.(*client.Problem)
		switch {
		case tt.field == "" && err != nil:
			t.Errorf("%+v: %v; want it accepted", tt.in, err)
		case tt.field != "" && (p == nil || p.Status != 422 || len(p.Errors) != 1 || p.Errors[0].Location != tt.field || !strings.Contains(p.Errors[0].Message, "queue strict sends only to the notify_url")):
			t.Errorf("%+v: %v; want %s refused", tt.in, err, tt.field)
		case tt.field != "" && strings.Contains(err.Error(), own):
			t.Errorf("%+v: %v tells the registered address", tt.in, err)
		}
	}
	results, err := api.CreateBatch(t.Context(), []client.CreateTask{{Queue: "strict", MerchantNo: "M1", URL: d.channel}, {Queue: "strict", MerchantNo: "M1", URL: own}})
	if err != nil || results[0].Status != 422 || results[1].Status != 201 {
		t.Errorf("a batch: %+v, %v; want the first refused", results, err)
	}
	// The merchant moves before its order is decided: the notice goes where the order says.
	if _, _, err := api.PutMerchant(t.Context(), "M1", client.PutMerchant{NotifyURL: d.channel + "/moved"}); err != nil {
		t.Fatal(err)
	}
	heard := d.notices()
	if _, err := api.CompleteOrder(t.Context(), client.OrderRef{MerchantNo: "M1", OrderNo: "1"}, client.CompleteTask{Outcome: "PAID"}); err != nil {
		t.Fatal(err)
	}
	passes(t, "the order's notice", func() bool { return d.notices() > heard })
	c := config.Default()
	c.Queues = d.parse(t, "queues: {strict: {}}")
	if err := s.Reload(c); err != nil {
		t.Fatal(err)
	}
	if _, _, err := api.Create(t.Context(), client.CreateTask{Queue: "strict", MerchantNo: "M1", URL: own + "/x"}); err != nil {
		t.Errorf("after a reload without the rule: %v", err)
	}
}
