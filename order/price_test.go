package order

import (
	"slices"
	"testing"
)

// An answer's amount is a whole number, in whatever type of number an expression or JSON gives it, with either code of its
// currency. Any other amount is told as it was written: it is never rounded, and never PAID.
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
