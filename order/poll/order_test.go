package poll

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
)

// watched returns the task of an order O1 of merchant M1 that is known at a channel.
func watched(t *testing.T, account, number string) *bellman.Task {
	t.Helper()
	h, err := order.New(neverAsked{}, order.Rules{Account: account, OnExhausted: order.OnExhaustedClose})
	if err != nil {
		t.Fatal(err)
	}
	ask := order.Ask{ChannelOrderNo: number}
	task := &bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1"}
	if task.Body, err = ask.Encode(); err != nil {
		t.Fatal(err)
	}
	if err := h.Check(task); err != nil {
		t.Fatal(err)
	}
	return task
}

type neverAsked struct{ order.Channel }

// A refund without the number of its order at the channel gets the one under which the order is known at its account, and
// is refused where that cannot be said.
func TestOrderOfRefund(t *testing.T) {
	const here, there = "wechatpay:1", "wechatpay:2"
	notice := order.Told{Account: here, Of: order.OfPayment, OrderNo: "N1", Result: order.NoticeRefused}
	record := notice.Record(&bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1"})
	tell := &bellman.Task{Queue: "tell", MerchantNo: "M1", OrderNo: "O1", Body: []byte(`{"order_no":"O1"}`)}
	for name, tt := range map[string]struct {
		account string
		known   []*bellman.Task
		body    string
		want    string // of the channel; empty: it is refused
		refused string
	}{
		"unknown":               {here, nil, `{"ref_no":"R1"}`, "O1", ""},
		"known":                 {here, []*bellman.Task{tell, &record, watched(t, here, "C1")}, `{"ref_no":"R1"}`, "C1", ""},
		"under its own number":  {here, []*bellman.Task{watched(t, here, "")}, `{"ref_no":"R1"}`, "O1", ""},
		"twice, one number":     {here, []*bellman.Task{watched(t, here, "C1"), watched(t, here, "C1")}, `{"ref_no":"R1"}`, "C1", ""},
		"also elsewhere":        {here, []*bellman.Task{watched(t, there, "C2"), watched(t, here, "C1"), watched(t, "", "C3")}, `{"ref_no":"R1"}`, "C1", ""},
		"said":                  {here, []*bellman.Task{watched(t, here, "C1")}, `{"ref_no":"R1","channel_order_no":"C9"}`, "C9", ""},
		"at a gateway":          {"", []*bellman.Task{watched(t, "", "C1")}, `{"ref_no":"R1"}`, "C1", ""},
		"by a gateway":          {here, []*bellman.Task{watched(t, "", "C1")}, `{"ref_no":"R1"}`, "C1", ""},
		"two numbers":           {here, []*bellman.Task{watched(t, here, "C2"), watched(t, here, "C1")}, `{"ref_no":"R1"}`, "", "channel_order_no: is missing: the channel knows this order under the numbers C1, C2"},
		"two, one payment":      {here, []*bellman.Task{watched(t, here, "C2"), watched(t, here, "C1")}, `{"ref_no":"R1","vars":{"transaction_id":"42"}}`, "O1", ""},
		"of another account":    {here, []*bellman.Task{watched(t, there, "C1")}, `{"ref_no":"R1"}`, "", "account: the refund is asked of wechatpay:1, but the order is one of wechatpay:2"},
		"of another, as we say": {here, []*bellman.Task{watched(t, there, "C1")}, `{"ref_no":"R1","channel_order_no":"O1"}`, "O1", ""},
	} {
		h := newHouse(t, func(r *Rules) {
			r.Account, r.Then = tt.account, order.Then{}
			r.Orders = func(_ context.Context, merchantNo, orderNo string) ([]*bellman.Task, error) {
				if merchantNo != "M1" || orderNo != "O1" {
					t.Errorf("%s: the order %s/%s is looked for", name, merchantNo, orderNo)
				}
				return tt.known, nil
			}
		})
		task := &bellman.Task{Queue: "refunds", MerchantNo: "M1", OrderNo: "O1", Body: []byte(tt.body)}
		err := h.handler.Check(task)
		if tt.refused != "" {
			if err == nil || !strings.Contains(err.Error(), tt.refused) {
				t.Errorf("%s: %v; want %s", name, err, tt.refused)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		ask, err := ParseAsk(task.Body)
		if o := ask.order(task); err != nil || o.OrderNo != tt.want || o.OwnNo != "O1" {
			t.Errorf("%s: the channel is asked about the order %s, %v; want %s", name, o.OrderNo, err, tt.want)
		}
	}
}

// A store that does not answer accepts no refund: it would be asked for under a number that may be wrong. A transfer belongs
// to no order, and is accepted.
func TestOrderOfRefundNotFound(t *testing.T) {
	away := errors.New("the store is away")
	for of, want := range map[order.NoticeOf]error{order.OfRefund: away, order.OfTransfer: nil} {
		h := newHouse(t, func(r *Rules) {
			r.Of, r.Then = of, order.Then{}
			r.Orders = func(context.Context, string, string) ([]*bellman.Task, error) { return nil, away }
		})
		if err := h.handler.Check(&bellman.Task{Queue: "q", MerchantNo: "M1", OrderNo: "O1", Body: []byte(`{"ref_no":"R1"}`)}); !errors.Is(err, want) {
			t.Errorf("a %s: %v; want %v", of, err, want)
		}
	}
}
