package order

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// The notifications that a queue got at its own address are among the tasks of their order, newest
// first.
func TestAddOwn(t *testing.T) {
	id := func(n byte) bellman.ID { return bellman.ID{n} }
	own := &bellman.Task{ID: id(5), Kind: bellman.KindOrder, Queue: "q", Key: "k", OrderNo: "O1", MerchantNo: "M1"}
	told := &bellman.Task{ID: id(7), Kind: bellman.KindNotify, Key: "q/k/decided"}
	others := []*bellman.Task{
		{ID: id(8), Key: "q/k/decided", MerchantNo: "M2"}, {ID: id(9), Key: "q/k2/decided"}, {ID: id(10), Key: "q/k/other"}, {ID: id(11), Key: "q/k/late_payment"},
	}
	fails := error(nil)
	list := func(_ context.Context, f store.Filter, _ bellman.ID, _ int) ([]*bellman.Task, bellman.ID, error) {
		if f.OrderNo != "O1" {
			t.Errorf("lists %+v; want the order's number", f)
		}
		return append([]*bellman.Task{told}, others...), bellman.ID{}, fails
	}
	sees := func(t *bellman.Task) bool { return t.ID != id(11) }
	got, err := AddOwn(t.Context(), list, []*bellman.Task{own}, sees)
	if err != nil || !slices.Equal(got, []*bellman.Task{told, own}) {
		t.Errorf("AddOwn = %v, %v; want the notification and the order", got, err)
	}
	alone := []*bellman.Task{told}
	if got, err := AddOwn(t.Context(), nil, alone, sees); err != nil || !slices.Equal(got, alone) {
		t.Errorf("AddOwn of notifications = %v, %v; want nothing added", got, err)
	}
	fails = errors.New("down")
	if _, err := AddOwn(t.Context(), list, []*bellman.Task{own}, sees); !errors.Is(err, fails) {
		t.Errorf("AddOwn = %v; want the store's error", err)
	}
}

// Only the keys of notifications about orders tell of one.
func TestTells(t *testing.T) {
	for key, want := range map[string]string{
		TellKey("wx", "M1/A/1", tellDecided): "wx", TellKey("wx", "k", tellUndecided): "wx", TellKey("wx", "k", tellLate): "wx",
		TellKey("wx", "M1/A1", tellDuplicate+"/1f"): "wx", TellKey("wx", "k", "paid"): "", "wx/decided": "", "wx//decided": "", "k/decided": "", "decided": "", "": "",
		"M1/1": "", "wx/duplicate_payment/1f": "", "wx/k/duplicate_payment": "", "wx/k/other/decided/x": "", "wx/k/other/1f": "",
	} {
		if got := Tells(key); got != want {
			t.Errorf("Tells(%q) = %q; want %q", key, got, want)
		}
	}
}

// An order that ends UNKNOWN is told of with the reason, unless its schedule is used up.
func TestUndecidedIsToldWithItsReason(t *testing.T) {
	for reason, query := range map[string]func(*Order) QueryAnswer{"amount_mismatch": pays(Taken{"amount": int64(1), "currency": "CNY"}), "exhausted": reads(Pending)} {
		h := newHouse(t, func(r *Rules) {
			r.OnExhausted = OnExhaustedCallback
			r.Then.For = map[string][]Recipient{StateUnknown: r.Then.Default}
		})
		h.channel.query = query
		task := h.priced()
		h.until(task)
		var want any
		if reason != "exhausted" {
			want = reason
		}
		if told := h.told("orders/M1/O1/undecided"); task.Reason != reason || told["reason"] != want || told["order_state"] != StateUnknown {
			t.Errorf("%s: told %v; want the reason %v", task.Reason, told, want)
		}
	}
}
