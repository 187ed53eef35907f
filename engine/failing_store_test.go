package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// A troubled store is a real store whose commits fail on demand.
type troubled struct {
	*memory.Store
	fail atomic.Pointer[func() (err error, written bool)] // nil: nothing fails
}

func (s *troubled) Commit(ctx context.Context, b *store.Batch) error {
	if fail := s.fail.Load(); fail != nil {
		if err, written := (*fail)(); err != nil {
			if written {
				if err := s.Store.Commit(ctx, b); err != nil {
					return err
				}
			}
			return err
		}
	}
	return s.Store.Commit(ctx, b)
}

// Commits fail in every way: before or after the write, and with each kind of error. Accepted tasks
// are attempted all the same, and none is attempted twice for the same due time.
func TestTroubledStore(t *testing.T) {
	tests := []struct {
		name    string
		err     error
		written bool
	}{
		{"an error, nothing written", errors.New("disk on fire"), false},
		{"full, nothing written", bellman.ErrFull, false},
		{"unknown, not written", bellman.ErrUnknown, false},
		{"unknown, but written", bellman.ErrUnknown, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &troubled{Store: memory.New()}
				var mu sync.Mutex
				sent := make(map[string]int)
				r := &receiver{answer: func(task *bellman.Task, number int) bellman.Verdict {
					mu.Lock()
					defer mu.Unlock()
					sent[fmt.Sprintf("%s/%d", task.Key, number)]++
					return bellman.Verdict{Next: bellman.Next(min(number/3, 1))} // accepted at the third attempt
				}}
				e, stop := run(t, store, engine.Queue{Name: "q", Handler: r, Schedule: "0s, 5s*4"})
				defer stop()
				fail := func() (error, bool) {
					if rand.IntN(3) == 0 {
						return tt.err, tt.written
					}
					return nil, false
				}
				store.fail.Store(&fail)
				const n = 200
				accepted := make(map[string]bellman.ID)
				for i := range n {
					task := &bellman.Task{Queue: "q", Key: fmt.Sprint(i)}
					a := e.Add(t.Context(), task)[0]
					for errors.Is(a.Err, tt.err) { // the client retries the same request
						time.Sleep(100 * time.Millisecond)
						a = e.Add(t.Context(), &bellman.Task{Queue: "q", Key: task.Key})[0]
					}
					if a.Err != nil {
						t.Fatal(a.Err)
					}
					accepted[task.Key] = a.ID
				}
				time.Sleep(time.Minute)
				store.fail.Store(nil)
				time.Sleep(10 * time.Minute) // long enough for an outcome that was rejected six times: its last pause is over a minute
				for key, id := range accepted {
					task := get(t, store, id)
					if task.State != bellman.Succeeded || task.Attempts != 3 {
						t.Errorf("task %s is %v after %d attempts; want succeeded after 3", key, task.State, task.Attempts)
					}
					if log := attempts(t, store, id); len(log) != 3 {
						t.Errorf("task %s has %d attempts in its log; want 3", key, len(log))
					}
				}
				mu.Lock()
				defer mu.Unlock()
				for attempt, times := range sent {
					if times != 1 {
						t.Errorf("attempt %s was made %d times; want once", attempt, times)
					}
				}
			})
		})
	}
}

// While the store rejects all writes, Add returns its error, Ready fails and no attempt starts.
// Everything goes on when the store accepts writes again.
func TestFullStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &troubled{Store: memory.New()}
		r := &receiver{answer: accept}
		e, stop := run(t, store, engine.Queue{Name: "q", Handler: r})
		defer stop()
		id := add(t, e, &bellman.Task{Queue: "q", Delay: time.Second})
		full := func() (error, bool) { return bellman.ErrFull, false }
		store.fail.Store(&full)
		if a := e.Add(t.Context(), &bellman.Task{Queue: "q"})[0]; !errors.Is(a.Err, bellman.ErrFull) {
			t.Errorf("Add to a full store: %v; want ErrFull", a.Err)
		}
		time.Sleep(10 * time.Second)
		if err := e.Ready(t.Context()); err == nil {
			t.Error("Ready while nothing can be written; want an error")
		}
		if task := get(t, store, id); task.State != bellman.Pending {
			t.Errorf("the task is %v; want pending, because its outcome cannot be written", task.State)
		}
		store.fail.Store(nil)
		time.Sleep(10 * time.Second)
		if task := get(t, store, id); task.State != bellman.Succeeded || len(r.times()) != 1 {
			t.Errorf("the task is %v after %d attempts; want succeeded after 1", task.State, len(r.times()))
		}
		if err := e.Ready(t.Context()); err != nil {
			t.Errorf("Ready when the store works again: %v", err)
		}
	})
}

// An endpoint hangs for 30 s and has 10,000 due tasks. It does not delay another endpoint's tasks,
// whether they are new or overdue and behind it in the store.
func TestSlowDoNotHoldQuick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		late := make(chan time.Duration, 2000)
		q := engine.Queue{Name: "q", Timeout: 30 * time.Second, Schedule: "0s, 1h", Handler: bellman.HandlerFunc(
			func(ctx context.Context, task *bellman.Task, _ int) bellman.Verdict {
				if task.Endpoint == "slow" {
					<-ctx.Done()
					return bellman.Verdict{Result: bellman.TimedOut}
				}
				late <- time.Since(task.Due)
				time.Sleep(time.Millisecond)
				return bellman.Verdict{Next: bellman.Succeed}
			})}
		e, stop := run(t, store, q)
		for range 10 {
			var tasks []*bellman.Task
			for range 1000 {
				tasks = append(tasks, &bellman.Task{Queue: "q", Endpoint: "slow", Delay: time.Minute})
			}
			for _, a := range e.Add(t.Context(), tasks...) {
				if a.Err != nil {
					t.Fatal(a.Err)
				}
			}
		}
		for range 1000 { // due at the same time, and after the slow tasks in order
			add(t, e, &bellman.Task{Queue: "q", Endpoint: "quick", Delay: time.Minute})
		}
		stop()
		time.Sleep(2 * time.Minute)
		e, stop = run(t, store, q)
		defer stop()
		started := time.Now()
		for i := range 1000 {
			<-late
			if i == 999 {
				if took := time.Since(started); took > 3*time.Second {
					t.Errorf("overdue tasks of the quick endpoint were attempted after %v; want them at once, although they are behind those of the slow one", took)
				}
			}
		}
		for range 200 {
			add(t, e, &bellman.Task{Queue: "q", Endpoint: "quick"})
			if l := <-late; l > 50*time.Millisecond {
				t.Errorf("a new task of the quick endpoint was %v late; want it nearly on time", l)
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
}

// If more than Flow.High tasks are overdue, intake closes until fewer than Flow.Low are.
func TestOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		r := &receiver{answer: func(*bellman.Task, int) bellman.Verdict {
			<-gate
			return bellman.Verdict{Next: bellman.Succeed}
		}}
		e, stop := runWith(t, engine.Options{
			Store:  memory.New(),
			Queues: []engine.Queue{{Name: "q", Handler: r, Timeout: 10 * time.Minute}},
			Flow:   engine.Flow{High: 100, Low: 50},
		})
		n := 0
		for ; n < 1000; n++ {
			if a := e.Add(t.Context(), &bellman.Task{Queue: "q"})[0]; errors.Is(a.Err, bellman.ErrOverloaded) {
				break
			} else if a.Err != nil {
				t.Fatal(a.Err)
			}
			time.Sleep(50 * time.Millisecond)
		}
		if n < 100 || n > 200 {
			t.Errorf("%d tasks were accepted; want about 100 waiting and those in flight", n)
		}
		close(gate)
		time.Sleep(5 * time.Second)
		add(t, e, &bellman.Task{Queue: "q"})
		time.Sleep(time.Second)
		stop()
		if got := len(r.times()); got != n+1 {
			t.Errorf("%d attempts; want %d", got, n+1)
		}
	})
}

// With the smallest mark intake opens again too.
func TestSmallestOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		e, stop := runWith(t, engine.Options{
			Store: memory.New(),
			Queues: []engine.Queue{{Name: "q", Concurrency: 1, Timeout: 10 * time.Minute, Handler: bellman.HandlerFunc(func(context.Context, *bellman.Task, int) bellman.Verdict {
				<-gate
				return bellman.Verdict{Next: bellman.Succeed}
			})}},
			Flow: engine.Flow{High: 1},
		})
		defer stop()
		for e.Add(t.Context(), &bellman.Task{Queue: "q"})[0].Err == nil {
			time.Sleep(time.Second)
		}
		close(gate)
		time.Sleep(5 * time.Second)
		if a := e.Add(t.Context(), &bellman.Task{Queue: "q"})[0]; a.Err != nil {
			t.Errorf("nothing waits any more, and a task gets %v; want it accepted", a.Err)
		}
	})
}

// A robbed store lost a claim of this node in a database fail-over. Another node then claimed shard
// 0 and got the same epoch.
type robbed struct {
	*memory.Store
	taken atomic.Bool
}

func (s *robbed) State(ctx context.Context, kind string) (store.State, error) {
	state, err := s.Store.State(ctx, kind)
	if err == nil && s.taken.Load() {
		state.Shards[0].Owner, state.Shards[0].Mark, state.Shards[0].Alive = "other", "other", true
	}
	return state, err
}

func (s *robbed) Commit(ctx context.Context, b *store.Batch) error {
	for _, l := range b.Leases {
		if s.taken.Load() && l.Shard == 0 && l.Mark != "other" {
			return fmt.Errorf("%w: shard 0", bellman.ErrFenced)
		}
	}
	return s.Store.Commit(ctx, b)
}

// A fail-over lost the claim of a shard, and another node has the same epoch of it. The first
// commit that finds this gives the shard up. Everything else in that commit and after it goes on at
// once.
func TestLostClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &robbed{Store: memory.New()}
		e, stop := run(t, store, engine.Queue{Name: "q", Handler: &receiver{answer: accept}})
		defer stop()
		due := time.Now().Add(1100 * time.Millisecond) // between two checks of the shards
		var ids []bellman.ID
		for range 1000 {
			ids = append(ids, add(t, e, &bellman.Task{Queue: "q", StartAt: due}))
		}
		time.Sleep(time.Until(due) - time.Millisecond)
		store.taken.Store(true)
		time.Sleep(200 * time.Millisecond)
		left, of0 := 0, 0
		for _, id := range ids {
			switch task := get(t, store, id); {
			case task.Shard == 0:
				of0++
			case task.State != bellman.Succeeded:
				left++
			}
		}
		if left > 0 || of0 == 0 {
			t.Errorf("200 ms after a claim was lost, %d tasks of other shards have no outcome, and the test had %d tasks of the lost shard; want none, and at least one", left, of0)
		}
	})
}
