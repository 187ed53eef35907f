package order

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
)

// A refund is requested only of a payment that the channel itself says is there, and whose money
// nobody may have given back.
func TestRefundsAreRequested(t *testing.T) {
	refund := []Recipient{{Queue: "refunds", Refund: func(queue string, n *News) bellman.Task {
		return bellman.Task{Queue: queue, Key: n.What, Body: n.Paid}
	}}}
	ended := func(state string, change ...func(*Life)) Life {
		l := Life{Stage: Decided, State: state, DecidedAt: created.UnixMilli(), Began: created.UnixMilli()}
		for _, c := range change {
			c(&l)
		}
		return l
	}
	first := func(l *Life) { l.Taken = []byte(`{"transaction_id":"T1","amount":8800,"currency":"CNY"}`) }
	late := func(l *Life) { l.Late = "PAID" }
	notice := func(reading string) func(h *house, task *bellman.Task) {
		return func(h *house, task *bellman.Task) {
			h.tell(task, &Told{Of: OfPayment, Reading: reading, Taken: takenOf("T2"), Content: "{}"})
		}
	}
	query := func(h *house, task *bellman.Task) {
		h.channel.query = pays(takenOf("T2"))
		h.byHand(task)
	}
	person := func(h *house, task *bellman.Task) {
		v, err := h.handler.Complete(task, bellman.Completion{Outcome: "PAID", Detail: takenOf("T2")}, h.now)
		if err != nil {
			h.t.Fatal(err)
		}
		for _, f := range v.Follow {
			h.add(f)
		}
	}
	inFlight := func(h *house, task *bellman.Task) { // a query, when the task was ended
		h.channel.query = pays(takenOf("T2"))
		flying := *task
		flying.Status = bellman.Status{Began: task.Began, Due: h.now}
		for _, f := range h.handler.Late(task, h.handler.Attempt(h.t.Context(), &flying, 1), h.now).Follow {
			h.add(f)
		}
	}
	for _, tt := range []struct {
		name string
		life Life
		do   func(h *house, task *bellman.Task)
		want bool
	}{
		{"late, by a query", ended("CLOSED"), query, true},
		{"late, by a notice", ended("CLOSED"), notice("PAID"), true},
		{"late, refunded already", ended("CLOSED"), notice("PAID_REFUNDED"), false},
		{"late, says a person", ended("CLOSED"), person, false},
		{"late, of an order that is UNKNOWN", ended(StateUnknown), notice("PAID"), false},
		{"late, of an order that was cancelled", Life{Stage: Polling, State: StatePending, Began: created.UnixMilli()}, notice("PAID"), false},
		{"late, by a notice that may be older than the reverse", ended("REVOKED"), notice("PAID"), false},
		{"late, by a query after the reverse", ended("REVOKED"), query, true},
		{"late, by a query that was in flight", ended("CLOSED"), inFlight, true},
		{"late, by a query that was in flight and may be older than the reverse", ended("REVOKED"), inFlight, false},
		{"second, by a query", ended("PAID", first), query, true},
		{"second, by a notice", ended("PAID", first), notice("PAID"), true},
		{"second, refunded already", ended("PAID", first), notice("PAID_REFUNDED"), false},
		{"second, says a person", ended("PAID", first), person, false},
		{"second, the first was said by a person", ended("PAID", first, func(l *Life) { l.Given = true }), notice("PAID"), false},
		{"second, the first was read in another way", ended("PAID", first, func(l *Life) { l.Numbers = "gateway" }), notice("PAID"), false},
		{"second, by a notice that may be older than the reverse", ended("REVOKED", first, late), notice("PAID"), false},
		{"second, by a query after the reverse", ended("REVOKED", first, late), query, true},
	} {
		h := newHouse(t, func(r *Rules) { r.Then.For = map[string][]Recipient{LatePayment: refund, DuplicatePayment: refund} })
		task := h.priced()
		task.State, task.Data = bellman.Succeeded, tt.life.encode()
		if tt.life.State == StatePending {
			task.State = bellman.Cancelled
		}
		tt.do(h, task)
		if got := len(h.tasks) > 1; got != tt.want || len(h.alerts) == 0 {
			t.Errorf("%s: requested %t, alerts %q; want %t, and an alert", tt.name, got, h.alerts, tt.want)
		}
	}
}

// One request of a refund follows a late payment, in the verdict that records it. A payment that
// the channel refunded already is not refunded again.
func TestRefundOfALatePayment(t *testing.T) {
	asked := 0
	refund := Recipient{Queue: "refunds", Refund: func(queue string, n *News) bellman.Task {
		asked++
		return bellman.Task{Queue: queue, Key: "R " + n.Order.OrderNo, Body: n.Taken}
	}}
	then := Then{For: map[string][]Recipient{LatePayment: {refund}}}
	for _, tt := range []struct {
		first          Told
		state, reading string
		want           []string
	}{
		{Told{Reading: "CLOSED"}, "CLOSED", "PAID", []string{"refunds "}},
		{Told{Reading: "FAILED"}, "FAILED", "PAID", []string{"refunds "}},
		{Told{Reading: "CLOSED"}, "CLOSED", "PAID_REFUNDED", nil},
		{Told{Reading: "PAID", Taken: Taken{"amount": int64(1), "currency": "CNY"}}, StateUnknown, "PAID", nil}, // nobody was told that it failed
	} {
		h := newHouse(t, func(r *Rules) { r.Then = then })
		task := h.unaddressed()
		tt.first.Of = OfPayment
		h.tell(task, &tt.first)
		h.alerts = nil
		taken := Taken{"amount": int64(8800), "currency": "CNY", "transaction_id": "T1"}
		v, err := h.handler.Complete(task, bellman.Completion{Detail: &Told{Of: OfPayment, Reading: tt.reading, Taken: taken}}, h.now)
		if got := follows(v.Follow); err != nil || StateOf(task) != tt.state || !slices.Equal(got, tt.want) || len(h.alerts) != 1 {
			t.Errorf("%s after %s: %q, %v, alerts %q; want %q", tt.reading, StateOf(task), got, err, h.alerts, tt.want)
		}
	}

	// The store does not answer the check of a refund. The engine checks it again.
	refund.Check = func(task *bellman.Task) error {
		if strings.Contains(string(task.Body), "T1") {
			return bellman.ErrUnreachable
		}
		return nil
	}
	then.For[LatePayment] = []Recipient{refund}
	waits := newHouse(t, func(r *Rules) { r.Then = then })
	of := waits.unaddressed()
	waits.tell(of, &Told{Of: OfPayment, Reading: "CLOSED"})
	v, err := waits.handler.Complete(of, bellman.Completion{Detail: &Told{Of: OfPayment, Reading: "PAID", Taken: Taken{"amount": int64(8800), "currency": "CNY", "transaction_id": "T1"}}}, waits.now)
	if got := follows(v.Follow); err != nil || !slices.Equal(got, []string{"refunds "}) {
		t.Errorf("%v, follow-ups %q; want the refund among them", err, got)
	}

	// A refund that the queue could not take raises an alert, and is not added.
	refund.Check = func(task *bellman.Task) error {
		if len(task.Body) > 0 && strings.Contains(string(task.Body), "T9") {
			return errors.New("no such thing")
		}
		return nil
	}
	then.For[LatePayment] = []Recipient{refund}
	h := newHouse(t, func(r *Rules) { r.Then = then })
	task := h.unaddressed()
	h.tell(task, &Told{Of: OfPayment, Reading: "CLOSED"})
	events := h.tell(task, &Told{Of: OfPayment, Reading: "PAID", Taken: Taken{"amount": int64(8800), "currency": "CNY", "transaction_id": "T9"}})
	if !slices.Equal(events, []string{"order.notice applied"}) || len(h.alerts) != 2 || !strings.Contains(h.alerts[0], "the refund cannot be requested: no such thing") {
		t.Errorf("events %q, alerts %q", events, h.alerts)
	}
}

// A notice of a payment may be older than the reverse or cancel that gave its money back, so no
// refund follows. A query that finds the payment afterwards causes one.
func TestRefundAfterAReverse(t *testing.T) {
	then := Then{For: map[string][]Recipient{LatePayment: {{Queue: "refunds", Refund: func(queue string, n *News) bellman.Task {
		return bellman.Task{Queue: queue, Key: "R " + n.Order.OrderNo, Body: n.Taken}
	}}}}}
	taken := Taken{"amount": int64(8800), "currency": "CNY", "transaction_id": "T1"}
	reverses := func(r *Rules) { r.Then, r.OnExhausted = then, OnExhaustedReverse }
	for name, tt := range map[string]struct {
		rules func(*Rules)
		bend  func(*fake)
		state string
		want  []string // after a notice
	}{
		"reversed": {reverses, func(c *fake) { c.reverse = closes(CloseDone) }, "REVOKED", nil},
		"reversed, and the answer lost": {reverses, func(c *fake) {
			c.reverse = func(*Order) CloseAnswer { c.query = reads(Revoked); return CloseAnswer{} }
		}, "REVOKED", nil},
		"reversed after a failure": {reverses, func(c *fake) { c.query, c.reverse = reads(Failed), closes(CloseDone) }, "FAILED", nil},
		"cancelled":                {func(r *Rules) { r.Then = then }, func(c *fake) { c.cancels, c.close = true, closes(CloseDone) }, "CLOSED", nil},
		"closed":                   {func(r *Rules) { r.Then = then }, func(c *fake) { c.close = closes(CloseDone) }, "CLOSED", []string{"refunds "}},
	} {
		for _, by := range []string{"a notice", "a query"} {
			h := newHouse(t, tt.rules)
			tt.bend(h.channel)
			task := h.unaddressed()
			for !task.State.Ended() {
				h.attempt(task)
			}
			if StateOf(task) != tt.state {
				t.Fatalf("%s: %s; want %s", name, StateOf(task), tt.state)
			}
			v, want := bellman.Verdict{}, []string{"refunds "}
			if by == "a notice" {
				var err error
				want = tt.want
				if v, err = h.handler.Complete(task, bellman.Completion{Detail: &Told{Of: OfPayment, Reading: "PAID", Taken: taken}}, h.now); err != nil {
					t.Fatal(err)
				}
			} else {
				h.channel.query = pays(taken)
				v = h.byHand(task)
			}
			if got := follows(v.Follow); !slices.Equal(got, want) || len(h.alerts) == 0 {
				t.Errorf("%s, and %s of a payment: %q, alerts %q; want %q, and an alert", name, by, got, h.alerts, want)
			}
		}
	}
}

// Only the channel's own words cause the refund of a second payment: a caller of Complete may know
// the first one by another number.
func TestRefundOfADuplicatePayment(t *testing.T) {
	refund := Recipient{Queue: "refunds", Refund: func(queue string, n *News) bellman.Task {
		return bellman.Task{Queue: queue, Key: "R " + n.Order.OrderNo, Body: n.Taken}
	}}
	paid := func(id string) Taken {
		return Taken{"amount": int64(8800), "currency": "CNY", "transaction_id": id}
	}
	notice := func(id string) bellman.Completion {
		return bellman.Completion{Detail: &Told{Of: OfPayment, Reading: "PAID", Taken: paid(id)}}
	}
	byHand := func(id string) bellman.Completion { return bellman.Completion{Outcome: "PAID", Detail: paid(id)} }
	unnamed := byHand("")
	for _, tt := range []struct {
		name    string
		applied []bellman.Completion
		want    []string
	}{
		{"two notices", []bellman.Completion{notice("T1"), notice("T2")}, []string{"refunds "}},
		{"a notice after a caller", []bellman.Completion{byHand("mine"), notice("T2")}, nil},
		{"a caller after a notice", []bellman.Completion{notice("T1"), byHand("mine")}, nil},
		{"two notices after a caller without a number", []bellman.Completion{unnamed, notice("T1"), notice("T1"), notice("T2")}, []string{"refunds "}},
	} {
		h := newHouse(t, func(r *Rules) { r.Then.For = map[string][]Recipient{DuplicatePayment: {refund}} })
		task := h.priced()
		var v bellman.Verdict
		var err error
		for _, c := range tt.applied {
			if v, err = h.handler.Complete(task, c, h.now); err != nil {
				t.Fatal(err)
			}
			if v.Data != nil {
				task.Data = v.Data
			}
		}
		v.Follow = slices.DeleteFunc(v.Follow, func(f bellman.Task) bool { return f.Event == EventNotice })
		if got := follows(v.Follow); err != nil || !slices.Equal(got, tt.want) || len(h.alerts) != 1 {
			t.Errorf("%s: %q, %v, alerts %q; want %q", tt.name, got, err, h.alerts, tt.want)
		}
	}
}

// After a reload a queue may read the numbers of payments in another way. The payment that is known
// has another number then, and is not refunded as a second one. Somebody is told, and looks.
func TestNoRefundByAnotherNumber(t *testing.T) {
	refund := Recipient{Queue: "refunds", Refund: func(queue string, n *News) bellman.Task {
		return bellman.Task{Queue: queue, Key: n.What, Body: n.Paid}
	}}
	numbers := func(how string) func(*Order, *QueryAnswer, string) (map[string]any, error) {
		return func(*Order, *QueryAnswer, string) (map[string]any, error) { return takenOf(how + "1"), nil }
	}
	for _, late := range []bool{false, true} {
		for _, reload := range []bool{true, false} {
			h := newHouse(t, func(r *Rules) {
				r.Then.For = map[string][]Recipient{DuplicatePayment: {refund}}
				r.Then.Taken, r.Then.Numbers = numbers("bank"), "bank"
			})
			task := h.priced()
			if late {
				h.until(task)
			}
			h.channel.query = reads(Paid)
			h.byHand(task)
			h.alerts = nil
			h.handler.rules.Then.Taken = numbers("gateway") // or it is another payment
			if reload {
				h.handler.rules.Then.Numbers = "gateway"
			}
			if v := h.byHand(task); len(h.alerts) != 1 || (len(v.Follow) == 0) != reload {
				t.Errorf("late %t, reload %t: %q, alerts %q; want an alert, and a refund without a reload", late, reload, follows(v.Follow), h.alerts)
			}
		}
	}
}
