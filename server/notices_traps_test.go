package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/client"
)

// A notice after the close is a late payment: the order stays CLOSED, and the merchant is told
// once, however often the notice comes.
func TestNoticeAfterTheClose(t *testing.T) {
	d := newDesk(t)
	api, s := d.serveNoticedBy(t, d.settings(t, append(replaced(noticed, "schedule: 1h*", "schedule: 10ms*"), "confirm: 0s", "late_watch: 1h")...))
	ref := client.OrderRef{MerchantNo: "M1", OrderNo: "A1"}
	create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: "A1", Amount: 1299, Currency: "CNY", Expires: "1ms"})
	passes(t, "closed", func() bool {
		o, err := api.Order(t.Context(), ref, 0)
		return err == nil && o.OrderState == "CLOSED"
	})
	for i := range 3 {
		if status, answer := notify(t, s, paidNotice("A1", 1299), gatewayKey); status != 200 || answer != "success" {
			t.Fatalf("notice %d: %d %q", i, status, answer)
		}
	}
	o, told := d.ends(t, api, ref)
	if o.OrderState != "CLOSED" || o.LatePayment != "PAID" || events(told) != "order.closed order.late_payment" {
		t.Errorf("%s, late payment %q, told %s; want CLOSED, PAID, told of both once", o.OrderState, o.LatePayment, events(told))
	}
	if got := results(t, api, ref); !slices.Equal(got, []string{"applied", "duplicate", "duplicate"}) {
		t.Errorf("notices %q", got)
	}
}

// The watch finds a payment after the close, and then a notice tells of another one. The merchant
// is told of both: the second one may be refunded. The notice of the first one says nothing new.
func TestSecondPaymentAfterTheWatch(t *testing.T) {
	d := newDesk(t)
	d.answer = func(_, what string, _ int, _ *http.Request) (int, string) {
		if what == "close" {
			return http.StatusNoContent, ""
		}
		d.mu.Lock()
		closed := slices.Contains(d.asked["A1"], "close")
		queries := len(d.asked["A1"])
		d.mu.Unlock()
		switch {
		case !closed:
			return says("NOTPAY")
		case queries < 4: // that the close held
			return says("CLOSED")
		}
		return says("SUCCESS")
	}
	rules := append(replaced(noticed, "then: tell", "then: {default: tell, duplicate_payment: tell}"), "confirm: 0s", "late_watch: 1s")
	api, s := d.serveNoticedBy(t, d.settings(t, rules...))
	ref := client.OrderRef{MerchantNo: "M1", OrderNo: "A1"}
	create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: "A1", Amount: 1299, Currency: "CNY", Expires: "1ms"})
	passes(t, "the watch finds the payment", func() bool {
		o, err := api.Order(t.Context(), ref, 0)
		return err == nil && o.LatePayment == "PAID"
	})
	for _, number := range []string{"42", "4200001", "42"} {
		body := strings.Replace(paidNotice("A1", 1299), `"42"`, fmt.Sprintf("%q", number), 1)
		if status, answer := notify(t, s, body, gatewayKey); status != 200 || answer != "success" {
			t.Fatalf("notice of %s: %d %q", number, status, answer)
		}
	}
	o, told := d.ends(t, api, ref)
	if o.OrderState != "CLOSED" || events(told) != "order.closed order.late_payment order.duplicate_payment" {
		t.Fatalf("%s, told %s, asked %s; want CLOSED, told of both payments once", o.OrderState, events(told), d.was("A1"))
	}
	if first, second := told[1].Says["transaction_id"], told[2].Says["transaction_id"]; first != "4200001" || second != "42" {
		t.Errorf("told of the payments %v and %v; want 4200001, and 42 as the duplicate", first, second)
	}
	if got := results(t, api, ref); !slices.Equal(got, []string{"applied", "duplicate", "duplicate"}) {
		t.Errorf("notices %q", got)
	}
}

// Several items in one body of which one is bad: the others decide their orders, one whose order
// does not exist yet is held, and the channel is answered that all is accepted.
func TestSeveralItemsOfWhichOneIsBad(t *testing.T) {
	d := newDesk(t)
	rules := slices.Clone(noticed)
	for i := range rules {
		rules[i] = strings.Replace(rules[i], "order: json", "items: list, order: json", 1)
	}
	api, s := d.serveNoticedBy(t, d.settings(t, rules...))
	first, last := costly(t, api, "A1"), costly(t, api, "A4")
	body := fmt.Sprintf(`{"list":[%s,{"trade_state":"SUCCESS"},%s,%s]}`, paidNotice("A1", 1299), paidNotice("A3", 1299), paidNotice("A4", 1299))
	for i := range 2 {
		if status, answer := notify(t, s, body, gatewayKey); status != 200 || answer != "success" {
			t.Fatalf("time %d: %d %q; want it accepted", i, status, answer)
		}
	}
	held := costly(t, api, "A3")
	for _, ref := range []client.OrderRef{first, last, held} {
		passes(t, "paid: "+ref.OrderNo, func() bool {
			o, err := api.Order(t.Context(), ref, 0)
			return err == nil && o.OrderState == "PAID"
		})
		if _, told := d.ends(t, api, ref); events(told) != "order.paid" || d.was(ref.OrderNo) != "" {
			t.Errorf("order %s: told %s, asked %q; want told once, no query", ref.OrderNo, events(told), d.was(ref.OrderNo))
		}
	}
	passes(t, "no notice is listed as held", func() bool {
		page, err := api.ListNotices(t.Context(), client.NoticeFilter{Result: "held"})
		return err == nil && len(page.Notices) == 0
	})
}

// A payment without an order that a person has dealt with stays listed: the held notice is the only
// record of it.
func TestHandledPaymentStaysListed(t *testing.T) {
	d := newDesk(t)
	api, s := d.serveNoticedBy(t, d.settings(t, noticed...))
	if status, answer := notify(t, s, paidNotice("A1", 1299), gatewayKey); status != 200 {
		t.Fatalf("%d %q; want it held", status, answer)
	}
	listed := func() []client.Notice {
		page, err := api.ListNotices(t.Context(), client.NoticeFilter{Result: "held"})
		if err != nil || len(page.Notices) != 1 {
			t.Fatalf("%+v, %v; want the notice that is held", page, err)
		}
		return page.Notices
	}
	if _, err := api.Complete(t.Context(), client.ByID(listed()[0].Task), client.CompleteTask{Reason: "refunded at the channel"}); err != nil {
		t.Fatal(err)
	}
	listed()
}
