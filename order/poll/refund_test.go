package poll

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
)

// Whatever finds a payment, its refund has one key, one number and one body; another payment has
// another number.
func TestRequestRefund(t *testing.T) {
	h := newHouse(t, func(r *Rules) { r.Request = true })
	news := func(decision, payment string, by *bellman.Task) *order.News {
		return &order.News{
			Of: by, Decision: decision, Key: "M1/O1", Notify: order.Notify{URL: "https://m.example/n"},
			Order: order.Order{MerchantNo: "M1", OrderNo: "C1", OwnNo: "O1", Account: "wechatpay:1900", Amount: 9000, Currency: "CNY", Created: created,
				Vars: map[string]string{"shop": "7", "amount": "1", "transaction_id": "mine"}},
			Taken: json.RawMessage(`{"transaction_id":"` + payment + `","amount":8800,"currency":"CNY","paid_at":"2026-11-20T15:04:05Z"}`),
		}
	}
	own, watch := &bellman.Task{Queue: "orders", Key: "M1/O1", MerchantNo: "M1", OrderNo: "O1"}, &bellman.Task{Queue: "orders", Key: "M1/O1/late_watch", MerchantNo: "M1", OrderNo: "O1"}
	added := func(n *order.News) bellman.Task {
		task := RequestRefund(true)("refunds", n)
		if err := h.handler.Check(&task); err != nil {
			t.Fatal(err)
		}
		return task
	}
	first := added(news(order.LatePayment, "T1", own))
	h.now = h.now.Add(time.Hour)
	if again := added(news(order.LatePayment, "T1", watch)); again.Key != first.Key || string(again.Body) != string(first.Body) || again.Alias() != first.Alias() {
		t.Errorf("found by another: %s %s; want %s %s", again.Key, again.Body, first.Key, first.Body)
	}
	ask, err := ParseAsk(first.Body)
	if err != nil || ask.RefNo != "C1-R1" || ask.ChannelOrderNo != "C1" || ask.Account != "wechatpay:1900" || ask.Notify.URL == "" || first.Key != "M1/O1/C1-R1" || first.Queue != "refunds" {
		t.Errorf("%v: %s %s", err, first.Key, first.Body)
	}
	for name, want := range map[string]string{"shop": "7", "amount": "8800", "total": "8800", "currency": "CNY", "transaction_id": "T1"} {
		if ask.Vars[name] != want {
			t.Errorf("vars.%s is %q; want %q", name, ask.Vars[name], want)
		}
	}
	if o := ask.order(&first); o.OrderNo != "C1" || o.OwnNo != "O1" || o.RefNo != "C1-R1" {
		t.Errorf("the channel is asked about %+v", o)
	}

	keys := map[string]bool{first.Key: true}
	for _, payment := range []string{"T2", "T3"} {
		one, two := added(news(order.DuplicatePayment, payment, own)), added(news(order.DuplicatePayment, payment, own))
		if keys[one.Key] || two.Key != one.Key || !strings.HasPrefix(one.Key, "M1/O1/C1-D") {
			t.Errorf("duplicate payment %s: %s and %s", payment, one.Key, two.Key)
		}
		keys[one.Key] = true
	}
	long := news(order.LatePayment, "T1", own)
	long.Order.OrderNo = strings.Repeat("9", 64)
	if ask, err := ParseAsk(added(long).Body); err != nil || len(ask.RefNo) != maxDerived {
		t.Errorf("the number of a long order is %s, %v", ask.RefNo, err)
	}
	told := news(order.LatePayment, "T1", own) // of another amount than was paid, and the channel names no currency
	told.Paid = json.RawMessage(`{"transaction_id":"T9","amount":7700}`)
	paid, err := ParseAsk(RequestRefund(true)("refunds", told).Body)
	if _, named := paid.Vars["currency"]; err != nil || named || paid.Vars["amount"] != "7700" || paid.Vars["transaction_id"] != "T9" {
		t.Errorf("refunded: %v, %v; want what was paid, and no currency", paid.Vars, err)
	}
	for n, want := range map[json.Number]string{"8800": "8800", "": "", "0": "", "-1": "", "88.5": "", "9223372036854775808": ""} {
		if got := whole(n); got != want {
			t.Errorf("whole(%s) = %q; want %q", n, got, want)
		}
	}
	untold := RequestRefund(false)("refunds", news(order.LatePayment, "T1", own))
	if ask, err := ParseAsk(untold.Body); err != nil || !ask.Notify.IsZero() {
		t.Errorf("a queue that tells nobody: %s", untold.Body)
	}
}

// Each result of a poll has recipients of its own, also when a person enters it.
func TestThenOfPolls(t *testing.T) {
	then := order.Then{For: map[string][]order.Recipient{DecisionDone: {{Queue: "merchant", HasURL: true}, {Queue: "ledger", HasURL: true}}, DecisionFailed: {}}}
	for outcome, want := range map[string]int{StateDone: 2, StateFailedThere: 0} {
		h := newHouse(t, func(r *Rules) { r.Then = then })
		task := bellman.Task{Queue: "refunds", MerchantNo: "M1", OrderNo: "O1", Body: []byte(`{"ref_no":"R1"}`)}
		if err := h.handler.Check(&task); err != nil {
			t.Fatal(err)
		}
		v, err := h.handler.Complete(&task, bellman.Completion{Outcome: outcome}, h.now)
		if err != nil || len(v.Follow) != want {
			t.Errorf("%s: %+v, %v; want %d told", outcome, v.Follow, err, want)
		}
	}
}
