package order

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
)

// A task says how its order stands, and what of the protocol comes next.
func TestStandingOf(t *testing.T) {
	at := time.Date(2026, 11, 20, 15, 4, 5, 0, time.UTC)
	data := func(stage Stage, state string, change func(*Life)) bellman.Status {
		l := Life{Stage: stage, State: state}
		if change != nil {
			change(&l)
		}
		return bellman.Status{Data: l.encode()}
	}
	paid := func(number string, more ...string) func(*Life) {
		return func(l *Life) {
			if number != "" {
				l.Taken = json.RawMessage(`{"transaction_id":"` + number + `"}`)
			}
			l.Payments, l.DecidedAt = more, at.UnixMilli()
		}
	}
	first := json.RawMessage(`{"transaction_id":"T1"}`)
	ask := Ask{Watch: &Watch{Of: "k", State: "CLOSED", Decided: at, Until: at}}
	for name, tt := range map[string]struct {
		task bellman.Task
		want Standing
	}{
		"a notice":                   {bellman.Task{Event: EventNotice, Status: data(Polling, StatePending, nil)}, Standing{Beside: true}},
		"a watch from the start":     {bellman.Task{Event: EventLateWatch, Body: ask.encode()}, Standing{State: "CLOSED", Beside: true}},
		"a watch without its order":  {bellman.Task{Event: EventLateWatch, Body: []byte("{}")}, Standing{State: StatePending}},
		"a watch that went on":       {bellman.Task{Event: EventLateWatch, Body: ask.encode(), Status: data(Watching, "REVOKED", nil)}, Standing{State: "REVOKED", Beside: true}},
		"a watch that closes again":  {bellman.Task{Status: data(Reclosing, "CLOSED", nil)}, Standing{State: "CLOSED", Beside: true}},
		"polled":                     {bellman.Task{Status: data(Polling, StatePending, nil)}, Standing{State: StatePending}},
		"before a close":             {bellman.Task{Status: data(Closing, StatePending, nil)}, Standing{State: StatePending, Closing: true}},
		"before a reverse":           {bellman.Task{Status: data(Reversing, StatePending, nil)}, Standing{State: StatePending, Closing: true}},
		"closes next":                {bellman.Task{Status: data(Close, StatePending, nil)}, Standing{State: StatePending, Closing: true, Acting: true}},
		"reverses next":              {bellman.Task{Status: data(Reverse, StatePending, nil)}, Standing{State: StatePending, Closing: true, Acting: true}},
		"closed, and to be seen":     {bellman.Task{Status: data(Confirming, StatePending, nil)}, Standing{State: StatePending, Closing: true, Timed: true}},
		"unreadable":                 {bellman.Task{Status: bellman.Status{Data: []byte("{")}}, Standing{State: StateUnknown}},
		"ended undecided":            {bellman.Task{Status: bellman.Status{State: bellman.Cancelled}}, Standing{State: StateUnknown}},
		"ended undecided, and tried": {bellman.Task{Status: bellman.Status{Before: &bellman.Before{State: bellman.Cancelled}}}, Standing{State: StateUnknown}},
		"tried before its turn":      {bellman.Task{Status: bellman.Status{Before: &bellman.Before{}}}, Standing{State: StatePending}},
		"paid":                       {bellman.Task{Status: data(Decided, "PAID", paid("T1"))}, Standing{State: "PAID", Paid: first, Decided: at}},
		"paid twice":                 {bellman.Task{Status: data(Decided, "PAID", paid("T1", "h2"))}, Standing{State: "PAID", Paid: first, Decided: at, Duplicates: 1}},
		"paid twice, first by hash":  {bellman.Task{Status: data(Decided, "PAID", paid("", "h1", "h2"))}, Standing{State: "PAID", Decided: at, Duplicates: 1}},
		"paid late": {bellman.Task{Status: data(Decided, "CLOSED", func(l *Life) { l.Late, l.DecidedAt = "PAID", at.UnixMilli() })},
			Standing{State: "CLOSED", Late: "PAID", Decided: at}},
		"another amount": {bellman.Task{Status: data(Decided, StateUnknown, func(l *Life) { l.Mismatch, l.DecidedAt = "1 CNY", at.UnixMilli() })},
			Standing{State: StateUnknown, Mismatch: "1 CNY", Decided: at}},
	} {
		if got := StandingOf(&tt.task); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v; want %+v", name, got, tt.want)
		}
	}
}

func TestRefusesAndOpen(t *testing.T) {
	decided := time.Now()
	for _, tt := range []struct {
		s       Standing
		refuses string // of PAID, CLOSED, PAID_REFUNDED, FAILED and no outcome, those that contradict
		open    bool
	}{
		{Standing{State: StatePending}, "", false},
		{Standing{State: StateUnknown, Decided: decided}, "", true},
		{Standing{State: StateUnknown, Decided: decided, Late: "PAID"}, "", false},
		{Standing{State: "PAID", Decided: decided}, "CLOSED FAILED ", false},
		{Standing{State: "CLOSED", Decided: decided}, "FAILED ", false},
		{Standing{State: "CLOSED", Beside: true}, "FAILED ", false},
	} {
		refuses := ""
		for _, outcome := range []string{"PAID", "CLOSED", "PAID_REFUNDED", "FAILED", ""} {
			if tt.s.Refuses(outcome) {
				refuses += outcome + " "
			}
		}
		if refuses != tt.refuses || tt.s.Open() != tt.open {
			t.Errorf("%+v: refuses %q, open %t; want %q, %t", tt.s, refuses, tt.s.Open(), tt.refuses, tt.open)
		}
	}
}

func TestExpired(t *testing.T) {
	at := time.Date(2026, 11, 20, 15, 4, 5, 0, time.UTC)
	for name, tt := range map[string]struct {
		ask   Ask
		added time.Time // of the task
		want  bool
	}{
		"just now":     {Ask{Created: at.Add(-time.Hour), Expires: time.Hour}, at, true},
		"soon":         {Ask{Created: at.Add(-time.Hour + time.Millisecond), Expires: time.Hour}, at.Add(-2 * time.Hour), false},
		"as added":     {Ask{Expires: time.Hour}, at.Add(-time.Hour), true},
		"as added now": {Ask{Expires: time.Hour}, at, false},
		"never":        {Ask{Created: at.Add(-time.Hour)}, at, false},
		"of a watch":   {Ask{Created: at.Add(-time.Hour), Expires: time.Hour, Watch: &Watch{Of: "k", State: "CLOSED", Decided: at, Until: at}}, at, false},
	} {
		if got := Expired(&bellman.Task{ID: bellman.FirstID(tt.added), Body: tt.ask.encode()}, at); got != tt.want {
			t.Errorf("%s: expired %t; want %t", name, got, tt.want)
		}
	}
	if Expired(&bellman.Task{Body: []byte("{")}, at) {
		t.Error("an unreadable order has expired")
	}
}

// Tasks that are no orders do not count.
func TestOverallOfOrders(t *testing.T) {
	other, own := &bellman.Task{Kind: bellman.KindNotify}, &bellman.Task{Kind: bellman.KindOrder}
	if s, task := Overall([]*bellman.Task{other, own}); s.State != StatePending || task != own {
		t.Errorf("%+v of %p; want PENDING of the order's task", s, task)
	}
}

// An order stands as its own tasks say together.
func TestOverall(t *testing.T) {
	watch := Standing{State: "CLOSED", Late: "PAID", Beside: true}
	tests := []struct {
		newestFirst []Standing
		state, late string
		task        int // −1: none
	}{
		{nil, "", "", -1},
		{[]Standing{watch}, "", "PAID", -1},
		{[]Standing{{State: "PENDING"}}, "PENDING", "", 0},
		{[]Standing{watch, {State: "CLOSED"}}, "CLOSED", "PAID", 1},
		{[]Standing{{State: "CLOSED"}, {State: "PAID"}}, "PAID", "", 1},
		{[]Standing{{State: "CLOSED"}, {State: "PENDING"}, {State: "PAID_REFUNDED"}}, "PAID_REFUNDED", "", 2},
		{[]Standing{{State: "PAID_REFUNDED"}, {State: "PAID"}}, "PAID_REFUNDED", "", 0},
		{[]Standing{{State: "CLOSED"}, {State: "PENDING"}, {State: "UNKNOWN"}}, "PENDING", "", 1},
		{[]Standing{{State: "UNKNOWN"}, {State: "CLOSED"}}, "UNKNOWN", "", 0},
		{[]Standing{{State: "PENDING"}, {State: "PENDING"}}, "PENDING", "", 0},
	}
	for _, tt := range tests {
		got, own := Standing{}, -1
		for i, older := range tt.newestFirst {
			if got.take(older, own < 0) {
				own = i
			}
		}
		if got.State != tt.state || got.Late != tt.late || own != tt.task {
			t.Errorf("%+v: %s, %s of task %d; want %s, %s of %d", tt.newestFirst, got.State, got.Late, own, tt.state, tt.late, tt.task)
		}
	}
}
