package engine_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// The tests in this file show that mistakes of other designs are avoided; docs/traps.md describes
// the mistakes.

// A counted store counts calls.
type counted struct {
	*memory.Store
	asked atomic.Int64
}

func (s *counted) Due(ctx context.Context, shards []uint16, from store.Position, to int64, limit int, buf []store.Entry) ([]store.Entry, error) {
	s.asked.Add(1)
	return s.Store.Due(ctx, shards, from, to, limit, buf)
}

func (s *counted) Load(ctx context.Context, entries []store.Entry) ([]*bellman.Task, error) {
	s.asked.Add(1)
	return s.Store.Load(ctx, entries)
}

func (s *counted) Commit(ctx context.Context, b *store.Batch) error {
	s.asked.Add(1)
	return s.Store.Commit(ctx, b)
}

// Ten thousand waiting tasks cost no goroutine and no call of the store each. The clock of a bubble
// stands still while a goroutine runs, so a busy loop would keep this test from ending.
func TestWaitingCostsNothing(t *testing.T) {
	const tasks = 10_000 / fewer
	looks := func(t *testing.T, tasks int) (n int64) {
		synctest.Test(t, func(t *testing.T) {
			store := &counted{Store: memory.New()}
			r := &receiver{answer: accept}
			e, stop := run(t, store, engine.Queue{Name: "q", Handler: r})
			defer stop()
			time.Sleep(time.Minute)
			goroutines := runtime.NumGoroutine()
			for range tasks / 100 {
				add100(t, e, bellman.Task{Queue: "q", Delay: time.Hour})
			}
			time.Sleep(time.Minute) // until the calls that follow an add are over
			before := store.asked.Load()
			more := math.MaxInt
			for range 5 { // the runtime's goroutine for finalizers counts while it has work
				time.Sleep(10 * time.Minute)
				more = min(more, runtime.NumGoroutine()-goroutines)
			}
			n = store.asked.Load() - before
			if more > 0 {
				t.Errorf("%d more goroutines with %d waiting tasks; want none", more, tasks)
			}
			time.Sleep(10 * time.Minute)
			if got := len(r.times()); got != tasks {
				t.Errorf("%d attempts after the due time; want %d", got, tasks)
			}
		})
		return n
	}
	none, many := looks(t, 0), looks(t, tasks)
	if many > none+100 {
		t.Errorf("the store was called %d times in 50 minutes with %d waiting tasks, and %d times with none; want about the same", many, tasks, none)
	}
}

func add100(t *testing.T, e *engine.Engine, like bellman.Task) {
	t.Helper()
	tasks := make([]*bellman.Task, 100)
	for i := range tasks {
		task := like
		tasks[i] = &task
	}
	for _, a := range e.Add(t.Context(), tasks...) {
		if a.Err != nil {
			t.Fatal(a.Err)
		}
	}
}

// More tasks are due than may be in flight. The rest wait and are not lost, Add does not block, and
// the engine does not spin while the pool is full.
func TestFullPoolWaits(t *testing.T) {
	const tasks, room, took = 600, 10, 30 * time.Second
	synctest.Test(t, func(t *testing.T) {
		store := &counted{Store: memory.New()}
		var inFlight, most atomic.Int64
		r := &receiver{answer: func(*bellman.Task, int) bellman.Verdict {
			most.Store(max(most.Load(), inFlight.Add(1)))
			defer inFlight.Add(-1)
			time.Sleep(took)
			return bellman.Verdict{Next: bellman.Succeed}
		}}
		e, stop := run(t, store, engine.Queue{Name: "q", Handler: r, Timeout: time.Minute, Concurrency: room})
		defer stop()
		start := time.Now()
		for range tasks / 100 {
			add100(t, e, bellman.Task{Queue: "q"})
		}
		if waited := time.Since(start); waited != 0 {
			t.Errorf("adding took %v; want 0, because Add does not wait for attempts", waited)
		}
		time.Sleep(time.Second)
		before := store.asked.Load()
		time.Sleep(took / 2) // the pool is full all this time
		if looks := store.asked.Load() - before; looks > 200 {
			t.Errorf("the store was called %d times in %v while the pool was full; want few calls", looks, took/2)
		}
		time.Sleep(tasks/room*took - time.Since(start) + time.Minute)
		got := r.times()
		if len(got) != tasks {
			t.Fatalf("%d attempts; want %d", len(got), tasks)
		}
		if last := got[tasks-1].Sub(start); last > tasks/room*took { // the pool's limit starts lower
			t.Errorf("the last attempt began at %v; want at most %v, with the pool full all the time", last, tasks/room*took)
		}
		if n := most.Load(); n != room {
			t.Errorf("%d in flight; want %d", n, room)
		}
	})
}

// Two thousand tasks are due in the same millisecond, and every tenth attempt panics. Each task is
// attempted once, none is early, and the last is hardly late. This holds for tasks that were just
// added and for tasks loaded from the store.
func TestManyDueAtOnce(t *testing.T) {
	const tasks, took = 2000 / fewer, 10 * fewer * time.Millisecond
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart=%t", restart), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memory.New()
				r := &receiver{answer: func(task *bellman.Task, _ int) bellman.Verdict {
					time.Sleep(took)
					if task.Body != nil {
						panic("boom")
					}
					return bellman.Verdict{Next: bellman.Succeed}
				}}
				q := engine.Queue{Name: "q", Handler: r, Schedule: "0s"}
				e, stop := run(t, store, q)
				due := time.Now().Add(30 * time.Minute)
				ids := make([]bellman.ID, tasks)
				for i := range ids {
					task := &bellman.Task{Queue: "q", StartAt: due, Endpoint: fmt.Sprint(i % 20)}
					if i%10 == 0 {
						task.Body = []byte("panic")
					}
					ids[i] = add(t, e, task)
				}
				if restart {
					stop()
					_, stop = run(t, store, q)
				}
				defer stop()
				time.Sleep(max(time.Hour/fewer, 31*time.Minute))
				got := r.times()
				if len(got) != tasks {
					t.Fatalf("%d attempts; want %d", len(got), tasks)
				}
				if first := got[0].Sub(due); first < 0 {
					t.Errorf("the first attempt was %v early", -first)
				}
				if late := got[tasks-1].Sub(due); late > time.Second {
					t.Errorf("the last attempt was %v late; want less than a second", late)
				}
				for i, id := range ids {
					want := bellman.Succeeded
					if i%10 == 0 {
						want = bellman.Failed
					}
					if task := get(t, store, id); task.State != want || task.Attempts != 1 {
						t.Fatalf("task %d is %v after %d attempts; want %v after 1", i, task.State, task.Attempts, want)
					}
				}
			})
		})
	}
}

// A slowRecord store is slow to write the outcomes of attempts.
type slowRecord struct {
	*memory.Store
	takes    time.Duration
	recorded atomic.Int64 // attempts written
}

func (s *slowRecord) Commit(ctx context.Context, b *store.Batch) error {
	n := 0
	for i := range b.Changes {
		if b.Changes[i].Attempt != nil {
			n++
		}
	}
	if n > 0 {
		time.Sleep(s.takes)
	}
	err := s.Store.Commit(ctx, b)
	s.recorded.Add(int64(n))
	return err
}

// The next attempt waits until the outcome of the last one is on disk, whatever the schedule says.
// Otherwise a crash between the two would repeat both.
func TestNextAttemptWaitsForRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowRecord{Store: memory.New(), takes: 20 * time.Second}
		r := &receiver{answer: func(_ *bellman.Task, number int) bellman.Verdict {
			if n := store.recorded.Load(); n != int64(number-1) {
				t.Errorf("attempt %d began when %d attempts were recorded; want all earlier ones", number, n)
			}
			return bellman.Verdict{}
		}}
		e, stop := run(t, store, engine.Queue{Name: "q", Handler: r, Schedule: "0s, 1s*3"})
		defer stop()
		start := time.Now()
		id := add(t, e, &bellman.Task{Queue: "q"})
		time.Sleep(10 * time.Minute)
		got := r.times()
		for i := range got {
			if want := time.Duration(i) * store.takes; got[i].Sub(start) != want {
				t.Errorf("attempt %d at %v; want %v", i+1, got[i].Sub(start), want)
			}
		}
		if log := attempts(t, store, id); len(got) != 4 || len(log) != 4 {
			t.Errorf("%d attempts, %d in the log; want 4 of each", len(got), len(log))
		}
	})
}
