package engine_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// A stop waits for attempts in flight, up to its time limit. An attempt that it cuts off is in the
// log, and is repeated under the next number as the same step. If its handler has the receiver's
// yes all the same, the attempt counts and is not repeated.
func TestStopCutsOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		hang := engine.Queue{Name: "q", Timeout: time.Minute, Handler: bellman.HandlerFunc(
			func(ctx context.Context, task *bellman.Task, _ int) bellman.Verdict {
				<-ctx.Done()
				if task.Key == "heard" {
					return bellman.Verdict{Next: bellman.Succeed}
				}
				return bellman.Verdict{Result: bellman.Unreachable}
			})}
		e, stop := run(t, store, hang)
		id, heard := add(t, e, &bellman.Task{Queue: "q"}), add(t, e, &bellman.Task{Queue: "q", Key: "heard"})
		time.Sleep(time.Second)
		began := time.Now()
		stop()
		if took := time.Since(began); took < 7*time.Second || took > 9500*time.Millisecond {
			t.Errorf("the stop took %v; want it to wait for the attempt, and to end within 10s", took)
		}
		log := attempts(t, store, id)
		if len(log) != 1 || log[0].Result != bellman.Unknown || log[0].Error == "" {
			t.Errorf("log %+v; want the cut-off attempt with an unknown result", log)
		}
		if task := get(t, store, heard); task.State != bellman.Succeeded || task.Attempts != 1 {
			t.Errorf("a task whose cut-off attempt was accepted is %v after %d attempts; want succeeded after one", task.State, task.Attempts)
		}
		_, stop = run(t, store, engine.Queue{Name: "q", Handler: &receiver{answer: accept}})
		defer stop()
		time.Sleep(time.Second)
		if task := get(t, store, id); task.State != bellman.Succeeded || task.Attempts != 2 || task.Step != 0 {
			t.Errorf("the task is %v after %d attempts, at step %d; want succeeded after 2, at the first step", task.State, task.Attempts, task.Step)
		}
	})
}

// A stop is no error, whatever cause the caller's context has.
func TestStopWithCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := engine.New(engine.Options{Store: memory.New(), Queues: []engine.Queue{{Name: "q", Handler: &receiver{answer: accept}}},
			Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- e.Run(ctx) }()
		time.Sleep(time.Second)
		cancel(errors.New("a new version is deployed"))
		if err := <-ended; err != nil {
			t.Errorf("Run: %v; want nil after an orderly stop", err)
		}
	})
}

// alone is a troubled store that is exclusive.
type alone struct{ *troubled }

func (alone) Use() store.Use { return store.Use{Exclusive: true} }

// A store that rejects everything delays neither a stop nor callers. The next engine has all shards
// soon.
func TestStopWithFullStore(t *testing.T) {
	for _, failure := range []error{bellman.ErrFull, bellman.ErrUnknown} {
		for _, sole := range []bool{false, true} {
			testStopWithFullStore(t, failure, sole)
		}
	}
}

func testStopWithFullStore(t *testing.T, failure error, sole bool) {
	synctest.Test(t, func(t *testing.T) {
		troubled := &troubled{Store: memory.New()}
		var store store.Store = troubled
		if sole {
			store = alone{troubled}
		}
		r := &receiver{answer: accept}
		e, stop := run(t, store, engine.Queue{Name: "q", Handler: r})
		id := add(t, e, &bellman.Task{Queue: "q", Delay: time.Second})
		full := func() (error, bool) { return failure, false }
		troubled.fail.Store(&full)
		time.Sleep(5 * time.Second) // attempted, but not recorded
		for range 10 {
			began := time.Now()
			if a := e.Add(t.Context(), &bellman.Task{Queue: "q"})[0]; !errors.Is(a.Err, failure) {
				t.Errorf("Add: %v; want %v", a.Err, failure)
			}
			if _, err := e.Cancel(t.Context(), id, by); !errors.Is(err, failure) {
				t.Errorf("Cancel: %v; want %v", err, failure)
			}
			if took := time.Since(began); took > 3*time.Second {
				t.Errorf("Add and Cancel took %v; want them to return at once", took)
			}
		}
		began := time.Now()
		stop()
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the stop took %v; want it within its time limit", took)
		}
		troubled.fail.Store(nil)
		_, stop = run(t, store, engine.Queue{Name: "q", Handler: r})
		defer stop()
		time.Sleep(10 * time.Second) // the first node has not released its shards, and expires
		if task := get(t, store, id); task.State != bellman.Succeeded || len(r.times()) != 2 {
			t.Errorf("sole %t: the task is %v after %d attempts; want succeeded after 2, because the first could not be recorded", sole, task.State, len(r.times()))
		}
	})
}

// Tasks of a queue that is no longer configured wait, and go on when the queue is configured again.
// They lose no attempt.
func TestStrayQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		r := &receiver{answer: accept}
		here, other := engine.Queue{Name: "here", Handler: r}, engine.Queue{Name: "other", Handler: r}
		e, stop := run(t, store, here, other)
		reloaded := add(t, e, &bellman.Task{Queue: "here", Delay: time.Minute})
		if err := e.SetQueues([]engine.Queue{other}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		stop()
		e, stop = run(t, store, other) // the engine also starts without the queue
		defer stop()
		time.Sleep(10 * time.Minute)
		if task := get(t, store, reloaded); task.State != bellman.Pending || task.Attempts != 0 {
			t.Fatalf("the task is %v after %d attempts; want pending, with no attempt", task.State, task.Attempts)
		}
		if a := e.Add(t.Context(), &bellman.Task{Queue: "here"})[0]; a.Err == nil {
			t.Error("Add to a queue that is not configured: no error")
		}
		if err := e.SetQueues([]engine.Queue{other, here}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if task := get(t, store, reloaded); task.State != bellman.Succeeded || len(r.times()) != 1 {
			t.Errorf("the task is %v after %d attempts; want succeeded after 1, at once", task.State, len(r.times()))
		}
	})
}
