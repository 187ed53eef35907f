package order

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
)

// priced is an order that costs 88.00 CNY.
func (h *house) priced() *bellman.Task {
	return h.add(bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1", Schedule: "3s*20, 1m*2; max 30m", Body: []byte(`{"amount":8800,"currency":"CNY","notify":{"url":"https://m.example/n"}}`)})
}

// tell completes a task with a notice, as the engine does, and returns the events that follow, with the
// result of a record.
func (h *house) tell(task *bellman.Task, told *Told) (events []string) {
	h.t.Helper()
	v, err := h.handler.Complete(task, bellman.Completion{Detail: told}, h.now)
	if err != nil {
		h.t.Fatal(err)
	}
	if v.Data != nil {
		task.Data = v.Data
	}
	if v.Next != bellman.Again {
		task.State, task.Reason = map[bellman.Next]bellman.State{bellman.Succeed: bellman.Succeeded, bellman.GiveUp: bellman.Failed}[v.Next], v.Reason
	}
	for i := range v.Follow {
		event := v.Follow[i].Event
		if event == EventNotice {
			if err := h.handler.Check(&v.Follow[i]); err != nil || !v.Follow[i].State.Ended() {
				h.t.Fatalf("record %s: %v", v.Follow[i].Body, err)
			}
			event += " " + v.Follow[i].Reason
		} else {
			h.add(v.Follow[i])
		}
		events = append(events, event)
	}
	return events
}

// pays makes the channel answer that an amount was paid.
func pays(taken Taken) func(*Order) QueryAnswer {
	return func(*Order) QueryAnswer { return QueryAnswer{Reading: Paid, Answer: said("paid"), Taken: taken} }
}

// A payment of another amount than the order's is never PAID, and the order is never closed.
func TestSecondNoticeWithAnotherAmount(t *testing.T) {
	right := Taken{"amount": int64(8800), "currency": "CNY"}
	for name, taken := range map[string]Taken{
		"less": {"amount": int64(8799), "currency": "CNY"}, "more": {"amount": int64(880000), "currency": "CNY"},
		"another currency": {"amount": int64(8800), "currency": "USD"}, "no currency": {"amount": int64(8800)},
		"no amount": {"currency": "CNY"}, "text": {"amount": "8800", "currency": "CNY"}, "nothing": nil,
	} {
		h := newHouse(t)
		task := h.priced()
		h.channel.query = pays(taken)
		v := h.attempt(task)
		if v.Next != bellman.GiveUp || v.Reason != "amount_mismatch" || StateOf(task) != StateUnknown || len(v.Follow) > 0 || len(h.alerts) != 1 {
			t.Errorf("%s: %s %s, follow %v, alerts %q; want UNKNOWN, amount_mismatch, one alert", name, v.Reason, StateOf(task), v.Follow, h.alerts)
		}

		// The same as a notice after the order was paid changes nothing but the record. It alerts once, unless it does not
		// say which amount was paid.
		h = newHouse(t)
		task = h.priced()
		h.channel.query = pays(right)
		h.attempt(task)
		for i := range 2 {
			got := h.tell(task, &Told{Of: OfPayment, Reading: "PAID", Taken: taken})
			want, alerts := []string{"order.notice mismatch"}, 1
			if unpriced(&Order{Amount: 8800, Currency: "CNY"}, taken) {
				want, alerts = []string{"order.notice duplicate"}, 0
			}
			if !slices.Equal(got, want) || StateOf(task) != "PAID" || len(h.alerts) != alerts {
				t.Errorf("%s, notice %d after PAID: %q, %s, alerts %q; want %q, PAID, %d alerts", name, i, got, StateOf(task), h.alerts, want, alerts)
			}
		}
	}
}

// A reverse gives the money of a payment back. A notice of that payment that comes while the answer to the reverse is on its
// way, or after it was lost, does not decide: the channel is queried.
func TestNoticeAfterAReverse(t *testing.T) {
	taken := Taken{"amount": int64(8800), "currency": "CNY", "transaction_id": "42"}
	paid := func() *Told { return &Told{Result: NoticeApplied, Of: OfPayment, Reading: "PAID", Taken: taken} }
	for _, tt := range []struct {
		name string
		lost bool // the answer to the reverse; else the notice comes before it
		then Reading
		want string
	}{
		{"lost, and done", true, PaidRefunded, "PAID_REFUNDED"}, {"lost, and not done", true, Paid, "PAID"},
		{"on its way, and done", false, PaidRefunded, "PAID_REFUNDED"}, {"on its way, and not done", false, Paid, "PAID"},
	} {
		h := newHouse(t, func(r *Rules) { r.OnExhausted = OnExhaustedReverse })
		h.channel.reverse = closes(CloseUnknown)
		task := h.add(bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1", Schedule: "3s", Body: []byte(`{"amount":8800,"currency":"CNY","notify":{"url":"https://m.example/n"}}`)})
		for h.life(task).Stage != Reverse {
			h.attempt(task)
		}
		if tt.lost {
			if v := h.attempt(task); v.Action != askReverse {
				t.Fatalf("%s: %s; want a reverse", tt.name, v.Action)
			}
		}
		for range 2 {
			if got := h.tell(task, paid()); !slices.Equal(got, []string{"order.notice refused"}) || StateOf(task) != StatePending {
				t.Errorf("%s: the notice: %q, %s; want it refused, and PENDING", tt.name, got, StateOf(task))
			}
		}
		h.channel.query = func(*Order) QueryAnswer { return QueryAnswer{Reading: tt.then, Answer: said("x"), Taken: taken} }
		v := h.attempt(task)
		if v.Action != askQuery || StateOf(task) != tt.want || h.told("orders/M1/O1/decided")["order_state"] != tt.want {
			t.Errorf("%s: %s, %s; want the query to decide %s", tt.name, v.Action, StateOf(task), tt.want)
		}
	}

	// It is refused too after somebody restarted the order, or a reload made the queue close orders instead.
	for _, change := range []func(*house, *bellman.Task){
		func(h *house, task *bellman.Task) { h.restart(task) },
		func(h *house, _ *bellman.Task) {
			h.handler.rules.OnExhausted, h.handler.reverses = OnExhaustedClose, false
		},
	} {
		h := newHouse(t, func(r *Rules) { r.OnExhausted = OnExhaustedReverse })
		h.channel.reverse = closes(CloseUnknown)
		task := h.scheduled("3s")
		for h.life(task).Reverses < quickReverses {
			h.attempt(task)
		}
		change(h, task)
		h.channel.query = reads(QueryError)
		h.attempt(task)
		if got := h.tell(task, paid()); !slices.Equal(got, []string{"order.notice refused"}) || StateOf(task) != StatePending {
			t.Errorf("after a restart or reload: the notice: %q, %s; want it refused, and PENDING", got, StateOf(task))
		}
	}

	h := newHouse(t, func(r *Rules) { r.OnExhausted = OnExhaustedReverse })
	h.channel.reverse = closes(CloseRefunded)
	task := h.scheduled("3s")
	h.until(task)
	if got := h.tell(task, paid()); !slices.Equal(got, []string{"order.notice duplicate"}) || StateOf(task) != "REVOKED" || len(h.alerts) > 0 {
		t.Errorf("after the channel gave the money back: %q, %s, alerts %q; want nothing new", got, StateOf(task), h.alerts)
	}
	h.channel.query = reads(Paid) // it did not after all
	h.until(h.tasks["orders M1/O1/late_watch"])
	if h.tasks["merchant-notify orders/M1/O1/late_payment"] == nil {
		t.Error("the watch found the payment, and nobody was told")
	}
}

// A cancel gives the money of a payment back that it meets. A notice of that payment does not decide from when the cancel
// is due: the channel is queried.
func TestNoticeAfterACancel(t *testing.T) {
	taken := Taken{"amount": int64(8800), "currency": "CNY", "transaction_id": "42"}
	paid := func() *Told { return &Told{Result: NoticeApplied, Of: OfPayment, Reading: "PAID", Taken: taken} }
	for _, tt := range []struct {
		name   string
		closes int // cancels that are answered before the notice
		answer CloseReading
		then   Reading
		want   string
	}{
		{"on its way, and done", 0, CloseDone, PaidRefunded, "PAID_REFUNDED"},
		{"on its way, and not done", 0, CloseDone, Paid, "PAID"},
		{"its answer is lost", 1, CloseUnknown, PaidRefunded, "PAID_REFUNDED"},
		{"done", 1, CloseDone, Closed, "CLOSED"},
	} {
		h := newHouse(t)
		h.channel.cancels, h.channel.close = true, closes(tt.answer)
		task := h.priced()
		for h.life(task).Stage != Close {
			h.attempt(task)
		}
		for range tt.closes {
			if v := h.attempt(task); v.Action != askClose {
				t.Fatalf("%s: %s; want a close", tt.name, v.Action)
			}
		}
		for range 2 {
			if got := h.tell(task, paid()); !slices.Equal(got, []string{"order.notice refused"}) || StateOf(task) != StatePending {
				t.Errorf("%s: the notice: %q, %s; want it refused, and PENDING", tt.name, got, StateOf(task))
			}
		}
		h.channel.query = func(*Order) QueryAnswer { return QueryAnswer{Reading: tt.then, Answer: said("x"), Taken: taken} }
		v := h.attempt(task)
		if v.Action != askQuery || StateOf(task) != tt.want || h.told("orders/M1/O1/decided")["order_state"] != tt.want {
			t.Errorf("%s: %s, %s; want the query to decide %s", tt.name, v.Action, StateOf(task), tt.want)
		}
	}

	h := newHouse(t)
	h.channel.cancels = true
	task := h.priced()
	if got := h.tell(task, paid()); StateOf(task) != "PAID" {
		t.Errorf("before a cancel is due: %q, %s; want PAID", got, StateOf(task))
	}
}

// A person or a service says that an order is paid while its reverse or cancel is in flight, or after its answer was lost.
// It gives the money back, so somebody must look.
func TestCompletedWhileReversed(t *testing.T) {
	for _, stage := range []Stage{Reverse, Close} {
		for _, when := range []string{"in flight", "its answer lost", "given up"} {
			h := newHouse(t, func(r *Rules) {
				if r.GiveUp = time.Hour; stage == Reverse {
					r.OnExhausted = OnExhaustedReverse
				}
			})
			h.channel.close, h.channel.reverse, h.channel.cancels = closes(CloseUnknown), closes(CloseUnknown), true
			task := h.scheduled("3s")
			for h.life(task).Stage != stage {
				h.attempt(task)
			}
			flying := *task
			switch when {
			case "its answer lost":
				h.attempt(task)
			case "given up":
				h.until(task)
			}
			h.alerts = nil
			done, err := h.handler.Complete(task, bellman.Completion{Outcome: "PAID"}, h.now)
			if err != nil {
				t.Fatal(err)
			}
			task.Data = done.Data
			if when == "in flight" {
				h.channel.close, h.channel.reverse = closes(CloseDone), closes(CloseRefunded)
				if v := h.handler.Attempt(t.Context(), &flying, int(flying.Attempts)+1); v.Action == askQuery || len(h.handler.Late(task, v, h.now).Follow) > 0 {
					t.Errorf("%s: the attempt in flight: %+v", stage, v)
				}
			}
			if StateOf(task) != "PAID" || len(h.alerts) != 1 || !strings.Contains(h.alerts[0], "given the money back") {
				t.Errorf("%s, %s: %s, alerts %q; want PAID, and one alert", stage, when, StateOf(task), h.alerts)
			}
		}
	}

	h := newHouse(t, func(r *Rules) { r.OnExhausted = OnExhaustedReverse })
	task := h.scheduled("3s*20")
	h.attempt(task)
	if _, err := h.handler.Complete(task, bellman.Completion{Outcome: "PAID"}, h.now); err != nil || len(h.alerts) > 0 {
		t.Errorf("before a reverse is due: %v, alerts %q; want none", err, h.alerts)
	}
}

// A query that finds a payment of another amount while the order is decided or cancelled: somebody is called.
func TestOtherAmountInFlight(t *testing.T) {
	wrong := Taken{"amount": int64(1), "currency": "CNY", "transaction_id": "42"}
	for name, tt := range map[string]struct {
		outcome string // empty: the task is cancelled
		late    bool
	}{"PAID": {"PAID", false}, "CLOSED": {"CLOSED", true}, "cancelled": {"", false}} {
		h := newHouse(t)
		task := h.priced()
		h.attempt(task)
		h.channel.query = pays(wrong)
		flying := *task
		v := h.handler.Attempt(t.Context(), &flying, int(task.Attempts)+1)
		if task.State, task.Reason = bellman.Cancelled, "cancelled"; tt.outcome != "" {
			task.State = bellman.Pending
			done, err := h.handler.Complete(task, bellman.Completion{Outcome: tt.outcome, Detail: Vouched{}}, h.now)
			if err != nil {
				t.Fatal(err)
			}
			task.State, task.Data = bellman.Succeeded, done.Data
		}
		h.alerts, h.kinds = nil, nil
		state := StateOf(task)
		after := h.handler.Late(task, v, h.now)
		if len(h.alerts) != 1 || len(after.Follow) > 0 != tt.late || after.Data == nil {
			t.Errorf("%s: alerts %q, %q; want one alert, a notification: %t", name, h.alerts, follows(after.Follow), tt.late)
			continue
		}
		if task.Data = after.Data; StateOf(task) != state || h.life(task).Mismatch == "" != tt.late {
			t.Errorf("%s: %+v; want %s", name, StandingOf(task), state)
		}
		if h.handler.Late(task, v, h.now); len(h.alerts) != 1 {
			t.Errorf("%s: the same again: alerts %q", name, h.alerts)
		}
	}
}

// What a notice changes, and the record that it leaves.
func TestNotices(t *testing.T) {
	right := Taken{"amount": int64(8800), "currency": "CNY", "transaction_id": "42"}
	paid := &Told{Of: OfPayment, ID: "n1", Reading: "PAID", Taken: right, Content: `{"trade_state":"SUCCESS"}`}
	tests := []struct {
		name string
		told []*Told
		want []string // of the last
		is   string
	}{
		{"paid", []*Told{paid}, []string{"order.paid", "order.notice applied"}, "PAID"},
		{"the same twice", []*Told{paid, paid}, []string{"order.notice duplicate"}, "PAID"},
		{"refunded since", []*Told{paid, {Of: OfPayment, Reading: "PAID_REFUNDED", Taken: right}}, []string{"order.notice duplicate"}, "PAID"},
		{"another amount", []*Told{{Of: OfPayment, Reading: "PAID", Taken: Taken{"amount": int64(1), "currency": "CNY"}}}, []string{"order.notice mismatch"}, "UNKNOWN"},
		{"another amount, then the right one", []*Told{{Of: OfPayment, Reading: "PAID", Taken: Taken{"amount": int64(1), "currency": "CNY"}}, paid},
			[]string{"order.late_payment", "order.notice applied"}, "UNKNOWN"},
		{"closed", []*Told{{Of: OfPayment, Reading: "CLOSED"}}, []string{"order.closed", "order.late_watch", "order.notice applied"}, "CLOSED"},
		{"notice after the close", []*Told{{Of: OfPayment, Reading: "CLOSED"}, paid}, []string{"order.late_payment", "order.notice applied"}, "CLOSED"},
		{"closed after paid", []*Told{paid, {Of: OfPayment, Reading: "CLOSED"}}, []string{"order.notice duplicate"}, "PAID"},
		{"refund notice taken for a payment", []*Told{{Result: NoticeApplied, Of: OfRefund, RefNo: "R1"}}, []string{"order.notice applied"}, "PENDING"},
		{"an item that is bad", []*Told{{Result: NoticeRefused, Why: "no state"}}, []string{"order.notice refused"}, "PENDING"},
	}
	for _, tt := range tests {
		h := newHouse(t)
		task := h.priced()
		var got []string
		for _, told := range tt.told {
			got = h.tell(task, told)
		}
		if !slices.Equal(got, tt.want) || StateOf(task) != tt.is {
			t.Errorf("%s: %q, %s; want %q, %s", tt.name, got, StateOf(task), tt.want, tt.is)
		}
	}
}

// A notice that cannot be verified causes one query of its order, now, and no second one.
func TestRefusedNoticeCausesOneQuery(t *testing.T) {
	h := newHouse(t)
	task := h.priced()
	h.attempt(task)
	h.now = h.now.Add(time.Second)
	forged := &Told{Result: NoticeRefused, Why: "the signature is wrong", OrderNo: "O1"}
	v, err := h.handler.Complete(task, bellman.Completion{Detail: forged}, h.now)
	if err != nil || !v.Due.Equal(h.now) || v.Next != bellman.Again || len(v.Follow) != 1 {
		t.Fatalf("first: %+v, %v; want a query now, and a record", v, err)
	}
	task.Data = v.Data
	if v, err := h.handler.Complete(task, bellman.Completion{Detail: forged}, h.now); !errors.Is(err, bellman.ErrConflict) {
		t.Errorf("second: %+v, %v; want ErrConflict", v, err)
	}
	h.until(task)
	if v, err := h.handler.Complete(task, bellman.Completion{Detail: forged}, h.now); !errors.Is(err, bellman.ErrConflict) {
		t.Errorf("after the decision: %+v, %v; want ErrConflict", v, err)
	}

	// The first one after the decision leaves a record, and causes no query.
	h = newHouse(t)
	task = h.priced()
	h.until(task)
	was := StateOf(task)
	v, err = h.handler.Complete(task, bellman.Completion{Detail: forged}, h.now)
	if err != nil || v.Next != bellman.Again || !v.Due.IsZero() || len(v.Follow) != 1 {
		t.Fatalf("first after the decision: %+v, %v; want a record alone", v, err)
	}
	if task.Data = v.Data; StateOf(task) != was {
		t.Errorf("the order is %s; want %s", StateOf(task), was)
	}
	if v, err := h.handler.Complete(task, bellman.Completion{Detail: forged}, h.now); !errors.Is(err, bellman.ErrConflict) {
		t.Errorf("second after the decision: %+v, %v; want ErrConflict", v, err)
	}
}

// A notice that the channel signed, and that decides nothing by itself, causes a query of an order that was ended without
// a payment, too: it may be the only word of a late payment. A forged notice before it changes nothing of that.
func TestSignedNoticeAfterTheEnd(t *testing.T) {
	right := Taken{"amount": int64(8800), "currency": "CNY", "transaction_id": "42"}
	signed := &Told{Result: NoticeRefused, Why: "UnionPay asks to query", Of: OfPayment, OrderNo: "O1", Content: `{"respCode":"00"}`}
	for _, forged := range []bool{false, true} {
		h := newHouse(t)
		task := h.priced()
		h.until(task)
		if forged {
			h.tell(task, &Told{Result: NoticeRefused, Why: "the signature is wrong", OrderNo: "O1"})
		}
		v, err := h.handler.Complete(task, bellman.Completion{Detail: signed}, h.now)
		if err != nil || v.Next != bellman.Again || !v.Due.Equal(h.now) || len(v.Follow) != 1 {
			t.Fatalf("forged before: %t: %+v, %v; want a query now, and a record", forged, v, err)
		}
		task.Data = v.Data
		h.channel.query = pays(right)
		if h.byHand(task); StateOf(task) != "CLOSED" || h.told("orders/M1/O1/late_payment")["amount"] != 8800.0 {
			t.Errorf("forged before: %t: %+v; want a late payment", forged, StandingOf(task))
		}
		if v, err := h.handler.Complete(task, bellman.Completion{Detail: signed}, h.now); !errors.Is(err, bellman.ErrConflict) {
			t.Errorf("again: %+v, %v; want ErrConflict, because the payment is known", v, err)
		}
	}
}

// A notice that does not say which amount was paid decides nothing of an order with a price. It causes one query, whose answer
// does: only one that names no amount either makes the order UNKNOWN.
func TestNoticeWithoutAmount(t *testing.T) {
	right := Taken{"amount": int64(8800), "currency": "CNY", "transaction_id": "42"}
	for name, tt := range map[string]struct {
		says QueryAnswer // to the query
		is   string
	}{
		"the right amount": {QueryAnswer{Reading: Paid, Taken: right}, "PAID"},
		"another":          {QueryAnswer{Reading: Paid, Taken: Taken{"amount": int64(1), "currency": "CNY"}}, StateUnknown},
		"none":             {QueryAnswer{Reading: Paid}, StateUnknown},
		"not paid":         {QueryAnswer{Reading: Pending}, StatePending},
	} {
		h := newHouse(t)
		task := h.priced()
		h.attempt(task)
		h.now = h.now.Add(time.Second)
		for i, told := range []*Told{{Of: OfPayment, Reading: "PAID", Result: NoticeApplied}, {Of: OfPayment, Reading: "PAID", Result: NoticeApplied, Taken: Taken{"amount": int64(8800)}}} {
			v, err := h.handler.Complete(task, bellman.Completion{Detail: told}, h.now)
			if i == 1 {
				if err != nil || !v.Due.IsZero() || len(v.Follow) != 1 || told.Result != NoticeRefused {
					t.Errorf("%s: a second notice: %+v, %v, %s; want a record alone", name, v, err, told.Result)
				}
				continue
			}
			if err != nil || !v.Due.Equal(h.now) || v.Next != bellman.Again || len(v.Follow) != 1 || told.Result != NoticeRefused || !strings.HasPrefix(told.Why, "the channel does not say which amount was paid") {
				t.Fatalf("%s: %+v, %v, %s: %s; want a query now, and a record", name, v, err, told.Result, told.Why)
			}
			task.Data, task.Due = v.Data, v.Due
		}
		h.channel.query = func(*Order) QueryAnswer { a := tt.says; a.Answer = said("said"); return a }
		if h.attempt(task); StateOf(task) != tt.is {
			t.Errorf("%s: the order is %s; want %s", name, StateOf(task), tt.is)
		}
	}
	h := newHouse(t) // an order without a price takes every amount
	task := h.add(bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1", Body: []byte(`{"notify":{"url":"https://m.example/n"}}`)})
	if got := h.tell(task, &Told{Of: OfPayment, Reading: "PAID", Result: NoticeApplied}); !slices.Equal(got, []string{"order.paid", "order.notice applied"}) {
		t.Errorf("without a price: %q; want it paid", got)
	}
}

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

// Somebody paid, and the order does not come: an alert is raised once, and the task says so until the order comes or a
// person has seen to the payment.
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

// Only the keys of notifications about orders tell of one.
func TestTells(t *testing.T) {
	for key, want := range map[string]string{
		TellKey("wx", "M1/A/1", tellDecided): "wx", TellKey("wx", "k", tellUndecided): "wx", TellKey("wx", "k", tellLate): "wx",
		TellKey("wx", "M1/A1", tellDuplicate+"/1f"): "wx", TellKey("wx", "k", "paid"): "", "wx/decided": "", "wx//decided": "", "k/decided": "", "decided": "", "": "",
		"M1/1": "", "wx/duplicate_payment/1f": "", "wx/k/duplicate_payment": "",
	} {
		if got := Tells(key); got != want {
			t.Errorf("Tells(%q) = %q; want %q", key, got, want)
		}
	}
}
