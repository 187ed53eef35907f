package order

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
)

// A fake is a channel whose answers the test decides. It records the requests.
type fake struct {
	query   func(o *Order) QueryAnswer
	close   func(o *Order) CloseAnswer
	reverse func(o *Order) CloseAnswer
	cancels bool
	asked   []Order
}

func (f *fake) Query(_ context.Context, o *Order) QueryAnswer {
	f.asked = append(f.asked, *o)
	return f.query(o)
}
func (f *fake) Close(_ context.Context, o *Order) CloseAnswer   { return f.close(o) }
func (f *fake) Reverse(_ context.Context, o *Order) CloseAnswer { return f.reverse(o) }

func (f *fake) Cancels() bool { return f.cancels }

func reads(r Reading) func(*Order) QueryAnswer {
	return func(*Order) QueryAnswer { return QueryAnswer{Reading: r, Answer: said("read")} }
}

func closes(r CloseReading) func(*Order) CloseAnswer {
	return func(*Order) CloseAnswer { return CloseAnswer{Reading: r, Answer: said("closing")} }
}

func said(body string) Answer {
	return Answer{Result: bellman.Accepted, Status: 200, Body: []byte(body)}
}

// A house is the part of an engine that a handler needs: a clock, and tasks that follow their
// verdicts.
type house struct {
	t       testing.TB
	now     time.Time
	handler *Handler
	channel *fake
	tasks   map[string]*bellman.Task // by queue and key
	alerts  []string
	kinds   []AlertKind    // of the alerts
	alarms  []bellman.Task // what an alert adds
}

func newHouse(t testing.TB, change ...func(*Rules)) *house {
	h := &house{t: t, now: created, channel: &fake{query: reads(Pending), close: closes(CloseDone), reverse: closes(CloseDone)},
		tasks: make(map[string]*bellman.Task)}
	r := Rules{
		OnExhausted: OnExhaustedClose,
		MinCloseAge: 5 * time.Minute,
		Then:        Then{Default: []Recipient{{Queue: "merchant-notify"}}},
		Now:         func() time.Time { return h.now },
		Log:         slog.New(slog.DiscardHandler),
		Alert: func(_ *bellman.Task, a Alert) []bellman.Task {
			h.alerts, h.kinds = append(h.alerts, a.State+": "+a.Why), append(h.kinds, a.Kind)
			return h.alarms
		},
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

// scheduled is an order with a schedule.
func (h *house) scheduled(schedule string) *bellman.Task {
	return h.add(bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1", Schedule: schedule, Body: []byte(`{"notify":{"url":"https://m.example/n"}}`)})
}

// attempt makes the next attempt of a task, no earlier than it is due, and applies the verdict as
// the engine does.
func (h *house) attempt(task *bellman.Task) bellman.Verdict {
	if task.Before == nil {
		h.now = later(h.now, task.Due)
	}
	v := h.handler.Attempt(context.Background(), task, int(task.Attempts)+1)
	task.Attempts++
	task.Phase, task.Trigger = bellman.Waiting, bellman.BySchedule
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

// lifeOf reads the progress of a task.
func (h *house) lifeOf(_ context.Context, queue, key string) (Life, error) {
	task := h.tasks[queue+" "+key]
	if task == nil {
		return Life{}, bellman.ErrNotFound
	}
	return ParseLife(task.Data)
}
