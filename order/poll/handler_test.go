package poll

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
)

func TestDone(t *testing.T) {
	h := newHouse(t)
	task := h.refund("")
	if task.Key != "M1/O1/R1" || task.Event != "poll.watch" {
		t.Errorf("key %q, event %q; want M1/O1/R1, poll.watch", task.Key, task.Event)
	}
	v := h.attempt(task)
	if v.Action != "query" || v.Reading != "PENDING" || v.Next != bellman.Again || !v.Due.Equal(created.Add(2*time.Minute)) || v.Response != "read" {
		t.Errorf("pending: %+v", v)
	}
	h.channel.query = func(*order.Order) Answer {
		return Answer{Reading: Done, Answer: said("done"), Taken: Taken{"channel_ref_no": "503", "amount": int64(100), "ref_no": "theirs"}}
	}
	v = h.attempt(task)
	if v.Next != bellman.Succeed || v.Reason != "done" || task.State != bellman.Succeeded || len(h.alerts) > 0 {
		t.Fatalf("done: %+v, alerts %q", v, h.alerts)
	}
	told := h.told["refunds/M1/O1/R1/decided"]
	if told.Queue != "merchant-notify" || told.Event != "poll.done" || told.URL != "https://m.example/n" || told.MerchantNo != "M1" || told.OrderNo != "O1" {
		t.Errorf("notification %+v", told)
	}
	const body = `{"amount":100,"channel_ref_no":"503","decided_at":"2026-11-20T15:02:00.000Z","merchant_no":"M1","order_no":"O1","ref_no":"R1","shop":"<1>","state":"DONE"}`
	if string(told.Body) != body {
		t.Errorf("body %s; want %s", told.Body, body)
	}
	if s := StandingOf(task); s.State != StateDone || s.RefNo != "R1" || !s.Decided.Equal(created.Add(2*time.Minute)) || !s.Refuses(StateFailedThere) || s.Refuses(StateDone) {
		t.Errorf("standing %+v", s)
	}
}

func TestFailedThere(t *testing.T) {
	h := newHouse(t, func(r *Rules) { r.Then.Default[0].Ordered = true })
	h.channel.query = func(*order.Order) Answer {
		return Answer{Reading: FailedThere, Answer: said("ABNORMAL"), Person: "the refund is ABNORMAL"}
	}
	task := h.refund("")
	v := h.attempt(task)
	told := h.told["refunds/M1/O1/R1/decided"]
	if v.Next != bellman.Succeed || v.Reason != "failed_there" || told.Event != "poll.failed" || told.OrderingKey != "M1/O1/R1" {
		t.Errorf("%+v, told %+v", v, told)
	}
	if want := map[string]any{"merchant_no": "M1", "order_no": "O1", "ref_no": "R1", "state": "FAILED_THERE", "shop": "<1>", "decided_at": "2026-11-20T15:01:00.000Z"}; !maps.Equal(h.body(told.Key), want) {
		t.Errorf("told %s; want %v", told.Body, want)
	}
	if !slices.Equal(h.alerts, []string{"FAILED_THERE: the refund is ABNORMAL"}) {
		t.Errorf("alerts %q; want one, since a person must act", h.alerts)
	}
	if s := StandingOf(task); !s.Alerted || s.Alert != "abnormal" {
		t.Errorf("%+v; want that a person must act", s)
	}
	task.State = bellman.Succeeded
	v, err := h.handler.Complete(task, bellman.Completion{Outcome: StateFailedThere}, h.now)
	if task.Data = v.Data; err != nil || v.Next != bellman.Again || len(v.Follow) > 0 {
		t.Errorf("a person has paid it back: %+v, %v; want nothing told", v, err)
	}
	if s := StandingOf(task); s.Alerted || s.State != StateFailedThere {
		t.Errorf("%+v after a person has paid it back; want that nobody must act, and the state as it was", s)
	}
}

// A refund that bellman requested and that failed is never lost in silence: somebody is notified,
// or an alert is raised. Who enters the outcome knows it.
func TestFailedRefundOfWhichNobodyIsTold(t *testing.T) {
	const alert = "FAILED_THERE: the refund failed, and nobody is notified: the payer does not have the money"
	silent, told := func(r *Rules) { r.Then.Default = nil }, func(r *Rules) { r.Then.Default[0].HasURL = true }
	for _, tt := range []struct {
		name  string
		rules []func(*Rules)
		want  []string
	}{
		{"requested", []func(*Rules){requests, silent}, []string{alert}},
		{"requested, and told", []func(*Rules){requests, told}, nil},
		{"requested elsewhere", []func(*Rules){silent}, nil},
	} {
		for _, by := range []string{"the channel", "a person"} {
			h := newHouse(t, tt.rules...)
			task := h.add(bellman.Task{MerchantNo: "M1", OrderNo: "O1", Body: []byte(`{"ref_no":"R1"}`)})
			want := tt.want
			if by == "a person" {
				want = nil
				if _, err := h.handler.Complete(task, bellman.Completion{Outcome: StateFailedThere}, h.now); err != nil {
					t.Fatal(err)
				}
			}
			h.channel.query = reads(FailedThere)
			for by == "the channel" && !task.State.Ended() {
				h.attempt(task)
			}
			if !slices.Equal(h.alerts, want) {
				t.Errorf("%s, %s says that it failed: alerts %q; want %q", tt.name, by, h.alerts, want)
			}
			if s := StandingOf(task); s.Alerted != (len(want) > 0) {
				t.Errorf("%s, %s says that it failed: %+v; want what the alerts say", tt.name, by, s)
			}
		}
	}
}

// A schedule that is used up is an alarm, once, and no end.
func TestUsedUp(t *testing.T) {
	h := newHouse(t)
	task := h.refund("1m*3")
	got := strings.Join(h.gaps(task, 7), ", ")
	const want = "1m0s query, 2m0s query, 3m0s query, 33m0s query, 6h33m0s query, 12h33m0s query, 18h33m0s query"
	if got != want || task.State != bellman.Pending {
		t.Errorf("%s, %v; want %s, pending", got, task.State, want)
	}
	if len(h.alerts) != 1 || !strings.Contains(h.alerts[0], "used up") || !StandingOf(task).Alerted {
		t.Errorf("alerts %q; want one", h.alerts)
	}
	h.channel.query = reads(Done)
	if h.attempt(task); task.Reason != "done" || h.tells != 1 {
		t.Errorf("%s, told %d times; want done, once", task.Reason, h.tells)
	}
	if StandingOf(task).Alerted {
		t.Error("a person must still look, although the channel has said how it ended")
	}
}

// No answer, or one that says nothing, uses up the time of the schedule and no attempt of it.
// The schedule is used up when the task's own age is over, and not before.
func TestUsedUpByAge(t *testing.T) {
	for age, want := range map[time.Duration]time.Duration{0: 2 * time.Minute, 2 * time.Minute: 2 * time.Minute, 2*time.Minute - time.Millisecond: 31 * time.Minute} {
		h := newHouse(t)
		task := h.add(bellman.Task{MerchantNo: "M1", OrderNo: "O1", Schedule: "1m*9", MaxAge: age, Body: []byte(`{"ref_no":"R1","notify":{"url":"https://m.example/n"}}`)})
		h.attempt(task)
		if got := task.Due.Sub(created); got != want || len(h.alerts) > 0 != (want > 30*time.Minute) {
			t.Errorf("of at most %v: queried again after %v, alerts %q; want %v", age, got, h.alerts, want)
		}
	}
}

func TestErrors(t *testing.T) {
	h := newHouse(t)
	h.channel.query = func(*order.Order) Answer {
		return Answer{Answer: order.Answer{Result: bellman.TimedOut, Error: "no answer"}}
	}
	task := h.refund("1m*10")
	got := strings.Join(h.gaps(task, 13), ", ")
	const want = "1m0s query, 1m1s query, 1m3s query, 1m7s query, 1m15s query, 1m31s query, 2m3s query, 3m7s query, 5m15s query, 9m31s query, 39m31s query, 6h39m31s query, 12h39m31s query"
	if got != want || len(h.alerts) != 1 {
		t.Errorf("%s, alerts %q; want %s, one alert", got, h.alerts, want)
	}
	if l := h.life(task); l.Polls != 0 || l.Errors != 13 || l.Reading != "QUERY_ERROR" {
		t.Errorf("life %+v", l)
	}
	h.channel.query = func(*order.Order) Answer { panic("channel") }
	if v := h.attempt(task); v.Result != bellman.Refused || v.Error != "the channel panicked: channel" || task.State.Ended() {
		t.Errorf("a panic: %+v", v)
	}
	h.channel.query = func(*order.Order) Answer {
		return Answer{Answer: order.Answer{Result: bellman.ErrorStatus, Status: 429, Throttled: true, RetryAfter: time.Hour}}
	}
	if v := h.attempt(task); v.Hold != 10*time.Minute || !v.Throttled {
		t.Errorf("throttled: %+v; want a hold of 10m at most", v)
	}
}

// A person decides while an attempt is in flight. If its answer contradicts the decision, or if it
// was the request of a refund that the person decided as failed, an alert is raised, once.
func TestDecidedWhileInFlight(t *testing.T) {
	for _, tt := range []struct {
		outcome string
		request RequestReading // QueryError of query: the attempt is the request
		query   Reading
		alert   string
	}{
		{StateFailedThere, RequestAccepted, Done, "FAILED_THERE: after the decision the channel says DONE"},
		{StateDone, RequestAccepted, FailedThere, "DONE: after the decision the channel says FAILED_THERE"},
		{StateDone, RequestAccepted, Done, ""},
		{StateFailedThere, RequestAccepted, Waiting, ""},
		{StateFailedThere, RequestAccepted, QueryError, "FAILED_THERE: its request was sent while it was decided as FAILED_THERE: the money may move"},
		{StateFailedThere, RequestUnknown, QueryError, "FAILED_THERE: its request was sent while it was decided as FAILED_THERE: the money may move"},
		{StateFailedThere, RequestRefused, QueryError, ""},
		{StateDone, RequestAccepted, QueryError, ""},
	} {
		h := newHouse(t, requests)
		h.channel.query = reads(tt.query)
		h.channel.request = func(*order.Order) RequestAnswer { return RequestAnswer{Answer: said("taken"), Reading: tt.request} }
		task := h.refund("")
		h.attempt(task) // announces
		if tt.query != QueryError {
			h.attempt(task) // requests
		}
		h.now = task.Due
		inFlight := h.handler.Attempt(t.Context(), task, int(task.Attempts)+1)
		v, err := h.handler.Complete(task, bellman.Completion{Outcome: tt.outcome}, h.now)
		if err != nil {
			t.Fatal(err)
		}
		task.State, task.Data, h.alerts = bellman.Succeeded, v.Data, nil
		late, is := any(h.handler).(bellman.Latecomer)
		if !is {
			t.Fatal("nothing follows from the attempt")
		}
		for range 2 {
			if v := late.Late(task, inFlight, h.now); v.Data != nil {
				task.Data = v.Data
			}
		}
		if got := strings.Join(h.alerts, ", "); got != tt.alert || StandingOf(task).State != tt.outcome {
			t.Errorf("%s, in flight %s: alerts %q, %+v; want %q", tt.outcome, inFlight.Reading, got, StandingOf(task), tt.alert)
		}
	}
}

// The channel may ask to wait.
func TestWait(t *testing.T) {
	h := newHouse(t)
	h.channel.query = func(*order.Order) Answer {
		return Answer{Reading: Waiting, Answer: said("wait"), Wait: 7 * time.Minute}
	}
	if got := h.gaps(h.refund(""), 2); got[1] != "8m0s query" {
		t.Errorf("%v; want 7m between them", got)
	}
}

// An attempt that a person asks for never sends a request, and does not hold up the one that is
// due.
func TestOutOfTurn(t *testing.T) {
	for _, trigger := range []bellman.Trigger{bellman.ByHand, bellman.BySettle} {
		h := newHouse(t, requests)
		h.channel.query = reads(NotFound)
		task := h.refund("")
		h.attempt(task)
		task.Trigger = trigger
		if trigger == bellman.ByHand {
			task.Before = &bellman.Before{Due: task.Due}
		}
		if v := h.attempt(task); v.Action != "query" {
			t.Errorf("%v: %s; want query", trigger, v.Action)
		}
		if v := h.attempt(task); v.Action != "request" || !h.now.Equal(created) {
			t.Errorf("%v: then %s at %v; want request at once", trigger, v.Action, h.now)
		}
	}
	h := newHouse(t, requests)
	task := h.refund("")
	h.attempt(task)
	task.Trigger = bellman.BySettle
	if h.attempt(task); h.life(task).Stage != Polling || task.Due.Sub(created) != time.Minute {
		t.Errorf("%+v, due %v; want no request of what the channel is at already", h.life(task), task.Due)
	}

	h = newHouse(t)
	task = h.refund("")
	h.attempt(task)
	task.Trigger, task.Before = bellman.ByHand, &bellman.Before{Due: task.Due}
	due := task.Due
	task.Due = h.now
	if h.attempt(task); !task.Due.Equal(due) || h.life(task).Polls != 1 {
		t.Errorf("due %v, %+v; want the schedule as it was", task.Due, h.life(task))
	}
	h.channel.query = reads(Done)
	task.Trigger, task.Before = bellman.ByHand, &bellman.Before{Due: task.Due}
	if h.attempt(task); h.tells != 1 || h.life(task).State != StateDone {
		t.Errorf("told %d times, %+v; want the answer to decide", h.tells, h.life(task))
	}
}

// A request goes out in a scheduled attempt alone.
func TestOnlyTheScheduleRequests(t *testing.T) {
	for name, change := range map[string]func(*bellman.Task){
		"out of turn": func(task *bellman.Task) { task.Before = &bellman.Before{Due: task.Due} }, "by hand": func(task *bellman.Task) { task.Trigger = bellman.ByHand },
	} {
		h := newHouse(t, requests)
		h.channel.query = reads(NotFound)
		task := h.refund("")
		h.attempt(task)
		if change(task); h.attempt(task).Action != "query" {
			t.Errorf("%s: asked %q; want a query", name, h.channel.asked)
		}
	}
}

// An answer without a meaning says nothing, and a result that somebody could not be told needs a
// person.
func TestOddAnswerAndNobodyToTell(t *testing.T) {
	h := newHouse(t, func(r *Rules) {
		desk := order.Recipient{Queue: "desk", Refund: func(string, *order.News) bellman.Task { panic("x") }}
		r.Then.Default = append(r.Then.Default, desk)
	})
	h.channel.query = reads(FailedThere + 1)
	task := h.refund("")
	if v := h.attempt(task); v.Reading != "QUERY_ERROR" || v.Next != bellman.Again {
		t.Errorf("%s, %+v; want a query error", v.Reading, v)
	}
	h.channel.query = reads(Done)
	h.attempt(task)
	if s := StandingOf(task); s.State != StateDone || s.Alert != alertUntold || len(h.alerts) != 1 || !strings.HasPrefix(h.alerts[0], "DONE: somebody could not be told") {
		t.Errorf("%+v, alerts %q; want DONE, and somebody to look", s, h.alerts)
	}
}

// A task that has ended stays ended, whatever a person's query finds.
func TestQueryOfAnEndedTask(t *testing.T) {
	for _, reading := range []Reading{Waiting, Done, QueryError} {
		h := newHouse(t)
		h.channel.query = func(o *order.Order) Answer {
			if !o.Created.Equal(h.now) {
				t.Errorf("the channel is told that it was created at %v; want when it was added", o.Created)
			}
			return reads(reading)(o)
		}
		task := h.refund("")
		task.ID = bellman.FirstID(h.now)
		task.State, task.Before, task.Trigger = bellman.Pending, &bellman.Before{State: bellman.Cancelled}, bellman.ByHand
		v := h.handler.Attempt(t.Context(), task, 1)
		if l, err := ParseLife(v.Data); v.Next != bellman.Again || v.Reason != "" || !v.Due.IsZero() || err != nil || l.over() != (reading == Done) || l.Polls+l.Errors > 0 {
			t.Errorf("%v: %+v, %+v; want it ended as before", reading, v, l)
		}
	}
}

func TestRestart(t *testing.T) {
	h := newHouse(t, requests)
	task := h.refund("1m*3")
	h.gaps(task, 7)
	h.now = h.now.Add(time.Hour)
	task.Began, task.Due = h.now, h.now
	h.attempt(task)
	if l := h.life(task); l.Polls != 1 || l.Slow != 0 || l.Requests != 1 || slices.Contains(l.Alerts, alertUsedUp) || task.Due.Sub(h.now) > time.Minute {
		t.Errorf("life %+v, due in %v; want the schedule from its start and the request as it was", l, task.Due.Sub(h.now))
	}
	if n := count(h.channel.asked, "request R1"); n != 1 {
		t.Errorf("%d requests; want 1", n)
	}
}

func TestUnreadable(t *testing.T) {
	h := newHouse(t)
	for _, bend := range []func(*bellman.Task){
		func(t *bellman.Task) { t.Body = []byte("[]") },
		func(t *bellman.Task) { t.Data = []byte(`{"stage":"decided","poll_state":"PENDING"}`) },
		func(t *bellman.Task) { t.Schedule = "never" },
	} {
		task := h.refund("")
		bend(task)
		h.alerts = nil
		if v := h.attempt(task); v.Next != bellman.GiveUp || v.Reason != "unreadable" || len(h.alerts) != 1 {
			t.Errorf("%+v, alerts %q", v, h.alerts)
		}
	}
}

func count(list []string, s string) int {
	return len(slices.DeleteFunc(slices.Clone(list), func(one string) bool { return one != s }))
}

// An answer that money of another amount or currency arrived decides nothing, whether the channel
// or the queue's Then takes the amount from it. An answer that says no amount, or that it failed,
// decides.
func TestAmountOfAnother(t *testing.T) {
	text := func(amount any) func(*order.Order, *order.QueryAnswer, string) (map[string]any, error) {
		return func(*order.Order, *order.QueryAnswer, string) (map[string]any, error) {
			return map[string]any{"amount": amount}, nil
		}
	}
	for name, tt := range map[string]struct {
		says  Answer
		taken func(*order.Order, *order.QueryAnswer, string) (map[string]any, error)
		want  string
	}{
		"the same":             {Answer{Reading: Done, Taken: Taken{"amount": int64(100)}}, nil, StateDone},
		"another":              {Answer{Reading: Done, Taken: Taken{"amount": int64(99)}}, nil, "QUERY_ERROR"},
		"its currency":         {Answer{Reading: Done, Taken: Taken{"amount": int64(100), "currency": "CNY"}}, nil, StateDone},
		"another currency":     {Answer{Reading: Done, Taken: Taken{"amount": int64(100), "currency": "JPY"}}, nil, "QUERY_ERROR"},
		"no currency":          {Answer{Reading: Done, Taken: Taken{"amount": int64(100), "currency": 7}}, nil, StateDone},
		"none":                 {Answer{Reading: Done}, nil, StateDone},
		"another, failed":      {Answer{Reading: FailedThere, Taken: Taken{"amount": int64(0)}}, nil, StateFailedThere},
		"taken, the same":      {Answer{Reading: Done}, text(100.), StateDone},
		"taken, a float":       {Answer{Reading: Done}, text(json.Number("100.0")), StateDone},
		"taken, a fraction":    {Answer{Reading: Done}, text(100.5), "QUERY_ERROR"},
		"taken, text":          {Answer{Reading: Done}, text("99"), "QUERY_ERROR"},
		"taken, the same text": {Answer{Reading: Done}, text("100"), StateDone},
		"a currency alone":     {Answer{Reading: Done, Taken: Taken{"currency": "CNY"}}, nil, StateDone},
		"taken, null":          {Answer{Reading: Done}, text(nil), StateDone},
		"taken, another":       {Answer{Reading: Done, Taken: Taken{"amount": int64(100)}}, text(int64(1)), "QUERY_ERROR"},
		"taken, not so read":   {Answer{Reading: Done}, text("1.00 CNY"), StateDone},
	} {
		h := newHouse(t, func(r *Rules) { r.Then.Taken, r.Then.Numbers = tt.taken, "gateway" })
		h.channel.query = func(*order.Order) Answer { a := tt.says; a.Answer = said("read"); return a }
		task := h.refund("") // of 100
		v := h.attempt(task)
		if v.Reading != tt.want || task.State.Ended() != (tt.want != "QUERY_ERROR") {
			t.Errorf("%s: %s, %s, %s; want %s", name, v.Reading, task.State, v.Error, tt.want)
		}
		if tt.want != "QUERY_ERROR" {
			continue
		}
		if v.Result != bellman.Refused || !strings.Contains(v.Error, "the answer is about ") || len(h.told) > 0 {
			t.Errorf("%s: %+v, told %v", name, v, h.told)
		}
		if h.attempt(task); len(h.alerts) != 1 || !strings.HasPrefix(h.alerts[0], "PENDING: the answer is about ") {
			t.Errorf("%s, said twice: alerts %q; want one", name, h.alerts)
		}
	}
	other := newHouse(t)
	other.channel.query = func(*order.Order) Answer {
		return Answer{Reading: Done, Answer: said("read"), Taken: Taken{"amount": int64(100), "currency": "JPY"}}
	}
	without := other.add(bellman.Task{MerchantNo: "M1", OrderNo: "O1", Body: []byte(`{"ref_no":"R1","vars":{"amount":"100"},"notify":{"url":"https://m.example/n"}}`)})
	if v := other.attempt(without); v.Reading != StateDone {
		t.Errorf("an amount without a currency: %s, %s; want DONE in any currency", v.Reading, v.Error)
	}
	// A queue of a built-in channel may tell another amount than the channel's.
	h := newHouse(t, func(r *Rules) { r.Then.Taken = text(int64(1)) })
	h.channel.query = func(*order.Order) Answer {
		return Answer{Reading: Done, Answer: said("read"), Taken: Taken{"amount": int64(100)}}
	}
	task := h.refund("")
	if v := h.attempt(task); v.Reason != "done" || h.body("refunds/M1/O1/R1/decided")["amount"] != 1. || string(h.life(task).Taken) != `{"amount":100}` {
		t.Errorf("told another amount: %+v, told %v, kept %s; want it done, and what the channel said", v, h.told, h.life(task).Taken)
	}

	h = newHouse(t)
	err := h.handler.Check(&bellman.Task{Queue: "q", MerchantNo: "M1", OrderNo: "O1", Body: []byte(`{"ref_no":"R1","vars":{"amount":"1.00"},"notify":{"url":"https://m.example"}}`)})
	if err == nil || !strings.Contains(err.Error(), "vars.amount: want a whole number above 0") {
		t.Errorf("an amount that nothing can be compared with: %v", err)
	}
}
