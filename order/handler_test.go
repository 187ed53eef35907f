package order

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
)

// A fake is a channel whose answers a test gives, and which knows what it was
// asked.
type fake struct {
	query   func(o *Order) QueryAnswer
	close   func(o *Order) CloseAnswer
	reverse func(o *Order) CloseAnswer
	asked   []Order
}

func (f *fake) Query(_ context.Context, o *Order) QueryAnswer {
	f.asked = append(f.asked, *o)
	return f.query(o)
}
func (f *fake) Close(_ context.Context, o *Order) CloseAnswer   { return f.close(o) }
func (f *fake) Reverse(_ context.Context, o *Order) CloseAnswer { return f.reverse(o) }

func reads(r Reading) func(*Order) QueryAnswer {
	return func(*Order) QueryAnswer { return QueryAnswer{Reading: r, Answer: said("read")} }
}

func closes(r CloseReading) func(*Order) CloseAnswer {
	return func(*Order) CloseAnswer { return CloseAnswer{Reading: r, Answer: said("closing")} }
}

func said(body string) Answer {
	return Answer{Result: bellman.Accepted, Status: 200, Body: []byte(body)}
}

// A house is what a handler needs of an engine: a clock, and tasks that follow
// the verdicts they get.
type house struct {
	t       testing.TB
	now     time.Time
	handler *Handler
	channel *fake
	tasks   map[string]*bellman.Task // by queue and key
	alerts  []string
}

func newHouse(t testing.TB, change ...func(*Rules)) *house {
	h := &house{t: t, now: created, channel: &fake{query: reads(Pending), close: closes(CloseDone), reverse: closes(CloseDone)},
		tasks: make(map[string]*bellman.Task)}
	r := Rules{
		OnExhausted: OnExhaustedClose,
		MinCloseAge: 5 * time.Minute,
		Then:        Then{Queue: "merchant-notify"},
		Now:         func() time.Time { return h.now },
		Log:         slog.New(slog.DiscardHandler),
		Alert:       func(_ *bellman.Task, state, why string) { h.alerts = append(h.alerts, state+": "+why) },
	}
	for _, c := range change {
		c(&r)
	}
	var err error
	if h.handler, err = New(h.channel, r); err != nil {
		t.Fatal(err)
	}
	return h
}

// add takes a task in, as the engine does; one whose key is there is left out.
func (h *house) add(task bellman.Task) *bellman.Task {
	h.t.Helper()
	if task.Queue == "orders" {
		if err := h.handler.Check(&task); err != nil {
			h.t.Fatalf("Check: %v", err)
		}
	}
	name := task.Queue + " " + task.Key
	if h.tasks[name] != nil {
		return h.tasks[name]
	}
	task.ID = bellman.FirstID(h.now)
	task.Began = h.now
	task.Due = h.now
	if s, err := h.handler.polls.Parse(task.Schedule); err == nil {
		task.Due, _ = s.Next(0, h.now, h.now, 0)
	}
	h.tasks[name] = &task
	return &task
}

func (h *house) order() *bellman.Task {
	return h.add(bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1", Schedule: "3s*20, 1m*2, 2m, 3m, 5m*; max 30m",
		Body: []byte(`{"vars":{"appid":"wx1"},"notify":{"url":"https://m.example/n","json":{"trade":"T<1>","order_no":"mine","amount":0}}}`)})
}

// attempt makes the next attempt of a task, no earlier than it is due, and does
// with the verdict what the engine does.
func (h *house) attempt(task *bellman.Task) bellman.Verdict {
	if task.Before == nil {
		h.now = later(h.now, task.Due)
	}
	v := h.handler.Attempt(context.Background(), task, task.Attempts+1)
	task.Attempts++
	task.Trigger = bellman.BySchedule
	if v.Data != nil {
		task.Data = v.Data
	}
	before := task.Before
	task.Before = nil
	switch {
	case v.Next == bellman.Succeed:
		task.State, task.Reason, task.Due = bellman.Succeeded, v.Reason, time.Time{}
	case before != nil && before.State.Ended():
		task.State, task.Reason, task.Due = before.State, before.Reason, time.Time{}
	case v.Next == bellman.GiveUp:
		task.State, task.Reason, task.Due = bellman.Failed, v.Reason, time.Time{}
	case v.Due.IsZero():
		h.t.Errorf("attempt %d of %s: no due time", task.Attempts, task.Key)
	default:
		task.Due = later(v.Due, h.now)
	}
	for _, f := range v.Follow {
		h.add(f)
	}
	return v
}

// byHand asks for one attempt now.
func (h *house) byHand(task *bellman.Task) bellman.Verdict {
	task.Before = &bellman.Before{State: task.State, Reason: task.Reason, Due: task.Due}
	task.State, task.Reason, task.Due, task.Trigger = bellman.Pending, "", h.now, bellman.ByHand
	return h.attempt(task)
}

// until makes attempts until the task ends, and says what was asked when.
func (h *house) until(task *bellman.Task) (log []string) {
	for !task.State.Ended() {
		v := h.attempt(task)
		log = append(log, fmt.Sprintf("%v %s", h.now.Sub(created), v.Action))
		if len(log) > 1000 {
			h.t.Fatal("the task does not end")
		}
	}
	return log
}

func (h *house) life(task *bellman.Task) Life {
	l, err := ParseLife(task.Data)
	if err != nil {
		h.t.Fatal(err)
	}
	return l
}

func (h *house) told(key string) map[string]any {
	h.t.Helper()
	task := h.tasks["merchant-notify "+key]
	if task == nil {
		h.t.Fatalf("no notification %q; there are %v", key, slices.Sorted(maps.Keys(h.tasks)))
	}
	var fields map[string]any
	if err := json.Unmarshal(task.Body, &fields); err != nil {
		h.t.Fatal(err)
	}
	return fields
}

func TestPaid(t *testing.T) {
	h := newHouse(t)
	task := h.order()
	if task.Key != "M1/O1" || task.Event != "order.watch" {
		t.Errorf("key %q, event %q; want M1/O1, order.watch", task.Key, task.Event)
	}
	v := h.attempt(task)
	want := bellman.Verdict{Action: "query", Reading: "PENDING", Result: bellman.Accepted, Status: 200, Response: "read", Due: created.Add(6 * time.Second), Data: v.Data}
	if !reflect.DeepEqual(v, want) {
		t.Errorf("pending: %+v; want %+v", v, want)
	}
	if got := h.channel.asked[0]; got.OrderNo != "O1" || got.MerchantNo != "M1" || got.Vars["appid"] != "wx1" || !got.Created.Equal(created) {
		t.Errorf("asked about %+v", got)
	}
	h.channel.query = func(*Order) QueryAnswer {
		return QueryAnswer{Reading: Paid, Answer: said("paid"), Taken: map[string]any{"transaction_id": "42", "amount": 100, "order_no": "theirs"}}
	}
	v = h.attempt(task)
	if v.Next != bellman.Succeed || v.Reason != "paid" || len(v.Follow) != 1 {
		t.Fatalf("paid: %+v", v)
	}
	f := v.Follow[0]
	if f.Queue != "merchant-notify" || f.Key != "orders/M1/O1/decided" || f.Event != "order.paid" || f.URL != "https://m.example/n" ||
		f.MerchantNo != "M1" || f.OrderNo != "O1" || f.Header["Content-Type"] != "application/json" {
		t.Errorf("notification %+v", f)
	}
	const body = `{"amount":100,"decided_at":"2026-11-20T15:00:06.000Z","merchant_no":"M1","order_no":"O1","order_state":"PAID","trade":"T<1>","transaction_id":"42"}`
	if string(f.Body) != body {
		t.Errorf("body %s; want %s", f.Body, body)
	}
	if l := h.life(task); l.State != "PAID" || l.Stage != Decided || StateOf(task) != "PAID" || len(h.alerts) > 0 {
		t.Errorf("life %+v, alerts %v", l, h.alerts)
	}
}

func TestNobodyPays(t *testing.T) {
	h := newHouse(t)
	task := h.order()
	log := h.until(task)
	got := strings.Join(log[20:], ", ")
	const want = "2m0s query, 3m0s query, 5m0s query, 8m0s query, 13m0s query, 18m0s query, 23m0s query, 28m0s query, " +
		"30m0s query, 30m0s close, 30m0s query, 30m5s query, 30m30s query"
	if got != want || task.Reason != "closed" || StateOf(task) != "CLOSED" {
		t.Errorf("%s, %s\n%s; want\n%s", task.Reason, StateOf(task), got, want)
	}
	if told := h.told("orders/M1/O1/decided"); told["order_state"] != "CLOSED" {
		t.Errorf("told %v", told)
	}
	watch := h.tasks["orders M1/O1/late_watch"]
	if watch == nil || watch.Event != "order.late_watch" || watch.OrderNo != "O1" {
		t.Fatalf("watch %+v", watch)
	}
	h.attempt(watch)
	if got := h.channel.asked[len(h.channel.asked)-1]; !got.Created.Equal(created) || got.Vars["appid"] != "wx1" {
		t.Errorf("the watch asked about %+v", got)
	}
	h.channel.query = reads(Paid)
	v := h.attempt(watch)
	if watch.Reason != "late_payment" || v.Next != bellman.Succeed || StateOf(watch) != "CLOSED" || h.life(watch).Late != "PAID" {
		t.Errorf("%+v", v)
	}
	told := h.told("orders/M1/O1/late_payment")
	want2 := map[string]any{"amount": 0., "trade": "T<1>", "merchant_no": "M1", "order_no": "O1", "order_state": "CLOSED", "late_payment": "PAID",
		"decided_at": "2026-11-20T15:30:30.000Z", "found_at": "2026-11-20T15:32:00.000Z"}
	if !maps.Equal(told, want2) {
		t.Errorf("told %v; want %v", told, want2)
	}
	if e := h.tasks["merchant-notify orders/M1/O1/late_payment"].Event; e != "order.late_payment" {
		t.Errorf("event %s", e)
	}
	if !slices.Equal(h.alerts, []string{"CLOSED: a payment came late"}) {
		t.Errorf("alerts %q", h.alerts)
	}
}

func TestWatchEnds(t *testing.T) {
	h := newHouse(t)
	h.until(h.order())
	watch := h.tasks["orders M1/O1/late_watch"]
	log := h.until(watch)
	if watch.Reason != "watched" || log[0] != "31m0s query" || log[len(log)-1] != "45m30s query" {
		t.Errorf("%s: %v; want 30s after the decision, and 15m after it", watch.Reason, log)
	}

	h = newHouse(t, func(r *Rules) { r.LateWatch = -1 })
	h.until(h.order())
	if h.tasks["orders M1/O1/late_watch"] != nil {
		t.Error("a watch, although there is to be none")
	}
}

// When an order expires, by its own word, by the rules, and by its task's age.
func TestExpires(t *testing.T) {
	tests := []struct {
		rules          func(*Rules)
		schedule, body string
		maxAge         time.Duration
		want           string // the first close, and the attempt before it
	}{
		{func(*Rules) {}, "1s, 2h", `{}`, 0, "30m0s query, 30m0s close"},
		{func(r *Rules) { r.Grace = time.Minute }, "1s, 2h", `{}`, 0, "31m0s query, 31m0s close"},
		{func(r *Rules) { r.Grace = time.Minute }, "1s, 2h", `{"expires":"10m"}`, 0, "11m0s query, 11m0s close"},
		{func(r *Rules) { r.Expires = 40 * time.Minute }, "1s, 2h", ``, 0, "40m0s query, 40m0s close"},
		{func(*Rules) {}, "1s, 2h", `{"expires":"10s"}`, 0, "5m0s query, 5m0s close"},                                    // min_close_age
		{func(*Rules) {}, "1s, 2h", `{"created":"2026-11-20T14:55:00Z"}`, 0, "25m0s query, 25m0s close"},                 // placed before
		{func(*Rules) {}, "1s, 9m, 1h; max 20m", `{}`, 0, "20m0s query, 20m0s close"},                                    // the schedule's max
		{func(*Rules) {}, "1s, 9m, 1h; max 20m", `{}`, 15 * time.Minute, "15m0s query, 15m0s close"},                     // the task's
		{func(r *Rules) { r.OnExhausted = OnExhaustedReverse }, "1s, 2h", `{}`, 0, "30m0s query, 30m0s reverse"},         // no close there
		{func(r *Rules) { r.OnExhausted = OnExhaustedAlert }, "1s, 2h", `{"expires":"9m"}`, 0, "9m0s query, 9m0s close"}, // expired, not used up
	}
	for _, tt := range tests {
		h := newHouse(t, func(r *Rules) { r.Then.HasURL = true }, tt.rules)
		task := h.add(bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1", Schedule: tt.schedule, MaxAge: tt.maxAge, Body: []byte(tt.body)})
		log := h.until(task)
		i := slices.IndexFunc(log, func(s string) bool { return !strings.HasSuffix(s, "query") })
		if got := strings.Join(log[max(i-1, 0):i+1], ", "); got != tt.want {
			t.Errorf("%s, %s, %v: %s; want %s", tt.schedule, tt.body, tt.maxAge, got, tt.want)
		}
	}
}

func TestOnExhausted(t *testing.T) {
	tests := []struct {
		on                   OnExhausted
		state, reason, event string
		at                   string // the last attempt
		alerts               int
	}{
		{OnExhaustedClose, "CLOSED", "closed", "order.closed", "5m30s query", 0},
		{OnExhaustedReverse, "REVOKED", "revoked", "order.revoked", "15s reverse", 0},
		{OnExhaustedCallback, "UNKNOWN", "exhausted", "order.undecided", "6s query", 0},
		{OnExhaustedAlert, "UNKNOWN", "exhausted", "", "6s query", 1},
	}
	for _, tt := range tests {
		h := newHouse(t, func(r *Rules) { r.OnExhausted = tt.on })
		task := h.add(bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1", Schedule: "3s*2", Body: []byte(`{"notify":{"url":"https://m.example/n"}}`)})
		log := h.until(task)
		if StateOf(task) != tt.state || task.Reason != tt.reason || log[len(log)-1] != tt.at || len(h.alerts) != tt.alerts {
			t.Errorf("%s: %s %s %v %q", tt.on, StateOf(task), task.Reason, log, h.alerts)
		}
		var events []string
		for _, f := range h.tasks {
			if f.Queue == "merchant-notify" {
				events = append(events, f.Event)
			}
		}
		if strings.Join(events, " ") != tt.event {
			t.Errorf("%s: told %v; want %s", tt.on, events, tt.event)
		}
	}
}

// Three reverses that fail, two seconds apart, are somebody's business.
func TestReverseFails(t *testing.T) {
	h := newHouse(t, func(r *Rules) { r.OnExhausted = OnExhaustedReverse })
	h.channel.reverse = closes(CloseUnknown)
	task := h.add(bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1", Schedule: "20s", Body: []byte(`{"notify":{"url":"https://m.example/n"}}`)})
	log := strings.Join(h.until(task), ", ")
	if log != "20s query, 20s reverse, 22s reverse, 24s reverse, 26s query" || StateOf(task) != "UNKNOWN" || task.Reason != "reverse_failed" || task.State != bellman.Failed {
		t.Errorf("%s: %s %s %s", log, StateOf(task), task.State, task.Reason)
	}
	if !slices.Equal(h.alerts, []string{"UNKNOWN: the payment could not be reversed"}) {
		t.Errorf("alerts %q", h.alerts)
	}
}

// A payment that failed is reversed all the same, so that nothing is paid after.
func TestReverseAfterFailed(t *testing.T) {
	h := newHouse(t, func(r *Rules) { r.OnExhausted = OnExhaustedReverse })
	h.channel.query = reads(Failed)
	task := h.order()
	log := strings.Join(h.until(task), ", ")
	if log != "3s query, 15s query, 15s reverse" || StateOf(task) != "FAILED" || h.told("orders/M1/O1/decided")["order_state"] != "FAILED" {
		t.Errorf("%s: %s", log, StateOf(task))
	}
}

// toClose brings an order to where the next attempt closes it.
func toClose(h *house) *bellman.Task {
	task := h.order()
	for h.life(task).Stage != Close {
		h.attempt(task)
	}
	return task
}

// Each attempt says how its answer was read, for the log: of a query, a close and a
// reverse.
func TestReadingsAreLogged(t *testing.T) {
	for r := QueryError; r <= Failed; r++ {
		h := newHouse(t)
		h.channel.query = reads(r)
		if v := h.attempt(h.order()); v.Action != "query" || v.Reading != r.String() {
			t.Errorf("query: %s %s; want %s", v.Action, v.Reading, r)
		}
	}
	for r := CloseUnknown; r <= CloseNotExist; r++ {
		h := newHouse(t)
		h.channel.close = closes(r)
		if v := h.attempt(toClose(h)); v.Action != "close" || v.Reading != r.String() {
			t.Errorf("close: %s %s; want %s", v.Action, v.Reading, r)
		}
		h = newHouse(t, func(r *Rules) { r.OnExhausted = OnExhaustedReverse })
		h.channel.reverse = closes(r)
		task := h.add(bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1", Schedule: "20s", Body: []byte(`{"notify":{"url":"https://m.example/n"}}`)})
		h.attempt(task)
		if v := h.attempt(task); v.Action != "reverse" || v.Reading != r.String() {
			t.Errorf("reverse: %s %s; want %s", v.Action, v.Reading, r)
		}
	}
}

// A close follows the query just before it, or that is asked again.
func TestCloseAsksAgain(t *testing.T) {
	tests := []struct {
		name   string
		change func(*house, *bellman.Task)
		want   string
	}{
		{"as it should be", func(*house, *bellman.Task) {}, "close"},
		{"an attempt was cut off", func(_ *house, t *bellman.Task) { t.Attempts++ }, "query"},
		{"the node died", func(_ *house, t *bellman.Task) { t.Trigger = bellman.ByTakeover }, "query"},
		{"somebody begins it anew", func(h *house, t *bellman.Task) { t.Began, t.Trigger = h.now, bellman.ByHand }, "query"},
		{"the queue was paused", func(h *house, _ *bellman.Task) { h.now = h.now.Add(time.Hour) }, "query"},
		{"a little late", func(h *house, _ *bellman.Task) { h.now = h.now.Add(time.Minute) }, "close"},
	}
	for _, tt := range tests {
		h := newHouse(t)
		task := toClose(h)
		tt.change(h, task)
		if v := h.attempt(task); v.Action != tt.want {
			t.Errorf("%s: %s; want %s", tt.name, v.Action, tt.want)
		}
	}
	h := newHouse(t)
	task := toClose(h)
	for _, want := range []string{"query", "close"} { // late again, it closes all the same
		h.now = h.now.Add(time.Hour)
		if v := h.attempt(task); v.Action != want {
			t.Errorf("an hour late: %s; want %s", v.Action, want)
		}
	}
}

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

func TestTrouble(t *testing.T) {
	h := newHouse(t)
	task := h.order()
	h.channel.query = func(*Order) QueryAnswer { panic("boom") }
	if v := h.attempt(task); v.Next != bellman.Again || v.Error != "the channel panicked: boom" || v.Result != bellman.Refused {
		t.Errorf("a panic: %+v", v)
	}
	h.channel.query = func(*Order) QueryAnswer {
		return QueryAnswer{Answer: Answer{Result: bellman.ErrorStatus, Status: 429, Throttled: true, RetryAfter: time.Hour, Error: "slow down"}}
	}
	now := h.now
	if v := h.attempt(task); !v.Throttled || v.Status != 429 || v.Error != "slow down" || !v.Due.Equal(h.now.Add(maxRetryAfter)) || now.Equal(h.now) {
		t.Errorf("throttled: %+v", v)
	}
	task = toClose(newHouse(t))
	h.channel.close = func(*Order) CloseAnswer { panic("boom") }
	if v := h.attempt(task); v.Next != bellman.Again || h.life(task).Stage != Closing || v.Action != "close" {
		t.Errorf("a panic in a close: %+v, %+v", v, h.life(task))
	}
	for _, broken := range []func(*bellman.Task){
		func(t *bellman.Task) { t.Data = []byte(`{"stage":"dancing"}`) },
		func(t *bellman.Task) { t.Body = []byte(`{"expires":3}`) },
		func(t *bellman.Task) { t.Schedule = "no schedule" },
	} {
		h := newHouse(t)
		task := h.order()
		broken(task)
		if v := h.attempt(task); v.Next != bellman.GiveUp || v.Reason != "unreadable" || v.Error == "" || len(h.alerts) != 1 || len(h.channel.asked) > 0 {
			t.Errorf("unreadable: %+v, alerts %q", v, h.alerts)
		}
	}
}

func TestTaken(t *testing.T) {
	var asked []string
	h := newHouse(t, func(r *Rules) {
		r.Then.Taken = func(o *Order, a *QueryAnswer, state string) (map[string]any, error) {
			asked = append(asked, fmt.Sprintf("%s %s %s", o.OrderNo, a.Body, state))
			return map[string]any{"cents": 5}, errors.New("no amount")
		}
	})
	h.channel.query = reads(PaidRefunded)
	h.attempt(h.order())
	if told := h.told("orders/M1/O1/decided"); told["cents"] != 5. || told["order_state"] != "PAID_REFUNDED" {
		t.Errorf("told %v", told)
	}
	if !slices.Equal(asked, []string{"O1 read PAID_REFUNDED"}) {
		t.Errorf("taken from %q", asked)
	}
	asked = nil
	h.channel.query = reads(Pending)
	if h.until(h.add(bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O2", Body: []byte(`{"notify":{"url":"https://m.example/n"}}`)})); asked != nil {
		t.Errorf("taken from %q, which says nothing of a payment", asked)
	}
	h = newHouse(t)
	h.channel.query = func(*Order) QueryAnswer {
		return QueryAnswer{Reading: Paid, Taken: map[string]any{"all": strings.Repeat("x", maxTaken)}}
	}
	h.attempt(h.order())
	if told := h.told("orders/M1/O1/decided"); told["all"] != nil || told["order_state"] != "PAID" {
		t.Errorf("told %v", told)
	}
}

// The handler with a hostile channel, by way of JSON and tasks: what was told is
// told once, whoever found out.
func TestHandlerLives(t *testing.T) {
	n := 500
	if testing.Short() {
		n = 50
	}
	ends := make(map[string]int)
	for i := range n {
		h := newHouse(t, func(r *Rules) {
			r.OnExhausted = []OnExhausted{OnExhaustedClose, OnExhaustedReverse, OnExhaustedAlert, OnExhaustedCallback}[i%4]
			r.GiveUp = time.Hour
		})
		d := dice(newDice(uint64(i)))
		task := h.order()
		p, err := h.handler.plan(task, &Ask{Created: created, Expires: 30 * time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		w := someWorld(d, p)
		h.channel.query = func(*Order) QueryAnswer {
			start := h.now
			h.now = h.now.Add(d.span(3 * time.Second))
			a := w.query(start, h.now)
			return QueryAnswer{Reading: a.reading, Wait: a.wait, Answer: Answer{Throttled: a.throttled, RetryAfter: a.retryAfter}}
		}
		act := func(what string) func(*Order) CloseAnswer {
			return func(*Order) CloseAnswer {
				start := h.now
				h.now = h.now.Add(d.span(3 * time.Second))
				a := w.close(what, start, h.now)
				return CloseAnswer{Reading: a.close, Answer: Answer{Throttled: a.throttled, RetryAfter: a.retryAfter}}
			}
		}
		h.channel.close, h.channel.reverse = act(askClose), act(askReverse)
		h.until(task)
		state := StateOf(task)
		watch := h.tasks["orders M1/O1/late_watch"]
		if watch != nil {
			until := time.UnixMilli(h.life(task).DecidedAt).Add(15 * time.Minute)
			h.until(watch)
			late := h.tasks["merchant-notify orders/M1/O1/late_payment"] != nil
			if w.visible(until) && !late && watch.Reason != "gave_up" {
				t.Errorf("life %d: CLOSED, paid at %v, and no late payment told", i, w.paid)
			}
		}
		decided := h.tasks["merchant-notify orders/M1/O1/decided"] != nil
		undecided := h.tasks["merchant-notify orders/M1/O1/undecided"] != nil
		if decided != (state != "UNKNOWN") || state == "UNKNOWN" && !undecided && len(h.alerts) == 0 || (watch != nil) != (state == "CLOSED") {
			t.Errorf("life %d: %s, decided told %t, undecided told %t, alerts %q, watch %t", i, state, decided, undecided, h.alerts, watch != nil)
		}
		ends[state]++
	}
	t.Log(ends)
}
