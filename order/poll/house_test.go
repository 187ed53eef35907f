package poll

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
)

var created = time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)

// A fake is a channel whose answers a test gives, and which knows what it was asked.
type fake struct {
	query   func(o *order.Order) Answer
	request func(o *order.Order) RequestAnswer
	refuses error    // of CheckRef
	asked   []string // action and number
}

func (f *fake) Query(_ context.Context, o *order.Order) Answer {
	f.asked = append(f.asked, "query "+o.RefNo)
	return f.query(o)
}

func (f *fake) Request(_ context.Context, o *order.Order) RequestAnswer {
	f.asked = append(f.asked, "request "+o.RefNo)
	return f.request(o)
}

func (f *fake) CheckRef(*order.Order, bool) error { return f.refuses }

// onlyQueries is a channel that cannot request.
type onlyQueries struct{ f *fake }

func (c onlyQueries) Query(ctx context.Context, o *order.Order) Answer { return c.f.Query(ctx, o) }

func said(body string) order.Answer {
	return order.Answer{Result: bellman.Accepted, Status: 200, Body: []byte(body)}
}

func reads(r Reading) func(*order.Order) Answer {
	return func(*order.Order) Answer { return Answer{Reading: r, Answer: said("read")} }
}

// A house is what a handler needs of an engine: a clock, and tasks that follow their verdicts.
type house struct {
	t       testing.TB
	now     time.Time
	handler *Handler
	channel *fake
	told    map[string]bellman.Task // by key
	tells   int
	alerts  []string
	alarms  []bellman.Task // what an alert adds
}

func newHouse(t testing.TB, change ...func(*Rules)) *house {
	h := &house{t: t, now: created, told: map[string]bellman.Task{}, channel: &fake{query: reads(Waiting)}}
	h.channel.request = func(*order.Order) RequestAnswer {
		return RequestAnswer{Answer: said("taken"), Reading: RequestAccepted}
	}
	r := Rules{
		Then: order.Then{Default: []order.Recipient{{Queue: "merchant-notify"}}},
		Now:  func() time.Time { return h.now },
		Log:  slog.New(slog.DiscardHandler),
		Alert: func(_ *bellman.Task, a order.Alert) []bellman.Task {
			h.alerts = append(h.alerts, a.State+": "+a.Why)
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

func requests(r *Rules) { r.Request = true }

// add takes a task in, as the engine does.
func (h *house) add(task bellman.Task) *bellman.Task {
	h.t.Helper()
	task.Queue, task.Timeout = "refunds", 5*time.Second
	if err := h.handler.Check(&task); err != nil {
		h.t.Fatal(err)
	}
	task.Began = h.now
	if s, err := h.handler.schedules.Parse(orDefault(task.Schedule)); err != nil {
		h.t.Fatal(err)
	} else if due, _ := s.Next(0, h.now, h.now, 0); task.Due.IsZero() || due.Before(task.Due) {
		task.Due = due
	}
	return &task
}

func orDefault(schedule string) string {
	if schedule == "" {
		return "wechat_refund"
	}
	return schedule
}

func (h *house) refund(schedule string) *bellman.Task {
	return h.add(bellman.Task{MerchantNo: "M1", OrderNo: "O1", Schedule: schedule,
		Body: []byte(`{"ref_no":"R1","vars":{"amount":"100","currency":"cny"},"notify":{"url":"https://m.example/n","json":{"shop":"<1>","state":"theirs"}}}`)})
}

// attempt makes the next attempt when it is due, and records its verdict.
func (h *house) attempt(task *bellman.Task) bellman.Verdict {
	h.t.Helper()
	if task.Due.After(h.now) {
		h.now = task.Due
	}
	v := h.handler.Attempt(context.Background(), task, int(task.Attempts)+1)
	h.record(task, v)
	return v
}

func (h *house) record(task *bellman.Task, v bellman.Verdict) {
	h.t.Helper()
	task.Attempts++
	task.Phase, task.Trigger = bellman.Waiting, bellman.BySchedule
	if b := task.Before; b != nil {
		task.State, task.Due, task.Before = b.State, b.Due, nil
	}
	if v.Data != nil {
		task.Data = v.Data
	}
	h.follow(v)
	if task.State.Ended() {
		return
	}
	switch v.Next {
	case bellman.Succeed:
		task.State, task.Reason = bellman.Succeeded, v.Reason
	case bellman.GiveUp:
		task.State, task.Reason = bellman.Failed, v.Reason
	default:
		if v.Due.IsZero() {
			h.t.Fatalf("no next attempt: %+v", v)
		}
		task.Due = v.Due
	}
}

func (h *house) follow(v bellman.Verdict) {
	for _, f := range v.Follow {
		if _, there := h.told[f.Key]; !there {
			h.told[f.Key] = f
		}
		h.tells++
	}
}

func (h *house) life(task *bellman.Task) Life {
	h.t.Helper()
	l, err := ParseLife(task.Data)
	if err != nil {
		h.t.Fatal(err)
	}
	return l
}

// gaps makes n attempts, and returns the action of each and the time since the creation.
func (h *house) gaps(task *bellman.Task, n int) (log []string) {
	for range n {
		v := h.attempt(task)
		log = append(log, fmt.Sprintf("%v %s", h.now.Sub(created), v.Action))
		if task.State.Ended() {
			break
		}
	}
	return log
}

func (h *house) body(key string) map[string]any {
	h.t.Helper()
	var fields map[string]any
	if err := json.Unmarshal(h.told[key].Body, &fields); err != nil {
		h.t.Fatalf("notification %s: %v", key, err)
	}
	return fields
}
