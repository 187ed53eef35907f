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

// A notice is kept by a task of a channel's order. A task of kind notify with the same event and
// body is its creator's own.
func TestToldOf(t *testing.T) {
	record := paidNotice().Record(&bellman.Task{Queue: "orders", OrderNo: "O1"})
	for kind, want := range map[bellman.Kind]bool{bellman.KindOrder: true, bellman.KindPoll: true, bellman.KindNotify: false} {
		if record.Kind = kind; (ToldOf(&record) != nil) != want {
			t.Errorf("a task of kind %s keeps a notice: %t; want %t", kind, !want, want)
		}
	}
	record.Event = "order.other"
	if record.Kind = bellman.KindOrder; ToldOf(&record) != nil {
		t.Error("a task of another event keeps a notice")
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
