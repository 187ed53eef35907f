package order

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
)

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
	for _, ordered := range []bool{false, true} {
		nobodyPays(t, ordered)
	}
}

// nobodyPays is an order that is closed, and paid afterwards. If ordered, what is told of it goes
// out in order.
func nobodyPays(t *testing.T, ordered bool) {
	h := newHouse(t, func(r *Rules) { r.Then.Default[0].Ordered = ordered })
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
	for what, event := range map[string]string{"decided": "order.closed", "late_payment": "order.late_payment"} {
		task, key := h.tasks["merchant-notify orders/M1/O1/"+what], map[bool]string{true: "M1/O1"}[ordered]
		if task.Event != event || task.OrderingKey != key || task.Supersedes {
			t.Errorf("ordered %t: %s is %+v; want ordering key %q", ordered, what, task, key)
		}
	}
	if !slices.Equal(h.alerts, []string{"CLOSED: a payment came late"}) || !slices.Equal(h.kinds, []AlertKind{AlertLate}) {
		t.Errorf("alerts %q %q", h.kinds, h.alerts)
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
		{func(*Rules) {}, "1s, 2h", `{"created":"2026-11-20T14:40:00Z","expires":"30m"}`, 0, "10m0s query, 10m0s close"}, // placed long before
		{func(*Rules) {}, "1s, 2h", `{"created":"2026-11-20T14:00:00Z"}`, 0, "1s query, 1s close"},                       // over when it was told
		{func(*Rules) {}, "1s, 9m, 1h; max 20m", `{}`, 0, "20m0s query, 20m0s close"},                                    // the schedule's max
		{func(*Rules) {}, "1s, 9m, 1h; max 20m", `{}`, 15 * time.Minute, "15m0s query, 15m0s close"},                     // the task's
		{func(r *Rules) { r.OnExhausted = OnExhaustedReverse }, "1s, 2h", `{}`, 0, "30m0s query, 30m0s reverse"},         // no close there
		{func(r *Rules) { r.OnExhausted = OnExhaustedAlert }, "1s, 2h", `{"expires":"9m"}`, 0, "9m0s query, 9m0s close"}, // expired, not used up
	}
	for _, tt := range tests {
		h := newHouse(t, func(r *Rules) { r.Then.Default[0].HasURL = true }, tt.rules)
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
		task := h.scheduled("3s*2")
		log := h.until(task)
		if StateOf(task) != tt.state || task.Reason != tt.reason || log[len(log)-1] != tt.at || len(h.alerts) != tt.alerts {
			t.Errorf("%s: %s %s %v %q", tt.on, StateOf(task), task.Reason, log, h.alerts)
		}
		events := ""
		for _, f := range h.tasks {
			if f.Queue == "merchant-notify" {
				events += f.Event
			}
		}
		if events != tt.event {
			t.Errorf("%s: told %s; want %s", tt.on, events, tt.event)
		}
	}
}

// An order whose code nobody scans: neither the query nor the close finds it at the channel. It is
// closed, no alert is raised, and it is watched as long as its code can be paid.
func TestNobodyScans(t *testing.T) {
	scan := func(change ...func(*Rules)) (*house, *bellman.Task) {
		h := newHouse(t, append(change, func(r *Rules) { r.ChannelExpires = true })...)
		h.channel.query, h.channel.close = reads(NotFound), closes(CloseNotExist)
		task := h.order()
		log := h.until(task)
		const want = "30m0s query, 30m0s close, 30m0s query, 30m5s query, 30m30s query"
		if got := strings.Join(log[len(log)-5:], ", "); got != want || StateOf(task) != "CLOSED" || len(h.alerts) > 0 || h.told("orders/M1/O1/decided")["order_state"] != "CLOSED" {
			t.Fatalf("%s: %s, alerts %q; want %s", got, StateOf(task), h.alerts, want)
		}
		return h, h.tasks["orders M1/O1/late_watch"]
	}
	for _, tt := range []struct {
		name    string
		change  func(*Rules)
		scanned bool // the channel knew the order
		last    string
		most    int
	}{
		{"2h after the order was created", func(*Rules) {}, false, "2h0m0s query", 40},
		{"a code of 15 days", func(r *Rules) { r.CodeLife = 15 * 24 * time.Hour }, false, "360h0m0s query", 1000},
		{"late_watch alone", func(r *Rules) { r.CodeLife = -1 }, false, "45m30s query", 40},
		{"a short late_watch", func(r *Rules) { r.LateWatch = time.Minute }, false, "2h0m0s query", 40},
		{"the order was there", func(*Rules) {}, true, "45m30s query", 40},
	} {
		h, watch := scan(tt.change)
		if tt.scanned {
			h = newHouse(t, tt.change)
			h.until(h.order())
			watch = h.tasks["orders M1/O1/late_watch"]
		}
		log := h.until(watch)
		if watch.Reason != "watched" || log[0] != "31m0s query" || log[len(log)-1] != tt.last || len(log) > tt.most || len(h.alerts) > 0 {
			t.Errorf("%s: %s, %d attempts from %s to %s, alerts %q; want one 30s after the decision, and the last at %s", tt.name, watch.Reason, len(log), log[0], log[len(log)-1], h.alerts, tt.last)
		}
	}
	if _, watch := scan(func(r *Rules) { r.LateWatch = -1 }); watch != nil {
		t.Error("a watch, although there is to be none")
	}

	h, watch := scan()
	h.attempt(watch)
	h.channel.query = reads(Paid)
	if v := h.attempt(watch); v.Reason != "late_payment" || h.told("orders/M1/O1/late_payment")["late_payment"] != "PAID" ||
		!slices.Equal(h.alerts, []string{"CLOSED: a payment came late"}) {
		t.Errorf("paid in the watch: %+v, alerts %q", v, h.alerts)
	}

	// Somebody scans in the watch: what there is now is closed.
	h, watch = scan()
	h.channel.query, h.channel.close = reads(Pending), closes(CloseDone)
	var acts []string
	for range 4 {
		acts = append(acts, h.attempt(watch).Action)
		if len(acts) == 2 {
			h.channel.query = reads(Closed)
		}
	}
	if got := strings.Join(acts, " "); got != "query close query query" || watch.State.Ended() || StateOf(watch) != "CLOSED" {
		t.Errorf("scanned in the watch: %s, %s", got, watch.State)
	}
	h.channel.query = reads(Paid)
	if h.attempt(watch); h.told("orders/M1/O1/late_payment")["late_payment"] != "PAID" {
		t.Error("closed in the watch, and a payment is not told")
	}

	// Somebody scans between the close and the query after it.
	h = newHouse(t, func(r *Rules) { r.ChannelExpires = true })
	h.channel.query, h.channel.close = reads(NotFound), closes(CloseNotExist)
	task := toClose(h)
	h.attempt(task)
	h.channel.query, h.channel.close = reads(Pending), closes(CloseDone)
	if got := strings.Join(h.until(task), ", "); got != "30m0s query, 30m0s close, 30m0s query, 30m5s query, 30m30s query" || StateOf(task) != "CLOSED" {
		t.Errorf("scanned after the close: %s, %s", got, StateOf(task))
	}
}

// An order that is decided and not paid is watched for a payment, whatever decided it. An UNKNOWN
// order has raised an alert, and is not watched.
func TestWatchFollows(t *testing.T) {
	for _, tt := range []struct {
		reading Reading
		on      OnExhausted
		watched bool
	}{{Paid, OnExhaustedClose, false}, {PaidRefunded, OnExhaustedClose, false}, {Closed, OnExhaustedClose, true}, {Revoked, OnExhaustedClose, true},
		{Failed, OnExhaustedClose, true}, {Failed, OnExhaustedReverse, true}, {Pending, OnExhaustedReverse, true}, {QueryError, OnExhaustedClose, false}} {
		h := newHouse(t, func(r *Rules) { r.OnExhausted = tt.on })
		h.channel.query = reads(tt.reading)
		task := h.order()
		h.until(task)
		watch := h.tasks["orders M1/O1/late_watch"]
		if (watch != nil) != tt.watched {
			t.Errorf("%s, %s: watched %t", tt.reading, StateOf(task), watch != nil)
		}
		if watch == nil {
			continue
		}
		h.attempt(watch)
		h.channel.query = reads(PaidRefunded)
		h.attempt(watch)
		h.channel.query = reads(Paid)
		h.until(watch)
		want := map[string]string{"REVOKED": "PAID"}[StateOf(task)] // that the money went back is what a reverse is for
		if told := h.told("orders/M1/O1/late_payment"); told["late_payment"] != cmp.Or(want, "PAID_REFUNDED") || told["order_state"] != StateOf(task) {
			t.Errorf("%s: told %v", StateOf(task), told)
		}
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

// Each attempt logs how its answer was read: that of a query, a close and a reverse.
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
		task := h.scheduled("20s")
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
		{"the node died", func(_ *house, t *bellman.Task) { t.Phase = bellman.Announced }, "query"},
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
	if v := h.attempt(task); !v.Throttled || v.Status != 429 || v.Error != "slow down" || !v.Due.Equal(h.now.Add(maxRetryAfter)) || v.Hold != maxRetryAfter || now.Equal(h.now) {
		t.Errorf("throttled: %+v", v)
	}
	h.channel.query = func(*Order) QueryAnswer { return QueryAnswer{Answer: Answer{Result: bellman.ErrorStatus, Status: 503}} }
	if v := h.attempt(task); !v.Throttled {
		t.Errorf("status 503: %+v, want it to count as throttled", v)
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

// What a channel must not do to an order: an answer that has no meaning, a wait that nobody asked
// for.
func TestOddAnswers(t *testing.T) {
	h := newHouse(t)
	task := h.order()
	h.channel.query = func(*Order) QueryAnswer {
		a := said("x")
		a.RetryAfter = time.Minute
		return QueryAnswer{Reading: Failed + 1, Answer: a}
	}
	if v := h.attempt(task); v.Reading != "QUERY_ERROR" || v.Hold != 0 || StateOf(task) != StatePending {
		t.Errorf("%s, held for %v, %s; want a query error, and nothing held", v.Reading, v.Hold, StateOf(task))
	}
	h.channel.query = func(*Order) QueryAnswer {
		a := said("x")
		a.Throttled, a.RetryAfter = true, time.Minute
		return QueryAnswer{Answer: a}
	}
	if v := h.attempt(task); v.Hold != time.Minute {
		t.Errorf("held for %v; want as long as the channel asks", v.Hold)
	}
}

// A watch that ends before its schedule begins queries once, at its end.
func TestShortWatch(t *testing.T) {
	for watch, want := range map[time.Duration]string{29 * time.Second: "29s", 30 * time.Second: "30s, 1m*"} {
		h := newHouse(t, func(r *Rules) { r.LateWatch, r.WatchSchedule = watch, "30s, 1m*" })
		h.until(h.order())
		if got := h.tasks["orders M1/O1/late_watch"].Schedule; got != want {
			t.Errorf("a watch of %v has the schedule %s; want %s", watch, got, want)
		}
	}
}
