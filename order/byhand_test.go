package order

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
)

func TestByHand(t *testing.T) {
	h := newHouse(t)
	task := h.order()
	h.attempt(task)
	due := task.Due
	if v := h.byHand(task); v.Action != "query" || !task.Due.Equal(due) || h.life(task).Polls != 1 {
		t.Errorf("out of turn: %+v, life %+v; want due %v and one poll", v, h.life(task), due)
	}

	h = newHouse(t)
	task = toClose(h)
	due = task.Due.Add(time.Second)
	task.Due = due
	h.channel.query = reads(QueryError)
	if v := h.byHand(task); v.Action != "query" || !task.Due.Equal(due) {
		t.Errorf("out of turn before a close: %+v; want a query", v)
	}
	if v := h.attempt(task); v.Action != "query" {
		t.Errorf("after an error by hand: %s; want a query before any close", v.Action)
	}

	// What is overdue takes its step: nobody reads a state that should have ended.
	h = newHouse(t)
	task = h.order()
	h.now = created.Add(time.Hour)
	if v := h.byHand(task); v.Action != "query" || h.life(task).Stage != Close {
		t.Errorf("overdue: %+v, life %+v", v, h.life(task))
	}

	h = newHouse(t)
	task = h.order()
	h.channel.query = reads(Paid)
	if v := h.byHand(task); v.Next != bellman.Succeed || v.Reason != "paid" {
		t.Errorf("paid, by hand: %+v", v)
	}
}

func TestByHandAfterTheEnd(t *testing.T) {
	tests := []struct {
		name    string
		reading Reading
		end     func(*house, *bellman.Task)
		state   string
		late    bool
	}{
		{"closed", Paid, func(h *house, task *bellman.Task) { h.until(task) }, "CLOSED", true},
		{"closed, still", Closed, func(h *house, task *bellman.Task) { h.until(task) }, "CLOSED", false},
		{"closed, an error", QueryError, func(h *house, task *bellman.Task) { h.until(task) }, "CLOSED", false},
		{"cancelled", PaidRefunded, func(h *house, task *bellman.Task) { task.State, task.Reason = bellman.Cancelled, "cancelled" }, "UNKNOWN", true},
		{"cancelled, closed", Closed, func(h *house, task *bellman.Task) { task.State, task.Reason = bellman.Cancelled, "cancelled" }, "UNKNOWN", false},
	}
	for _, tt := range tests {
		h := newHouse(t)
		task := h.order()
		tt.end(h, task)
		state, reason := task.State, task.Reason
		h.channel.query = reads(tt.reading)
		for range 2 {
			if v := h.byHand(task); v.Next != bellman.Again || !v.Due.IsZero() {
				t.Errorf("%s: %+v; want Again", tt.name, v)
			}
		}
		if task.State != state || task.Reason != reason || StateOf(task) != tt.state {
			t.Errorf("%s: %s %s %s", tt.name, task.State, task.Reason, StateOf(task))
		}
		if h.tasks["merchant-notify orders/M1/O1/late_payment"] != nil != tt.late || len(h.alerts) > 1 {
			t.Errorf("%s: late payment told: %t; want %t; alerts %q", tt.name, !tt.late, tt.late, h.alerts)
		} else if tt.late && h.told("orders/M1/O1/late_payment")["order_state"] != tt.state {
			t.Errorf("%s: told %v", tt.name, h.told("orders/M1/O1/late_payment"))
		}
	}
}

// restart is what a resend with mode restart does.
func (h *house) restart(task *bellman.Task) {
	task.State, task.Reason, task.Trigger = bellman.Pending, "", bellman.ByHand
	task.Step, task.Began, task.Due = 0, h.now, h.now
}

func TestRestart(t *testing.T) {
	h := newHouse(t)
	h.channel.query = reads(QueryError)
	task := h.order()
	h.until(task)
	if task.Reason != "gave_up" || StateOf(task) != "UNKNOWN" || len(h.alerts) != 1 || h.now.Sub(created) < 24*time.Hour {
		t.Fatalf("%s %s %q after %v", task.Reason, StateOf(task), h.alerts, h.now.Sub(created))
	}
	h.now = h.now.Add(time.Hour)
	h.restart(task)
	h.until(task)
	if at := h.now.Sub(created); at != 49*time.Hour+30*time.Minute || task.Reason != "gave_up" || len(h.alerts) != 2 {
		t.Errorf("begun anew, and still no answer: %s at %v; want another 24h", task.Reason, at)
	}
	h.restart(task)
	h.channel.query = reads(Pending)
	if log := strings.Join(h.until(task), ", "); !strings.HasPrefix(log, "49h30m0s query, 49h30m0s close, 49h30m0s query") || StateOf(task) != "CLOSED" {
		t.Errorf("UNKNOWN, begun anew: %s, %s", log, StateOf(task))
	}
	h.restart(task)
	h.channel.query = reads(Paid)
	v := h.attempt(task)
	if v.Next != bellman.Succeed || v.Reason != "closed" || StateOf(task) != "CLOSED" || h.told("orders/M1/O1/late_payment") == nil {
		t.Errorf("CLOSED, begun anew and paid: %+v", v)
	}
}

// A payment that is known of an UNKNOWN order stays known when the order is restarted: no answer
// and no person closes it.
func TestRestartKeepsThePayment(t *testing.T) {
	other := func(o *Order) QueryAnswer {
		a := reads(Paid)(o)
		a.Taken = Taken{"amount": int64(99), "currency": "CNY", "transaction_id": "T1"}
		return a
	}
	for _, tt := range []struct {
		name  string
		query func(*Order) QueryAnswer // of the first life
	}{{"late payment", reads(QueryError)}, {"another amount", other}} {
		h := newHouse(t)
		h.channel.query = tt.query
		task := h.add(bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1", Schedule: "3s, 1m", Body: []byte(`{"amount":100,"currency":"CNY","notify":{"url":"https://m.example/n"}}`)})
		h.until(task)
		if tt.name == "late payment" {
			notice := &Told{Result: NoticeApplied, Of: OfPayment, Reading: "PAID", Taken: Taken{"amount": int64(100), "currency": "CNY", "transaction_id": "T1"}}
			v, err := h.handler.Complete(task, bellman.Completion{Outcome: "PAID", Detail: notice}, h.now)
			if err != nil {
				t.Fatal(err)
			}
			task.Data = v.Data
		}
		known := StandingOf(task)
		if known.State != StateUnknown || known.Late == "" && known.Mismatch == "" {
			t.Fatalf("%s: %+v; want UNKNOWN with a payment", tt.name, known)
		}
		h.restart(task)
		h.channel.query = reads(QueryError)
		h.attempt(task)
		if s := StandingOf(task); s.State != StatePending || s.Late != known.Late || s.Mismatch != known.Mismatch {
			t.Errorf("%s: restarted: %+v; want the payment of %+v", tt.name, s, known)
		}
		if v, err := h.handler.Complete(task, bellman.Completion{Outcome: "CLOSED"}, h.now); !errors.Is(err, bellman.ErrConflict) {
			t.Errorf("%s: a person says CLOSED: %+v, %v; want a conflict", tt.name, v, err)
		}
		for _, r := range []Reading{Pending, NotFound, Closed, Failed} {
			h.channel.query = reads(r)
			if log := strings.Join(h.until(task), ", "); strings.Contains(log, askClose) || StateOf(task) != StateUnknown || task.Reason != "gave_up" {
				t.Errorf("%s: the channel says %v: %s %s after %s; want no close, and UNKNOWN", tt.name, r, StateOf(task), task.Reason, log)
			}
			h.restart(task)
		}
		h.channel.query = func(*Order) QueryAnswer {
			a := other(nil)
			a.Taken["amount"] = int64(100)
			return a
		}
		h.attempt(task)
		if s := StandingOf(task); s.State != "PAID" || s.Late != "" || h.told("orders/M1/O1/decided")["amount"] != 100.0 {
			t.Errorf("%s: the channel says PAID: %+v", tt.name, s)
		}
	}
}

// An order that is reversed instead of closed is not reversed either.
func TestRestartReversesNoKnownPayment(t *testing.T) {
	right := Taken{"amount": int64(8800), "currency": "CNY", "transaction_id": "T1"}
	for _, r := range []Reading{QueryError, Pending, NotFound, Closed, Failed} {
		h := newHouse(t, func(r *Rules) { r.OnExhausted, r.GiveUp = OnExhaustedReverse, time.Hour })
		h.channel.query, h.channel.reverse = reads(QueryError), closes(CloseUnknown)
		task := h.priced()
		h.until(task)
		h.tell(task, &Told{Result: NoticeApplied, Of: OfPayment, Reading: "PAID", Taken: right})
		if known := StandingOf(task); known.State != StateUnknown || known.Late != "PAID" {
			t.Fatalf("%+v; want UNKNOWN with a payment", known)
		}
		h.restart(task)
		h.channel.query, h.channel.reverse = reads(r), closes(CloseDone)
		if log := strings.Join(h.until(task), ", "); strings.Contains(log, askReverse) || StateOf(task) != StateUnknown || task.Reason != "gave_up" {
			t.Errorf("the channel says %v: %s %s after %s; want no reverse, and UNKNOWN", r, StateOf(task), task.Reason, log)
		}
		h.restart(task)
		h.channel.query = pays(right)
		if h.attempt(task); StateOf(task) != "PAID" {
			t.Errorf("the channel says PAID: %s", StateOf(task))
		}
	}
}

func TestRestartPending(t *testing.T) {
	h := newHouse(t)
	task := h.order()
	for range 20 {
		h.attempt(task)
	}
	h.restart(task)
	h.attempt(task)
	if l := h.life(task); l.Polls != 1 || task.Due.Sub(h.now) != 3*time.Second {
		t.Errorf("begun anew: %+v, due after %v; want the schedule from its start", l, task.Due.Sub(h.now))
	}
}

// A watch that is over can be asked by hand like an order.
func TestWatchByHand(t *testing.T) {
	h := newHouse(t)
	h.until(h.order())
	watch := h.tasks["orders M1/O1/late_watch"]
	h.attempt(watch)
	due := watch.Due
	if h.byHand(watch); !watch.Due.Equal(due) || h.life(watch).Polls != 1 {
		t.Errorf("out of turn: due %v, %+v; want %v and one poll", watch.Due, h.life(watch), due)
	}
	h.until(watch)
	h.now = h.now.Add(100 * time.Hour)
	h.channel.query = reads(QueryError)
	if v := h.byHand(watch); v.Next != bellman.Again || watch.Reason != "watched" || len(h.alerts) > 0 {
		t.Errorf("an error after the end: %+v, alerts %q", v, h.alerts)
	}
	h.channel.query = reads(Paid)
	if v := h.byHand(watch); v.Next != bellman.Again || watch.Reason != "watched" || h.told("orders/M1/O1/late_payment") == nil {
		t.Errorf("a payment after the end: %+v", v)
	}
	h.restart(watch)
	if v := h.attempt(watch); v.Next != bellman.Succeed || v.Reason != "late_payment" || len(v.Follow) > 0 {
		t.Errorf("begun anew: %+v", v)
	}
}

// What an alert adds is added with the record of the attempt; a kind says what happened.
func TestAlertAdds(t *testing.T) {
	h := newHouse(t, func(r *Rules) { r.OnExhausted = OnExhaustedAlert })
	h.alarms = []bellman.Task{{Queue: "ops", Key: "alarm"}}
	other := func(o *Order) QueryAnswer {
		a := reads(Paid)(o)
		a.Taken = map[string]any{"amount": int64(99), "currency": "CNY"}
		return a
	}
	for kind, query := range map[AlertKind]func(*Order) QueryAnswer{AlertUndecided: reads(Pending), AlertMismatch: other} {
		h.kinds, h.channel.query = nil, query
		task := h.add(bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: string(kind), Body: []byte(`{"amount":100,"currency":"CNY","notify":{"url":"https://m.example/n"}}`), Schedule: "1s, 1s"})
		var v bellman.Verdict
		for v.Next != bellman.GiveUp {
			v = h.attempt(task)
		}
		if !slices.Equal(h.kinds, []AlertKind{kind}) || len(v.Follow) != 1 || v.Follow[0].Queue != "ops" {
			t.Errorf("alerts %q, follow %+v; want one %s, and its task", h.kinds, v.Follow, kind)
		}
	}
}

// Who completes an order that has an amount says which amount was paid.
func TestCompleteSaysTheAmount(t *testing.T) {
	tests := []struct {
		taken Taken
		want  string
	}{
		{nil, "taken.amount: is missing"},
		{Taken{"amount": 8800.0, "currency": "CNY"}, "PAID"},
		{Taken{"amount": 8800.5, "currency": "CNY"}, "taken.amount: want a whole number"},
		{Taken{"amount": "8800", "currency": "CNY"}, "taken.amount: want a whole number"},
		{Taken{"amount": 1.0, "currency": "CNY"}, "UNKNOWN"},
		{Taken{"amount": 8800.0}, "taken.currency: is missing"},
		{Taken{"amount": 8800.0, "currency": "cny"}, "taken.currency: want a code of ISO 4217"},
		{Taken{"amount": 8800.0, "currency": 156}, "taken.currency: want a code of ISO 4217"},
		{Taken{"amount": 8800.0, "currency": "CNY", "transaction_id": 42}, "taken.transaction_id: want a text"},
		{Taken{"amount": 8800.0, "currency": "CNY", "paid_at": "2026-11-20 15:04:05"}, "taken.paid_at: want a time"},
		{Taken{"amount": 8800.0, "currency": "CNY", "paid_at": "2026-11-20T15:04:05+08:00", "note": 5}, "PAID"},
	}
	for _, tt := range tests {
		h := newHouse(t)
		task := h.priced()
		v, err := h.handler.Complete(task, bellman.Completion{Outcome: "PAID", Detail: tt.taken}, h.now)
		got := ""
		if err != nil {
			got = err.Error()
		} else if l, err := ParseLife(v.Data); err == nil {
			got = l.State
		}
		if !strings.HasPrefix(got, tt.want) {
			t.Errorf("%v: %s; want %s", tt.taken, got, tt.want)
		}
	}
	local := Taken{"paid_at": "2026-11-20T15:04:05+08:00"}
	if taken, err := given(new(Order), local, true); err != nil || taken["paid_at"] != "2026-11-20T07:04:05Z" || local["paid_at"] != "2026-11-20T15:04:05+08:00" {
		t.Errorf("a time of another zone: %v of %v, %v; want UTC, and the caller's map as it was", taken, local, err)
	}
	h := newHouse(t)
	if _, err := h.handler.Complete(h.order(), bellman.Completion{Outcome: "CLOSED", Detail: Taken{"currency": "yuan", "paid_at": nil}}, h.now); err == nil || !strings.Contains(err.Error(), "taken.currency: ") || !strings.Contains(err.Error(), "taken.paid_at: ") {
		t.Errorf("an order without a price: %v; want both fields", err)
	}
	task := h.priced()
	if v, err := h.handler.Complete(task, bellman.Completion{Outcome: "PAID", Detail: Vouched{}}, h.now); err != nil || v.Next != bellman.Succeed {
		t.Errorf("by hand: %+v, %v", v, err)
	}
}

// What a person says of a payment: somebody has to look where a reverse may have given it back, and
// where it is of another amount.
func TestCompletedByAPerson(t *testing.T) {
	for _, tt := range []struct {
		name    string
		life    Life
		outcome string
		detail  any
		next    bellman.Next
		reason  string
		alerts  int
		amount  any // that was told
	}{
		{"PAID", Life{Stage: Polling}, "PAID", Vouched{}, bellman.Succeed, "", 0, 8800.},
		{"PAID while it is reversed", Life{Stage: Reversing}, "PAID", Vouched{}, bellman.Succeed, "", 1, 8800.},
		{"PAID while a cancel may be on its way", Life{Stage: Closing, Cancels: true}, "PAID", Vouched{}, bellman.Succeed, "", 1, 8800.},
		{"PAID_REFUNDED while it is reversed", Life{Stage: Reversing}, "PAID_REFUNDED", Vouched{}, bellman.Succeed, "", 0, 8800.},
		{"CLOSED while it is reversed", Life{Stage: Reversing}, "CLOSED", Vouched{}, bellman.Succeed, "", 0, nil},
		{"another amount", Life{Stage: Polling}, "PAID", Taken{"amount": int64(1), "currency": "CNY"}, bellman.GiveUp, "amount_mismatch", 1, nil},
	} {
		h := newHouse(t)
		task := h.priced()
		tt.life.State, tt.life.Began = StatePending, created.UnixMilli()
		task.Data = tt.life.encode()
		v, err := h.handler.Complete(task, bellman.Completion{Outcome: tt.outcome, Detail: tt.detail}, h.now)
		if err != nil || v.Next != tt.next || v.Reason != tt.reason || len(h.alerts) != tt.alerts {
			t.Errorf("%s: %v, %q, %v, alerts %q; want %+v", tt.name, v.Next, v.Reason, err, h.alerts, tt)
		}
		for _, f := range v.Follow {
			h.add(f)
		}
		if v.Next == bellman.Succeed {
			if got := h.told("orders/M1/O1/decided")["amount"]; got != tt.amount {
				t.Errorf("%s: told the amount %v; want %v", tt.name, got, tt.amount)
			}
		}
	}
}
