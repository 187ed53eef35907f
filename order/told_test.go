package order

import (
	"errors"
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

// tell completes a task with a notice, as the engine does, and returns the events that follow, with
// the result of a record.
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

		// The same as a notice after the order was paid changes nothing but the record. It alerts
		// once, unless it does not say which amount was paid.
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

// A query that finds a payment of another amount while the order is decided or cancelled: somebody
// is called.
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

// A notice that the channel signed, and that decides nothing by itself, causes a query of an order
// that was ended without a payment, too: it may be the only word of a late payment. A forged notice
// before it changes nothing of that.
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

// A notice that does not say which amount was paid decides nothing of an order with a price. It
// causes one query, whose answer does: only one that names no amount either makes the order
// UNKNOWN.
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

// A notice that comes again and again, because its gateway does not understand the answer or somebody
// repeats it, does not fill the store: only the first repeats have records. What is new is recorded
// and told all the same.
func TestRepeatedNotice(t *testing.T) {
	paid := Taken{"amount": int64(8800), "currency": "CNY", "transaction_id": "T1"}
	other := Taken{"amount": int64(1), "currency": "CNY", "transaction_id": "T1"}
	for name, tt := range map[string]struct {
		first, again *Told
		state        string
	}{
		"paid":            {&Told{Of: OfPayment, Reading: "PAID", Taken: paid}, &Told{Of: OfPayment, Reading: "PAID", Taken: paid}, "PAID"},
		"another amount":  {&Told{Of: OfPayment, Reading: "PAID", Taken: other}, &Told{Of: OfPayment, Reading: "PAID", Taken: other}, StateUnknown},
		"pending":         {&Told{Of: OfPayment, Result: NoticeApplied, Reading: "PENDING"}, &Told{Of: OfPayment, Result: NoticeApplied, Reading: "PENDING"}, StatePending},
		"contradicts":     {&Told{Of: OfPayment, Reading: "PAID", Taken: paid}, &Told{Of: OfPayment, Reading: "CLOSED"}, "PAID"},
		"signed, unclear": {&Told{Of: OfPayment, Reading: "CLOSED"}, &Told{Of: OfPayment, Result: NoticeRefused, Content: "{}"}, "CLOSED"},
	} {
		h := newHouse(t)
		task := h.priced()
		h.tell(task, tt.first)
		records := 0
		for range 300 {
			told := *tt.again
			records += len(h.tell(task, &told))
		}
		if records < 20 || records > 60 || StateOf(task) != tt.state {
			t.Errorf("%s: 300 repeats left %d records, and the order %s; want about 50, and %s", name, records, StateOf(task), tt.state)
		}
	}
	h := newHouse(t, func(r *Rules) { r.Then.For = map[string][]Recipient{DuplicatePayment: r.Then.Default} })
	task := h.priced()
	for range 300 {
		h.tell(task, &Told{Of: OfPayment, Reading: "PAID", Taken: paid})
	}
	if got := h.tell(task, &Told{Of: OfPayment, Reading: "PAID", Taken: Taken{"amount": int64(8800), "currency": "CNY", "transaction_id": "T2"}}); !slices.Equal(got, []string{"order.duplicate_payment", "order.notice applied"}) {
		t.Errorf("a second payment after the repeats: %v; want it told and recorded", got)
	}
}

// A notice that cannot be applied says why in its record.
func TestWhyOfANotice(t *testing.T) {
	for _, tt := range []struct {
		state string
		told  Told
		want  string
		event string
	}{
		{"PAID", Told{Reading: "CLOSED"}, "the order is PAID and stays so: only a payment, PAID or PAID_REFUNDED, can still be reported", "order.notice duplicate"},
		{"CLOSED", Told{Reading: "PAID", Taken: Taken{"transaction_id": "T1"}}, "does not say which amount was paid", "order.late_payment order.notice mismatch"},
		{"PENDING", Told{Reading: "PAID", Taken: Taken{"amount": int64(1), "currency": "CNY"}}, "0.01 CNY was paid: want 88.00 CNY", "order.notice mismatch"},
	} {
		h := newHouse(t)
		task := h.priced()
		if tt.state != StatePending {
			task.State = bellman.Succeeded
			task.Data = (&Life{Stage: Decided, State: tt.state, DecidedAt: created.UnixMilli(), Began: created.UnixMilli()}).encode()
		}
		tt.told.Result, tt.told.Of = NoticeApplied, OfPayment
		if events := strings.Join(h.tell(task, &tt.told), " "); !strings.Contains(tt.told.Why, tt.want) || strings.Contains(tt.told.Why, "bellman: ") || events != tt.event {
			t.Errorf("%s, then %s: %q, %s; want %q, %s", tt.state, tt.told.Reading, tt.told.Why, events, tt.want, tt.event)
		}
	}
}

// A late payment of an order that was cancelled is told of an order that nobody decided.
func TestToldOfACancelledOrder(t *testing.T) {
	h := newHouse(t)
	task := h.priced()
	task.State = bellman.Cancelled
	h.tell(task, &Told{Result: NoticeApplied, Of: OfPayment, Reading: "PAID", Taken: takenOf("T1")})
	told := h.told("orders/M1/O1/late_payment")
	if at, is := told["decided_at"]; is || told["order_state"] != StateUnknown || told["late_payment"] != "PAID" || told["found_at"] == nil {
		t.Errorf("told %v, decided at %v; want UNKNOWN, found and not decided", told, at)
	}
}

// What becomes of a notice, by what is known of its order, and whether the channel is queried at
// once.
func TestNoticeByStage(t *testing.T) {
	right, unpriced := takenOf("T1"), Taken{"transaction_id": "T1"}
	polled := func(stage Stage, change ...func(*Life)) Life {
		l := Life{Stage: stage, State: StatePending, Began: created.UnixMilli()}
		for _, c := range change {
			c(&l)
		}
		return l
	}
	ended := func(state string, change ...func(*Life)) Life {
		return polled(Decided, append(change, func(l *Life) { l.State, l.DecidedAt = state, created.UnixMilli() })...)
	}
	cancels, hinted := func(l *Life) { l.Cancels = true }, func(l *Life) { l.Hinted = true }
	back := func(l *Life) { l.Close = "refunded" }
	refused := Told{Result: NoticeRefused, Why: "odd"}
	said := Told{Result: NoticeRefused, Why: "odd", Content: "{}"} // which the channel signed
	paid := func(reading string, taken Taken) Told {
		return Told{Result: NoticeApplied, Reading: reading, Taken: taken, Content: "{}"}
	}
	for _, tt := range []struct {
		name   string
		life   Life
		ended  bool
		told   Told
		result NoticeResult
		why    string // a part
		query  bool   // at once
		stage  Stage  // after it; empty: nothing was written
	}{
		{"paid", polled(Polling), false, paid("PAID", right), NoticeApplied, "", false, Decided},
		{"paid while it is closed", polled(Close), false, paid("PAID", right), NoticeApplied, "", false, Decided},
		{"paid while a close cancels", polled(Close, cancels), false, paid("PAID", right), NoticeRefused, "being reversed or cancelled", true, Closing},
		{"paid while it is confirmed", polled(Confirming, cancels), false, paid("PAID", right), NoticeRefused, "being reversed or cancelled", true, Confirming},
		{"paid before it is reversed", polled(Reversing), false, paid("PAID", right), NoticeRefused, "being reversed or cancelled", true, Reversing},
		{"paid while it is reversed", polled(Reverse, cancels), false, paid("PAID", right), NoticeRefused, "being reversed or cancelled", true, Reversing},
		{"closed while it is reversed", polled(Reverse, cancels), false, paid("CLOSED", nil), NoticeApplied, "", false, Decided},
		{"refunded while it is reversed", polled(Reverse, cancels), false, paid("PAID_REFUNDED", right), NoticeApplied, "", false, Decided},
		{"paid after a reverse that gave it back", ended("REVOKED", back, cancels), true, paid("PAID", right), NoticeDuplicate, "", false, Decided},
		{"closed after a reverse that gave it back", ended("REVOKED", back, cancels), true, paid("CLOSED", nil), NoticeDuplicate, "is REVOKED and stays so", false, Decided},
		{"paid after a reverse", ended("REVOKED", cancels), true, paid("PAID", right), NoticeApplied, "", false, Decided},

		{"paid, without an amount", polled(Polling), false, paid("PAID", unpriced), NoticeRefused, "does not say which amount", true, Polling},
		{"paid, without an amount, again", polled(Polling, hinted), false, paid("PAID", unpriced), NoticeRefused, "does not say which amount", false, Polling},
		{"paid late, without an amount", ended("CLOSED"), true, paid("PAID", unpriced), NoticeMismatch, "does not say which amount", false, Decided},
		{"paid after a cancel, without an amount", polled(Polling), true, paid("PAID", unpriced), NoticeMismatch, "does not say which amount", false, Polling},
		{"paid of a watch, without an amount", Life{Stage: Watching, State: "CLOSED", Began: created.UnixMilli()}, false, paid("PAID", unpriced), NoticeMismatch, "does not say which amount", false, Watching},
		{"closed, without an amount", polled(Polling), false, paid("CLOSED", nil), NoticeApplied, "", false, Decided},

		{"refused", polled(Polling), false, refused, NoticeRefused, "odd", true, Polling},
		{"refused before a close", polled(Closing), false, refused, NoticeRefused, "odd", true, Closing},
		{"refused while it is closed", polled(Close), false, refused, NoticeRefused, "odd", false, Close},
		{"refused while it is confirmed", polled(Confirming), false, refused, NoticeRefused, "odd", false, Confirming},
		{"refused again", polled(Polling, hinted), false, refused, "", "", false, ""},
		{"refused again, and signed", polled(Polling, hinted), false, said, "", "", false, ""},
		{"refused after the end", ended("CLOSED"), true, refused, NoticeRefused, "odd", false, Decided},
		{"refused after the end, and signed", ended("CLOSED", hinted), true, said, NoticeRefused, "odd", true, Decided},
		{"refused after a late payment, and signed", ended("CLOSED", hinted, func(l *Life) { l.Late = "PAID" }), true, said, "", "", false, ""},
		{"refused after the payment, and signed", ended("PAID", hinted), true, said, "", "", false, ""},
		{"it says nothing", polled(Polling), false, Told{Result: NoticeApplied, Of: OfRefund}, NoticeApplied, "", false, Polling},
	} {
		h := newHouse(t)
		task := h.priced()
		task.Data = tt.life.encode()
		if tt.ended {
			task.State = bellman.Succeeded
		}
		if tt.life.watches() {
			task.Body = (&Ask{Amount: 8800, Currency: "CNY", Watch: &Watch{Of: "k", State: "CLOSED", Decided: created, Until: created.Add(time.Hour)}}).encode()
		}
		v, err := h.handler.Complete(task, bellman.Completion{Detail: &tt.told}, h.now)
		if tt.result == "" {
			if !errors.Is(err, bellman.ErrConflict) || len(v.Follow) > 0 {
				t.Errorf("%s: %+v, %v; want ErrConflict, and no record", tt.name, v, err)
			}
			continue
		}
		var stage Stage
		if v.Data != nil {
			l, err := ParseLife(v.Data)
			if stage = l.Stage; err != nil {
				t.Fatal(err)
			}
		}
		if err != nil || tt.told.Result != tt.result || !strings.Contains(tt.told.Why, tt.why) || (tt.why == "") != (tt.told.Why == "") || v.Due.IsZero() == tt.query || stage != tt.stage {
			t.Errorf("%s: %s %q, due %v, %s, %v; want %s %q, a query at once: %t, %s", tt.name, tt.told.Result, tt.told.Why, v.Due, stage, err, tt.result, tt.why, tt.query, tt.stage)
		}
		if n := len(v.Follow); n == 0 || v.Follow[n-1].Event != EventNotice {
			t.Errorf("%s: %q; want the record last", tt.name, follows(v.Follow))
		}
	}
}

// BenchmarkTold is what a notice costs that decides its order, without store and channel.
func BenchmarkTold(b *testing.B) {
	h := newHouse(b)
	task := h.priced()
	content := `{"transaction_id":"4200002123","amount":{"payer_total":8800,"total":8800,"currency":"CNY","payer_currency":"CNY"},"mchid":"1900000109",` +
		`"out_trade_no":"20261120000001","trade_state":"SUCCESS","trade_state_desc":"支付成功","bank_type":"CMC","appid":"wxd678efh567hg6787","trade_type":"NATIVE",` +
		`"success_time":"2026-11-20T20:00:00+08:00","attach":"","payer":{"openid":"oUpF8uMuAJO_M2pxb1Q9zNjWeS6o"}}`
	n := Notice{ID: "EV-1", Of: OfPayment, OrderNo: "O1", Reading: Paid, Answer: said(content),
		Taken: Taken{"amount": int64(8800), "currency": "CNY", "transaction_id": "4200002123", "paid_at": "2026-11-20T12:00:00Z"}}
	b.ReportAllocs()
	for b.Loop() {
		v, err := h.handler.Complete(task, bellman.Completion{Detail: NewTold(&n, "queue:orders", h.now)}, h.now)
		if err != nil || len(v.Follow) != 2 {
			b.Fatalf("%+v, %v", v, err)
		}
	}
}
