package api

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

var (
	_ Engine = (*engine.Engine)(nil)
	_ Reader = store.Store(nil)
)

// The API on the real engine: created, attempted, told, and read.
func TestOnTheEngine(t *testing.T) {
	store := memory.New()
	e, err := engine.New(engine.Options{Store: store, Logger: slog.New(slog.DiscardHandler), Queues: []engine.Queue{{
		Name: "q", Schedule: "0s, 1h", Handler: bellman.HandlerFunc(func(_ context.Context, task *bellman.Task, number int) bellman.Verdict {
			return bellman.Verdict{Next: bellman.Succeed, Result: bellman.Accepted, Status: 200, Response: "success"}
		}),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	subscribed := make(chan struct{})
	m := make1(t, Options{Engine: subscribing{e, subscribed}})
	m.o.Reader = store
	c := dial(t, m, "")
	events := make(chan client.Event, 10)
	go func() {
		defer close(events)
		for ev, err := range c.Events(ctx, "q") {
			if err != nil {
				return
			}
			events <- ev
		}
	}()
	select {
	case <-subscribed:
	case <-ctx.Done():
		t.Fatal("nobody listens to the events")
	}
	created, _, err := c.Create(ctx, client.CreateTask{Queue: "q", Key: "a/b", URL: "http://m/n", Schedule: "0s, 5m*"})
	if err != nil || created.MaxAttempts != nil || created.State != "pending" {
		t.Fatalf("Create = %+v, %v", created, err)
	}
	var last client.Event
	for ev := range events {
		if last = ev; ev.Type == "attempt" {
			break
		}
	}
	if last.Task.ID != created.ID || last.Task.State != "succeeded" || last.Attempt.Response != "success" {
		t.Errorf("last event %+v", last)
	}
	d, err := c.Task(ctx, client.ByKey("q", "a/b"))
	if err != nil || d.State != "succeeded" || d.Due != nil || d.Finished == nil || len(d.AttemptLog) != 1 || d.Last.Result != "accepted" {
		t.Errorf("Task = %+v, %v", d, err)
	}
	_, err = c.Cancel(ctx, client.ByKey("q", "a/b"), client.Because{})
	if client.StatusOf(err) != 409 {
		t.Errorf("Cancel of an ended task: %v; want 409", err)
	}
	_, _, err = c.Create(ctx, client.CreateTask{Queue: "nowhere", Timeout: "11m"})
	if client.StatusOf(err) != 422 {
		t.Errorf("Create in no queue: %v; want 422", err)
	}
}

// A subscribing engine closes done when somebody listens to its events.
type subscribing struct {
	*engine.Engine
	done chan struct{}
}

func (s subscribing) Subscribe(buffer int) (<-chan engine.Event, func()) {
	defer close(s.done)
	return s.Engine.Subscribe(buffer)
}
