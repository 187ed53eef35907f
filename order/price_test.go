package order

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/bellmanhq/bellman"
)

// An answer's amount is a whole number, in whatever type of number an expression or JSON gives it,
// with either code of its currency. Any other amount is told as it was written: it is never
// rounded, and never PAID.
func TestUnreadableAmount(t *testing.T) {
	const no, want = ", which is no whole number of the smallest unit: want 88.00 CNY", "UNKNOWN: another amount was paid: the channel says the amount "
	for _, tt := range []struct {
		amount   any
		currency string
		alert    string // empty: the order is PAID
	}{
		{8800.0, "CNY", ""}, {uint64(8800), "cny", ""}, {int64(8800), "156", ""},
		{int64(8800), "RMB", "UNKNOWN: another amount was paid: 8800 RMB was paid: want 88.00 CNY"},
		{int64(8800), "jpy", "UNKNOWN: another amount was paid: 8800 JPY was paid: want 88.00 CNY"},
		{8800.5, "CNY", want + `"8800.5"` + no},
		{"88.00", "CNY", want + `"88.00"` + no},
		{"8800", "CNY", want + `"8800"` + no},
		{int64(8800), "", "UNKNOWN: another amount was paid: the channel does not say in which currency 8800 of the smallest unit was paid: want 88.00 CNY"},
		{nil, "CNY", "UNKNOWN: another amount was paid: the channel does not say which amount was paid, or in a way that cannot be read: want 88.00 CNY"},
		{int64(-8800), "CNY", want + `"-8800"` + no},
	} {
		h := newHouse(t)
		task := h.priced()
		h.channel.query = func(*Order) QueryAnswer {
			return QueryAnswer{Reading: Paid, Answer: said("paid"), Taken: Taken{"amount": tt.amount, "currency": tt.currency}}
		}
		h.attempt(task)
		state, alerts := "PAID", []string(nil)
		if tt.alert != "" {
			state, alerts = StateUnknown, []string{tt.alert}
		}
		if StateOf(task) != state || !slices.Equal(h.alerts, alerts) {
			t.Errorf("%v %s: %s, alerts %q; want %s, %q", tt.amount, tt.currency, StateOf(task), h.alerts, state, alerts)
		}
	}
}

func TestAmountOf(t *testing.T) {
	for _, tt := range []struct {
		value any
		want  int64
		ok    bool
	}{
		{int64(0), 0, true}, {int64(-1), -1, false}, {0, 0, true}, {8800, 8800, true}, {-1, -1, false},
		{uint64(math.MaxInt64), math.MaxInt64, true}, {uint64(math.MaxInt64) + 1, math.MinInt64, false},
		{0.0, 0, true}, {-1.0, -1, false}, {0.5, 0, false}, {float64(1<<53 - 1), 1<<53 - 1, true}, {float64(1 << 53), 1 << 53, false},
		{json.Number("0"), 0, true}, {json.Number("8800"), 8800, true}, {json.Number("-1"), -1, false}, {json.Number("88.5"), 0, false},
		{nil, 0, false}, {"8800", 0, false},
	} {
		if got, ok := amountOf(tt.value); got != tt.want || ok != tt.ok {
			t.Errorf("amountOf(%T %v) = %d, %t; want %d, %t", tt.value, tt.value, got, ok, tt.want, tt.ok)
		}
	}
}

// What a queue tells of a payment may be another amount than was paid, such as that without a
// coupon. The order's amount is compared with what the channel says, and that is kept and refunded.
func TestToldAmount(t *testing.T) {
	paid := func(id string) QueryAnswer {
		return QueryAnswer{Reading: Paid, Answer: said("x"), Taken: takenOf(id)}
	}
	refund := Recipient{Queue: "refunds", Refund: func(queue string, n *News) bellman.Task {
		return bellman.Task{Queue: queue, Key: n.What, Body: n.Paid}
	}}
	for _, numbers := range []string{"", "gateway"} {
		h := newHouse(t, func(r *Rules) {
			r.Then.Numbers = numbers
			r.Then.Taken = func(_ *Order, a *QueryAnswer, _ string) (map[string]any, error) {
				return Taken{"amount": int64(8000), "currency": "CNY", "transaction_id": "mine", "coupon": int64(800)}, nil
			}
			r.Then.For = map[string][]Recipient{DuplicatePayment: {refund}}
		})
		task := h.priced()
		h.channel.query = func(*Order) QueryAnswer { return paid("T1") }
		h.attempt(task)
		if numbers != "" {
			if StateOf(task) != StateUnknown {
				t.Errorf("a gateway's amount is what its queue reads: %s; want UNKNOWN", StateOf(task))
			}
			continue
		}
		if told := h.told("orders/M1/O1/decided"); StateOf(task) != "PAID" || told["amount"] != 8000. || told["coupon"] != 800. || told["transaction_id"] != "mine" {
			t.Errorf("%s, told %v; want PAID, and the amount of the queue", StateOf(task), told)
		}
		told := newHouse(t, func(r *Rules) { r.Then = h.handler.rules.Then })
		decided := told.priced()
		told.tell(decided, &Told{Result: NoticeApplied, Of: OfPayment, Reading: "PAID", Taken: takenOf("T1"), Content: "{}"})
		if got := told.told("orders/M1/O1/decided"); StateOf(decided) != "PAID" || got["amount"] != 8000. || got["transaction_id"] != "mine" {
			t.Errorf("a notice: %s, told %v; want what a query tells", StateOf(decided), got)
		}
		if kept := string(h.life(task).Taken); kept != `{"amount":8800,"coupon":800,"currency":"CNY","transaction_id":"T1"}` {
			t.Errorf("kept %s; want what the channel said, and the queue's own field", kept)
		}
		v, err := h.handler.Complete(task, bellman.Completion{Detail: &Told{Result: NoticeApplied, Of: OfPayment, Reading: "PAID", Taken: takenOf("T2"), Content: "{}"}}, h.now)
		if err != nil || len(v.Follow) != 2 || v.Follow[0].Queue != "refunds" {
			t.Fatalf("a second payment: %+v, %v; want its refund", v, err)
		}
		var back struct {
			TransactionID string `json:"transaction_id"`
			Amount        int64
		}
		if err := json.Unmarshal(v.Follow[0].Body, &back); err != nil || back.TransactionID != "T2" || back.Amount != 8800 {
			t.Errorf("refunded %s, %v; want what was paid", v.Follow[0].Body, err)
		}
	}
}
