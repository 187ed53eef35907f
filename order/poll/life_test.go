package poll

import (
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
)

// A request is sent by the attempt right after its announcement and by no other: if anything may
// have come in between, the channel is queried.
func TestResume(t *testing.T) {
	began, now := created, created.Add(time.Hour)
	for _, tt := range []struct {
		name     string
		life     Life
		task     bellman.Status
		number   int
		requests bool
		want     Stage
	}{
		{"right after", Life{Stage: Requesting, Requests: 1}, bellman.Status{}, 8, true, Requesting},
		{"the queue requests no more", Life{Stage: Requesting, Requests: 1}, bellman.Status{}, 8, false, Polling},
		{"another attempt in between", Life{Stage: Requesting, Requests: 1}, bellman.Status{}, 9, true, Polling},
		{"in doubt", Life{Stage: Requesting, Requests: 1}, bellman.Status{Phase: bellman.Announced}, 8, true, Polling},
		{"restarted", Life{Stage: Requesting, Requests: 1}, bellman.Status{Began: began.Add(time.Second)}, 8, true, Polling},
		{"the first, a day late", Life{Stage: Requesting, Requests: 1, FirstAt: now.Add(-RequestFor).UnixMilli()}, bellman.Status{}, 8, true, Requesting},
		{"a repeat in time", Life{Stage: Requesting, Requests: 2, FirstAt: now.Add(-RequestFor + time.Millisecond).UnixMilli()}, bellman.Status{}, 8, true, Requesting},
		{"a repeat, a day late", Life{Stage: Requesting, Requests: 2, FirstAt: now.Add(-RequestFor).UnixMilli()}, bellman.Status{}, 8, true, Polling},
		{"not announced", Life{Stage: Announcing}, bellman.Status{}, 8, true, Announcing},
		{"not announced, and the queue requests no more", Life{Stage: Announcing}, bellman.Status{}, 8, false, Polling},
		{"polling", Life{Stage: Polling, Requests: 1}, bellman.Status{}, 9, true, Polling},
	} {
		tt.life.Began, tt.life.Number, tt.life.RequestAt = began.UnixMilli(), 7, 1
		if tt.task.Began.IsZero() {
			tt.task.Began = began
		}
		task := &bellman.Task{Status: tt.task}
		got := tt.life.resume(task, tt.number, tt.requests, now)
		if got.Stage != tt.want || got.Began != task.Began.UnixMilli() {
			t.Errorf("%s: %s; want %s", tt.name, got.Stage, tt.want)
		}
		if moved := tt.life.Stage == Requesting && tt.want == Polling; moved != (got.RequestAt == now.UnixMilli()) {
			t.Errorf("%s: the request may have arrived at %d; want now if it is not sent", tt.name, got.RequestAt)
		}
	}
	known := Life{Stage: Polling, Polls: 3, Errors: 2, Slow: 1, Requests: 1, Began: began.UnixMilli(), Number: 7, Alerts: []string{alertRefused, alertUsedUp}}
	restarted := &bellman.Task{Status: bellman.Status{Began: began.Add(time.Second)}}
	if got := known.resume(restarted, 8, true, now); got.Polls+got.Errors+got.Slow != 0 || got.Requests != 1 || len(got.Alerts) != 1 || got.Alerts[0] != alertRefused {
		t.Errorf("restarted: %+v; want the schedule from its start, and the request known", got)
	}
	known.Number = 0
	if got := known.resume(restarted, 1, true, now); got.Polls != 3 {
		t.Errorf("the first attempt: %+v; want nothing forgotten", got)
	}
}

// A request is repeated only after the channel said that it knows no such refund. That was said
// later than the last request may have arrived. And the channel cannot have forgotten its number.
func TestMayRequest(t *testing.T) {
	last := created
	p := func(requests bool) *plan { return &plan{requests: requests, timeout: 5 * time.Second} }
	known := func(requests int, first time.Duration) Life {
		return Life{Requests: requests, RequestAt: last.UnixMilli(), FirstAt: last.Add(-first).UnixMilli()}
	}
	at := func(after time.Duration, r Reading) answer {
		return answer{act: actQuery, reading: r, started: last.Add(after)}
	}
	gap := RequestGap + 5*time.Second
	throttled := at(gap, NotFound)
	throttled.throttled = true
	for _, tt := range []struct {
		name string
		life Life
		p    *plan
		a    answer
		want bool
	}{
		{"just now", known(1, 0), p(true), at(gap-time.Millisecond, NotFound), false},
		{"later", known(1, 0), p(true), at(gap, NotFound), true},
		{"there", known(1, 0), p(true), at(gap, Waiting), false},
		{"no answer", known(1, 0), p(true), at(gap, QueryError), false},
		{"throttled", known(1, 0), p(true), throttled, false},
		{"the queue requests no more", known(1, 0), p(false), at(gap, NotFound), false},
		{"the second, too soon", known(2, time.Hour), p(true), at(gap, NotFound), false},
		{"the second", known(2, time.Hour), p(true), at(2*RequestGap+5*time.Second, NotFound), true},
		{"the twentieth", known(20, 0), p(true), at(maxRequestGap+5*time.Second, NotFound), true},
		{"at the end", known(1, RequestFor-gap-time.Millisecond), p(true), at(gap, NotFound), true},
		{"a day after the first", known(1, RequestFor-gap), p(true), at(gap, NotFound), false},
		{"never requested", Life{}, p(true), at(gap, NotFound), false},
	} {
		if got := tt.life.mayRequest(tt.p, tt.a); got != tt.want {
			t.Errorf("%s: %t; want %t", tt.name, got, tt.want)
		}
	}
}

// What a person must look at is said once, and nothing else in its place.
func TestAlertsOfAnswers(t *testing.T) {
	h := newHouse(t)
	h.channel.query = func(*order.Order) Answer { return Answer{Reading: Waiting, Answer: said("x"), Person: "look"} }
	task := h.refund("1m")
	h.gaps(task, 3)
	if len(h.alerts) != 2 || !strings.Contains(h.alerts[0], "used up") || h.alerts[1] != "PENDING: look" {
		t.Errorf("alerts %q; want that the schedule is used up, then what the answer says, once each", h.alerts)
	}
	h = newHouse(t)
	task = h.refund("1m*9")
	h.gaps(task, 3)
	if len(h.alerts) != 0 {
		t.Errorf("alerts %q; want none", h.alerts)
	}
	// After the decision only the other outcome is a contradiction, unless a notice raised a doubt.
	for _, tt := range []struct {
		doubt   string
		reading Reading
		want    string
	}{
		{"", Waiting, ""}, {"", QueryError, ""}, {"", Done, ""}, {"", FailedThere, "after the decision the channel says FAILED_THERE"}, {StateFailedThere, Done, ""},
		{StateFailedThere, Waiting, "after the decision a notice says FAILED_THERE, and the query of it says PENDING"},
	} {
		l := Life{Stage: Decided, State: StateDone, Doubt: tt.doubt}
		l, m := look(l, answer{reading: tt.reading})
		if m.alert != tt.want || (tt.reading == Done) != (l.Doubt == "") && tt.doubt != "" {
			t.Errorf("doubt %q, %v: %q, doubt %q; want %q", tt.doubt, tt.reading, m.alert, l.Doubt, tt.want)
		}
		if _, again := look(l, answer{reading: tt.reading}); again.alert != "" {
			t.Errorf("doubt %q, %v for the second time: %q; want one alert", tt.doubt, tt.reading, again.alert)
		}
	}
}

func TestLifeRejects(t *testing.T) {
	for data, good := range map[string]bool{
		`{}`: true, `{"stage":"announcing"}`: true, `{"stage":"requesting","requests":1,"first_at":1,"request_at":1}`: true,
		`{"stage":"decided","poll_state":"FAILED_THERE","taken":{}}`: true, `{"stage":"decided","poll_state":"DONE"}`: true, `{"requests":2,"first_at":1,"request_at":1}`: true,
		`{"stage":"dancing"}`: false, `{"poll_state":"GONE"}`: false, `{"stage":"decided","poll_state":"GONE"}`: false, `{"stage":"decided"}`: false, `{"poll_state":"DONE"}`: false,
		`{"polls":-1}`: false, `{"slow":-1}`: false, `{"stage":"requesting"}`: false, `{"stage":"announcing","requests":1,"first_at":1,"request_at":1}`: false,
		`{"requests":1,"first_at":1}`: false, `{"requests":1,"request_at":1}`: false, `{"first_at":1}`: false, `{"request_at":1}`: false, `{"taken":[1]}`: false, `{`: false,
	} {
		if l, err := ParseLife([]byte(data)); (err == nil) != good {
			t.Errorf("%s is %+v, %v; want it valid: %t", data, l, err, good)
		}
	}
}

func TestStandingOf(t *testing.T) {
	at := created
	decided := (&Life{Stage: Decided, State: StateDone, DecidedAt: at.UnixMilli(), Taken: []byte(`{"amount":1}`), Alerts: []string{alertRefused, alertContradicts}}).encode()
	body := []byte(`{"ref_no":"R1"}`)
	for name, tt := range map[string]struct {
		task bellman.Task
		want Standing
	}{
		"new":                     {bellman.Task{Body: body}, Standing{State: StatePending, RefNo: "R1"}},
		"decided":                 {bellman.Task{Body: body, Status: bellman.Status{Data: decided}}, Standing{State: StateDone, RefNo: "R1", Decided: at, Taken: `{"amount":1}`, Alerted: true, Alert: alertContradicts}},
		"cancelled":               {bellman.Task{Status: bellman.Status{State: bellman.Cancelled}}, Standing{State: StateUnknown}},
		"cancelled, and tried":    {bellman.Task{Status: bellman.Status{Before: &bellman.Before{State: bellman.Cancelled}}}, Standing{State: StateUnknown}},
		"tried before its turn":   {bellman.Task{Status: bellman.Status{Before: &bellman.Before{}}}, Standing{State: StatePending}},
		"unreadable":              {bellman.Task{Body: []byte("{"), Status: bellman.Status{Data: []byte("{")}}, Standing{State: StateUnknown}},
		"its alert, not decided":  {bellman.Task{Status: bellman.Status{Data: []byte(`{"alerts":["used_up"]}`)}}, Standing{State: StatePending, Alerted: true, Alert: alertUsedUp}},
		"ended, whatever decided": {bellman.Task{Status: bellman.Status{State: bellman.Failed, Data: decided}}, Standing{State: StateDone, Decided: at, Taken: `{"amount":1}`, Alerted: true, Alert: alertContradicts}},
	} {
		got := StandingOf(&tt.task)
		if got != tt.want {
			t.Errorf("%s: %+v; want %+v", name, got, tt.want)
		}
		if refuses := got.Refuses(StateFailedThere); refuses != (got.State == StateDone) || got.Refuses(StateDone) {
			t.Errorf("%s: refuses FAILED_THERE: %t; want it only after DONE, which is never refused then", name, refuses)
		}
	}
}

// A notice after the decision is looked into once, if it says the other outcome.
func TestDoubts(t *testing.T) {
	for _, tt := range []struct {
		life    Life
		outcome string
		want    bool
	}{
		{Life{Stage: Decided, State: StateDone}, StateFailedThere, true}, {Life{Stage: Decided, State: StateDone}, StateDone, false},
		{Life{Stage: Decided, State: StateDone}, "", false}, {Life{Stage: Polling, State: StatePending}, StateDone, false},
		{Life{Stage: Decided, State: StateDone, Doubt: StateFailedThere}, StateFailedThere, false},
		{Life{Stage: Decided, State: StateDone, Alerts: []string{alertContradicts}}, StateFailedThere, false},
	} {
		if got := tt.life.doubts(tt.outcome); got != tt.want {
			t.Errorf("%+v doubts %q: %t; want %t", tt.life, tt.outcome, got, tt.want)
		}
	}
}

// An answer that only asks for fewer queries says nothing, whatever stands beside it.
func TestSays(t *testing.T) {
	for want, a := range map[bool]answer{true: {act: actQuery, reading: Waiting}, false: {act: actQuery, reading: Waiting, throttled: true}} {
		if got := a.says(); got != want {
			t.Errorf("%+v says something: %t; want %t", a, got, want)
		}
	}
	for _, a := range []answer{{act: actQuery, reading: QueryError}, {act: actRequest, request: RequestAccepted}, {act: actAnnounce}} {
		if a.says() {
			t.Errorf("%+v says something", a)
		}
	}
}
