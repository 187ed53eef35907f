package order

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
)

// A notice whose order does not exist yet is kept once, and looks for it until it does.
func TestNoticeBeforeTheOrderExists(t *testing.T) {
	found, calls := false, 0
	h := newHouse(t, func(r *Rules) {
		r.Tell = func(_ context.Context, queue string, told *Told) (bool, error) {
			if calls++; queue != "orders" || told.OrderNo != "O1" || told.Reading != "PAID" {
				t.Errorf("tells %s %+v", queue, told)
			}
			return found, nil
		}
	})
	told := &Told{Of: OfPayment, ID: "n1", Account: "wx", OrderNo: "O1", Reading: "PAID", Came: h.now}
	later, another := *told, *told
	later.Came, another.Content = told.Came.Add(time.Hour), `{"amount":1}`
	task, again, other := told.Held("orders"), later.Held("orders"), another.Held("orders")
	if task.Key != again.Key || task.Key == other.Key {
		t.Errorf("keys %q, %q of the repeat, %q of another content; want the first two the same", task.Key, again.Key, other.Key)
	}
	if err := h.handler.Check(&task); err != nil || task.State != bellman.Pending {
		t.Fatalf("check: %v, %v", err, task.State)
	}
	if v := h.handler.Attempt(t.Context(), &task, 1); v.Next != bellman.Again || !v.Unsent || !v.Minor {
		t.Errorf("without the order: %+v", v)
	}
	found = true
	if v := h.handler.Attempt(t.Context(), &task, 2); v.Next != bellman.Succeed || v.Reason != "held" || calls != 2 {
		t.Errorf("with the order: %+v after %d calls", v, calls)
	}
	if s := StandingOf(&task); !s.Beside || s.State != "" {
		t.Errorf("a notice stands as %+v; want beside its order", s)
	}
}

// What a notice took is the same when it comes and after it was held.
func TestHeldNoticeKeepsItsNumbers(t *testing.T) {
	taken := Taken{"amount": int64(1<<53 + 1), "currency": "VND", "transaction_id": "42", "rate": 0.5, "ok": true}
	task := (&Told{Of: OfPayment, OrderNo: "O1", Reading: "PAID", Taken: taken, Came: created}).Held("orders")
	if got := ToldOf(&task).Taken; !maps.Equal(got, taken) {
		t.Errorf("held: %#v; want %#v", got, taken)
	}
}

// Somebody paid, and the order does not come: an alert is raised once, and the task says so until
// the order comes or a person has seen to the payment.
func TestPaymentWithoutOrder(t *testing.T) {
	found := false
	h := newHouse(t, func(r *Rules) { r.Tell = func(context.Context, string, *Told) (bool, error) { return found, nil } })
	held := func(told Told) *bellman.Task {
		told.Came = h.now
		return h.add(told.Held("orders"))
	}
	paid := Told{Result: NoticeApplied, Of: OfPayment, Account: "wx", OrderNo: "O1", Reading: "PAID", Taken: Taken{"amount": int64(8800), "currency": "CNY", "transaction_id": "42"}}
	const alert = "UNKNOWN: a notice says that 88.00 CNY was paid, and its order has not come since: channel_order_no O1, transaction_id 42, account wx"
	try := func(task *bellman.Task, after time.Duration) {
		h.now = ToldOf(task).Came.Add(after)
		v := h.handler.Attempt(t.Context(), task, 1)
		if v.Data != nil {
			task.Data = v.Data
		}
		if v.Next == bellman.Succeed {
			task.State = bellman.Succeeded
		}
	}
	task := held(paid)
	try(task, 30*time.Minute-time.Second)
	if len(h.alerts) > 0 || Unclaimed(task) != nil {
		t.Errorf("within half an hour: alerts %q", h.alerts)
	}
	for _, after := range []time.Duration{30 * time.Minute, 31 * time.Minute, 24 * time.Hour} {
		try(task, after)
	}
	if len(h.alerts) != 1 || h.alerts[0] != alert || h.kinds[0] != AlertUnclaimed || Unclaimed(task) == nil {
		t.Errorf("alerts %q, unclaimed %v; want %q", h.alerts, Unclaimed(task), alert)
	}
	task.State = bellman.Failed // its 24 hours are over
	v, err := h.handler.Complete(task, bellman.Completion{}, h.now)
	if Unclaimed(task) == nil || err != nil || v.Next != bellman.Again || len(v.Follow) > 0 {
		t.Errorf("completed after its end: %+v, %v; want it unclaimed before, and nothing but data", v, err)
	}
	if task.Data = v.Data; Unclaimed(task) != nil {
		t.Error("it is unclaimed although a person has seen to it")
	}
	task.Before = &bellman.Before{State: bellman.Failed} // somebody has it tried once more
	if try(task, 25*time.Hour); len(h.alerts) != 1 || Unclaimed(task) != nil {
		t.Errorf("tried by hand after that: alerts %q, unclaimed %v; want nothing new", h.alerts, Unclaimed(task))
	}
	paid.ID = "its order comes"
	task = held(paid)
	try(task, time.Hour)
	if v, err := h.handler.Complete(task, bellman.Completion{}, h.now); err != nil || v.Next != bellman.Succeed || len(v.Follow) > 0 {
		t.Errorf("completed while it is held: %+v, %v; want it succeeded, and nobody told", v, err)
	}
	found = true
	if try(task, 2*time.Hour); Unclaimed(task) != nil || len(h.alerts) != 2 {
		t.Errorf("the order came: unclaimed %v, alerts %q", Unclaimed(task), h.alerts)
	}
	found = false
	for _, other := range []Told{{Of: OfPayment, OrderNo: "O1", Reading: "CLOSED"}, {Of: OfPayment, OrderNo: "O1", Reading: "PAID_REFUNDED"}, {Of: OfRefund, RefNo: "R1"}} {
		if try(held(other), time.Hour); len(h.alerts) != 2 {
			t.Errorf("%+v raised an alert", other)
		}
	}
	record := paid.Record(h.order())
	if err := h.handler.Check(&record); err != nil {
		t.Fatal(err)
	}
	for _, of := range []*bellman.Task{&record, task} {
		if v, err := h.handler.Complete(of, bellman.Completion{Outcome: "PAID"}, h.now); err == nil {
			t.Errorf("a notice was completed as an order: %+v", v)
		}
	}
	if v, err := h.handler.Complete(&record, bellman.Completion{}, h.now); !errors.Is(err, bellman.ErrConflict) {
		t.Errorf("the record of a notice was completed: %+v, %v", v, err)
	}
}

// A held notice gives up where nobody can be told, and waits where the store does not answer.
func TestHeldNoticeWaits(t *testing.T) {
	var found bool
	var fails error
	h := newHouse(t, func(r *Rules) { r.Tell = func(context.Context, string, *Told) (bool, error) { return found, fails } })
	task := h.add((&Told{Of: OfPayment, OrderNo: "O1", Reading: "PAID", Came: h.now}).Held("orders"))
	fails = errors.New("down")
	if v := h.handler.Attempt(t.Context(), task, 1); v.Next != bellman.Again || v.Error != "down" || v.Minor {
		t.Errorf("the store is down: %+v; want another attempt, and the error", v)
	}
	h.now = h.now.Add(time.Hour)
	found, fails = true, nil
	if v := h.handler.Attempt(t.Context(), task, 2); v.Next != bellman.Succeed || len(h.alerts) != 0 {
		t.Errorf("its order came late: %+v, alerts %q; want it told, and no alert", v, h.alerts)
	}
	h.handler.rules.Tell = nil
	if v := h.handler.Attempt(t.Context(), task, 3); v.Next != bellman.GiveUp || v.Reason != string(NoticeRefused) {
		t.Errorf("nobody can be told: %+v; want it given up", v)
	}
	unread := &bellman.Task{Queue: "orders", Event: EventNotice, Body: []byte("{")}
	h.handler.rules.Tell = func(context.Context, string, *Told) (bool, error) { panic("told") }
	if v := h.handler.Attempt(t.Context(), unread, 1); v.Next != bellman.GiveUp {
		t.Errorf("a notice that cannot be read: %+v; want it given up", v)
	}
	if _, err := h.handler.Complete(unread, bellman.Completion{}, h.now); !errors.Is(err, bellman.ErrConflict) {
		t.Errorf("a notice that cannot be read was completed: %v", err)
	}
	// Without an alert, completing an ended task says nothing of a payment.
	task.State = bellman.Failed
	if v, err := h.handler.Complete(task, bellman.Completion{}, h.now); err != nil || v.Next != bellman.Succeed || v.Data != nil {
		t.Errorf("completed after its end: %+v, %v; want it succeeded", v, err)
	}
	task.Data = []byte(`{"alerted":true}`)
	for state, want := range map[bellman.State]bool{bellman.Pending: true, bellman.Failed: true, bellman.Succeeded: false, bellman.Cancelled: false} {
		if task.State = state; (Unclaimed(task) != nil) != want {
			t.Errorf("%v: unclaimed %t; want %t", state, !want, want)
		}
	}
	if task.State, task.Event = bellman.Pending, EventWatch; Unclaimed(task) != nil {
		t.Error("an order is an unclaimed payment")
	}
}

// The alert of an unclaimed payment names the amount only with its currency.
func TestMissing(t *testing.T) {
	for want, taken := range map[string]Taken{
		"88.00 CNY was paid": {"amount": int64(8800), "currency": "CNY"}, "a payment was paid": {"amount": int64(8800)},
		"a notice says that a payment was": {"amount": int64(0), "currency": "CNY"},
	} {
		if got := (&Told{Taken: taken}).Missing(); !strings.Contains(got, want) {
			t.Errorf("%v: %s; want %s", taken, got, want)
		}
	}
}
