package order

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
)

// The order's other task is asked about a late payment only where there can be one.
func TestWhoIsAskedForALatePayment(t *testing.T) {
	ended := func(state string) Life {
		return Life{Stage: Decided, State: state, DecidedAt: created.UnixMilli(), Began: created.UnixMilli()}
	}
	for _, tt := range []struct {
		life Life
		want int
	}{
		{Life{Stage: Polling, State: StatePending}, 0}, {Life{Stage: Closing, State: StatePending}, 0}, {ended("PAID"), 0}, {ended("PAID_REFUNDED"), 0}, {ended(StateUnknown), 0},
		{ended("CLOSED"), 1}, {ended("REVOKED"), 1}, {ended("FAILED"), 1}, {Life{Stage: Watching, State: "CLOSED"}, 1}, {Life{Stage: Reclosing, State: "CLOSED"}, 1},
	} {
		asked := 0
		h := newHouse(t, func(r *Rules) {
			r.Life = func(context.Context, string, string) (Life, error) {
				asked++
				return Life{}, bellman.ErrNotFound
			}
		})
		task := h.priced()
		if task.Data = tt.life.encode(); tt.life.over() {
			task.State = bellman.Succeeded
		}
		if tt.life.watches() {
			task.Body = (&Ask{Watch: &Watch{Of: "k", State: tt.life.State, Decided: created, Until: created.Add(time.Hour)}}).encode()
		}
		_, err := h.handler.Complete(task, bellman.Completion{Outcome: "PAID", Detail: takenOf("T1")}, h.now)
		if asked != tt.want || err != nil {
			t.Errorf("%+v: asked %d times, %v; want %d", tt.life, asked, err, tt.want)
		}
	}
}

// A person's query of a watch is made although a late payment is known: there may be another.
func TestWatchByHandOfAKnownLatePayment(t *testing.T) {
	h := newHouse(t, func(r *Rules) {
		r.Life = func(context.Context, string, string) (Life, error) { return Life{Late: "PAID"}, nil }
	})
	h.until(h.order())
	watch := h.tasks["orders M1/O1/late_watch"]
	asked := len(h.channel.asked)
	if h.byHand(watch); len(h.channel.asked) != asked+1 {
		t.Errorf("%d queries; want one", len(h.channel.asked)-asked)
	}
}

// The payments of an order's two tasks are one list, each payment once, and at most maxPayments are
// told.
func TestPaymentsAreKnownOnce(t *testing.T) {
	taken := []byte(`{"transaction_id":"T1"}`)
	for _, tt := range []struct {
		own, other Life
		want       []string
	}{
		{Life{Taken: taken, Payments: []string{"a"}}, Life{Payments: []string{"b", "a"}}, []string{"a", "b"}},
		{Life{Taken: taken}, Life{Taken: []byte(`{"transaction_id":"T2"}`), Payments: []string{"a"}}, []string{hashed("T2"), "a"}},
		{Life{Taken: taken}, Life{Taken: taken, Payments: []string{hashed("T1"), "a"}}, []string{"a"}},
		{Life{Taken: taken}, Life{Taken: []byte(`{}`), Payments: []string{"a"}}, []string{"a"}},
	} {
		if tt.own.addPayments(&tt.other); !slices.Equal(tt.own.Payments, tt.want) {
			t.Errorf("%q; want %q", tt.own.Payments, tt.want)
		}
	}
	l := Life{State: "PAID", Taken: taken}
	for n := range maxPayments {
		l.Payments = append(l.Payments, hashed(string(rune('a'+n))))
	}
	again := answer{reading: Paid, payment: "T2"}
	if l.paidAgain(again) {
		t.Errorf("a payment is told after %d; want no more", len(l.Payments))
	}
	if l.Payments = l.Payments[1:]; !l.paidAgain(again) {
		t.Errorf("a payment is not told after %d; want it told", len(l.Payments))
	}
	if l.paidAgain(answer{reading: Closed, payment: "T2"}) {
		t.Error("an answer that says CLOSED is a second payment")
	}
}

// An old notice of a payment that a reverse gave back is no late payment.
func TestRefundedByReverse(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Life)
		want   bool
	}{
		{"revoked, and refunded", func(*Life) {}, true},
		{"reversed without a payment", func(l *Life) { l.Close = "closed" }, false},
		{"paid", func(l *Life) { l.State = "PAID" }, false},
		{"a late payment is known", func(l *Life) { l.Late = "PAID" }, false},
		{"not decided", func(l *Life) { l.Stage, l.State = Reversing, StatePending }, false},
	} {
		l := Life{Stage: Decided, State: "REVOKED", Close: "refunded"}
		if tt.change(&l); l.refundedByReverse() != tt.want {
			t.Errorf("%s: %t; want %t", tt.name, !tt.want, tt.want)
		}
	}
	for state, want := range map[string]bool{"REVOKED": true, "CLOSED": false} {
		if got := (&Life{Stage: Decided, State: state}).perhapsReversed(); got != want {
			t.Errorf("%s was perhaps reversed: %t; want %t", state, got, want)
		}
	}
}

// A close or reverse follows only the query just before it.
func TestActionsNeedTheQueryBefore(t *testing.T) {
	began := created
	task := func(change func(*bellman.Task)) *bellman.Task {
		t := &bellman.Task{Status: bellman.Status{Began: began, Trigger: bellman.BySchedule}}
		change(t)
		return t
	}
	same := func(*bellman.Task) {}
	asked := created.Add(time.Hour)
	for _, tt := range []struct {
		name   string
		task   *bellman.Task
		number int
		when   int // 0: at once; 1: within the time; 2: later
		stale  bool
		want   bool // it acts
		after  bool // Stale
	}{
		{"at once", task(same), 8, 0, false, true, false},
		{"within the time", task(same), 8, 1, false, true, false},
		{"later", task(same), 8, 2, false, false, true},
		{"later, for the second time", task(same), 8, 2, true, true, true},
		{"by hand", task(func(t *bellman.Task) { t.Trigger = bellman.ByHand }), 8, 0, false, false, false},
		{"by hand, after a delay", task(func(t *bellman.Task) { t.Trigger = bellman.ByHand }), 8, 0, true, false, true},
		{"beside the schedule", task(func(t *bellman.Task) { t.Before = &bellman.Before{} }), 8, 0, false, false, false},
		{"another attempt in between", task(same), 9, 0, false, false, false},
	} {
		for _, action := range []struct {
			stage, query Stage
			cancels      bool
			most         time.Duration // between the query and the action
		}{
			{Close, Closing, false, 10 * time.Minute}, {Reclosing, Watching, false, 10 * time.Minute},
			{Close, Closing, true, 30 * time.Second}, {Reclosing, Watching, true, 30 * time.Second}, {Reverse, Reversing, true, 30 * time.Second},
		} {
			l := Life{Stage: action.stage, State: StatePending, Began: began.UnixMilli(), Number: 7, Asked: asked.UnixMilli(), Stale: tt.stale, Cancels: action.cancels}
			now := []time.Time{asked, asked.Add(action.most), asked.Add(action.most + time.Millisecond)}[tt.when]
			got, want := l.resume(tt.task, tt.number, now), action.query
			if tt.want {
				want = action.stage
			}
			if got.Stage != want || got.Stale != tt.after {
				t.Errorf("%s (cancels: %t) %s: %s, stale %t; want %s, %t", action.stage, action.cancels, tt.name, got.Stage, got.Stale, want, tt.after)
			}
		}
	}
}

// A task that is restarted begins anew, and forgets no payment.
func TestRestartedLife(t *testing.T) {
	task := &bellman.Task{Status: bellman.Status{Began: created.Add(time.Hour)}}
	known := Life{Polls: 3, Closes: 1, Errors: 2, Cancels: true, Hinted: true, Late: "PAID", Mismatch: "m", Taken: []byte(`{"a":1}`), Given: true, Numbers: "n", Payments: []string{"p"}, Began: created.UnixMilli(), DecidedAt: 7}
	for _, tt := range []struct {
		stage, after Stage
		state, is    string
		decided      int64
		polls        int
	}{
		{Closing, Polling, StatePending, StatePending, 0, 0}, {Decided, Polling, StateUnknown, StatePending, 0, 0},
		{Reclosing, Watching, "CLOSED", "CLOSED", 7, 0}, {Decided, Decided, "CLOSED", "CLOSED", 7, 3},
	} {
		l := known
		l.Stage, l.State = tt.stage, tt.state
		got := l.resume(task, 1, created)
		if got.Stage != tt.after || got.State != tt.is || got.DecidedAt != tt.decided || got.Polls != tt.polls || got.Began != task.Began.UnixMilli() {
			t.Errorf("%s %s: %+v; want %s %s", tt.stage, tt.state, got, tt.after, tt.is)
		}
		if !got.Cancels || !got.Hinted || got.Late != "PAID" || got.Mismatch != "m" || string(got.Taken) != `{"a":1}` || !got.Given || got.Numbers != "n" || !slices.Equal(got.Payments, []string{"p"}) {
			t.Errorf("%s %s: %+v; want what is known of payments kept", tt.stage, tt.state, got)
		}
	}
}

// The alert of a late payment has the key of its notification, so that the order's two tasks raise
// it once. Other alerts have none.
func TestAlertsOfLatePaymentsAreRaisedOnce(t *testing.T) {
	var onces []string
	h := newHouse(t, func(r *Rules) {
		r.OnExhausted = OnExhaustedAlert
		r.Alert = func(_ *bellman.Task, a Alert) []bellman.Task {
			onces = append(onces, a.Once)
			return nil
		}
	})
	task := h.priced()
	h.until(task)
	task.State, task.Data = bellman.Succeeded, (&Life{Stage: Decided, State: "CLOSED", DecidedAt: created.UnixMilli(), Began: created.UnixMilli()}).encode()
	h.tell(task, &Told{Result: NoticeApplied, Of: OfPayment, Reading: "PAID", Taken: takenOf("T1")})
	if want := []string{"", "orders/M1/O1/late_payment"}; !slices.Equal(onces, want) {
		t.Errorf("alerts once of %q; want %q", onces, want)
	}
}

// A payment is known by its number. It is a duplicate if another payment came before it.
func TestKnowsPayment(t *testing.T) {
	lives := map[string]Life{
		"the number of the first is known":     {State: "PAID", Taken: []byte(`{"transaction_id":"1"}`), Payments: []string{hashed("2"), hashed("3")}},
		"the number of the first came later":   {State: "PAID", Payments: []string{hashed("1"), hashed("2"), hashed("3")}},
		"two tasks of the order have the same": {State: "PAID", Taken: []byte(`{"transaction_id":"1"}`), Payments: []string{hashed("1"), hashed("2"), hashed("3")}},
	}
	for name, l := range lives {
		l.Stage = Decided
		task := &bellman.Task{Status: bellman.Status{Data: l.encode()}}
		for number, want := range map[string][2]bool{"1": {true, false}, "2": {true, true}, "3": {true, true}, "4": {}, "": {}} {
			if known, duplicate := KnowsPayment(task, number); known != want[0] || want[0] && duplicate != want[1] {
				t.Errorf("%s: payment %q is known: %t, a duplicate: %t; want %v", name, number, known, duplicate, want)
			}
		}
	}
}
