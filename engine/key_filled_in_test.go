package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// A namer is a handler that fills in a missing key and changes the body.
type namer struct{ receiver }

func (*namer) Check(t *bellman.Task) error {
	if t.Key == "" {
		t.Key = t.OrderNo
	}
	t.Body = append([]byte("checked "), t.Body...)
	return nil
}

// A key filled in by the handler tells contents apart like the caller's own key, and equals the
// same key from a caller.
func TestKeyFilledIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, stop := run(t, memory.New(), engine.Queue{Name: "q", Handler: &namer{receiver{answer: refuse}}})
		defer stop()
		tests := []struct {
			task     bellman.Task
			existing bool
			err      error
		}{
			{bellman.Task{OrderNo: "O1", Body: []byte("a")}, false, nil},
			{bellman.Task{OrderNo: "O1", Body: []byte("a")}, true, nil},
			{bellman.Task{OrderNo: "O1", Body: []byte("a"), Key: "O1"}, true, nil},
			{bellman.Task{OrderNo: "O1", Body: []byte("b")}, false, bellman.ErrKeyTaken},
			{bellman.Task{OrderNo: "O2", Body: []byte("b")}, false, nil},
		}
		for i, tt := range tests {
			tt.task.Queue = "q"
			if got := e.Add(context.Background(), &tt.task)[0]; got.Existing != tt.existing || !errors.Is(got.Err, tt.err) {
				t.Errorf("Add() of task %d = %+v; want existing %t, error %v", i, got, tt.existing, tt.err)
			}
		}
	})
}

// A forgetful store returns ErrUnknown for the first commits that add tasks.
type forgetful struct {
	*memory.Store
	written bool // whether these commits are written
	times   int
}

func (s *forgetful) Commit(ctx context.Context, b *store.Batch) error {
	if len(b.Adds) == 0 || s.times == 0 {
		return s.Store.Commit(ctx, b)
	}
	s.times--
	if s.written {
		if err := s.Store.Commit(ctx, b); err != nil {
			return err
		}
	}
	return bellman.ErrUnknown
}

// untilKnown retries Add, with pauses, until the result is known.
func untilKnown(t *testing.T, e *engine.Engine, task *bellman.Task) bellman.ID {
	t.Helper()
	for again := 0; ; again++ {
		got := e.Add(t.Context(), task)[0]
		switch {
		case errors.Is(got.Err, bellman.ErrUnknown):
		case got.Err != nil || again == 0:
			t.Fatalf("Add() number %d = %+v", again, got)
		default:
			return got.ID
		}
		time.Sleep(time.Second)
	}
}

// An Add with an unknown result is retried. The task is added once, with the content of the first
// call, and other callers of the same task find it.
func TestAddRepeatedAfterUnknownResult(t *testing.T) {
	given := func() *bellman.Task {
		return &bellman.Task{Queue: "q", OrderNo: "O1", Body: []byte("a"), Delay: time.Hour, Header: map[string]string{"A": "b"}, OrderingKey: "o"}
	}
	for _, tt := range []struct {
		name string
		add  func(t *testing.T, e *engine.Engine, s *forgetful, task *bellman.Task) bellman.ID
	}{
		{"not written", func(t *testing.T, e *engine.Engine, s *forgetful, task *bellman.Task) bellman.ID {
			s.times = 2
			return untilKnown(t, e, task)
		}},
		{"written", func(t *testing.T, e *engine.Engine, s *forgetful, task *bellman.Task) bellman.ID {
			s.times, s.written = 2, true
			return untilKnown(t, e, task)
		}},
		{"in a transaction that is run again", func(t *testing.T, e *engine.Engine, s *forgetful, task *bellman.Task) bellman.ID {
			e.Prepare(task)
			adds := e.Prepare(task)
			if err := s.Store.Commit(t.Context(), &store.Batch{Adds: adds}); err != nil {
				t.Fatal(err)
			}
			if task.ID != adds[0].Task.ID {
				t.Errorf("the task has the id %v; want that of the prepared task, %v", task.ID, adds[0].Task.ID)
			}
			return task.ID
		}},
		{"after the caller gave up waiting", func(t *testing.T, e *engine.Engine, s *forgetful, task *bellman.Task) bellman.ID {
			over, cancel := context.WithCancel(t.Context())
			cancel()
			if got := e.Add(over, task)[0]; !errors.Is(got.Err, context.Canceled) {
				t.Fatalf("Add() = %+v, want context.Canceled", got)
			}
			synctest.Wait()
			got := e.Add(t.Context(), task)[0]
			if got.Err != nil {
				t.Fatal(got.Err)
			}
			return got.ID
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &forgetful{Store: memory.New()}
				e, stop := run(t, s, engine.Queue{Name: "q", Schedule: "0s, 15s", MaxAge: 2 * time.Hour, Handler: &namer{receiver{answer: refuse}}})
				defer stop()
				id := tt.add(t, e, s, given())
				if got := e.Add(t.Context(), given())[0]; got.Err != nil || !got.Existing || got.ID != id {
					t.Errorf("Add() of the same task by another caller = %+v; want the existing %v", got, id)
				}
				if got := string(get(t, s, id).Body); got != "checked a" {
					t.Errorf("its body is %q; want the body as checked exactly once", got)
				}
			})
		})
	}
}
