package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
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

// A stuck store delays commits of outcomes, and then writes or fails them.
type stuck struct {
	*memory.Store
	takes atomic.Int64 // time.Duration; 0: no delay
	fails atomic.Bool
	dead  atomic.Bool // every commit fails
}

var errHung = errors.New("the disk does not answer")

func (s *stuck) Commit(ctx context.Context, b *store.Batch) error {
	if s.dead.Load() {
		return errHung
	}
	for i := range b.Changes {
		if b.Changes[i].Attempt != nil {
			time.Sleep(time.Duration(s.takes.Load()))
			if s.fails.Load() {
				return errHung
			}
			break
		}
	}
	return s.Store.Commit(ctx, b)
}

// While a commit hangs, attempts stop after a second, or when half of the outcomes that may wait
// have come in. This bounds how many attempts are repeated after a crash. Attempts go on at once
// when the commit returns.
func TestHangingCommitStopsFiring(t *testing.T) {
	for name, takes := range map[string]time.Duration{"at once": 0, "in 50ms": 50 * time.Millisecond} {
		t.Run("answered "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &stuck{Store: memory.New()}
				var mu sync.Mutex
				var begun []time.Time
				made := make(map[bellman.ID]int)
				q := engine.Queue{Name: "q", EndpointConcurrency: 64 / fewer, Handler: bellman.HandlerFunc(func(_ context.Context, task *bellman.Task, _ int) bellman.Verdict {
					mu.Lock()
					begun = append(begun, time.Now())
					made[task.ID]++
					mu.Unlock()
					time.Sleep(takes)
					return bellman.Verdict{Next: bellman.Succeed}
				})}
				e, stop := runWith(t, engine.Options{Store: store, Limits: sized, MaxInFlight: 2048 / fewer, Queues: []engine.Queue{q}})
				defer stop()
				const tasks = 10_000 / fewer // more than may start while the commit hangs
				due := time.Now().Add(time.Minute)
				for i := range tasks / 100 {
					add100(t, e, bellman.Task{Queue: "q", StartAt: due, Endpoint: fmt.Sprint(i % 20)})
				}
				time.Sleep(time.Until(due.Add(-time.Second)))
				const hangs = time.Minute
				store.takes.Store(int64(hangs))
				time.Sleep(hangs) // the first commit of outcomes is still running
				store.takes.Store(0)
				mu.Lock()
				n, last := len(begun), begun[len(begun)-1].Sub(due)
				mu.Unlock()
				if most := (8192/2 + 2048 + 512) / fewer; n > most || last > 1500*time.Millisecond {
					t.Errorf("%d attempts while a commit hung, the last after %v; want at most %d, and none after 1.5s", n, last, most)
				}
				time.Sleep(10 * time.Minute)
				mu.Lock()
				defer mu.Unlock()
				for id, times := range made {
					if times != 1 {
						t.Errorf("task %s was attempted %d times; want once", id, times)
					}
				}
				if len(made) != tasks {
					t.Errorf("%d of %d tasks were attempted; want all", len(made), tasks)
				}
				if next := begun[n].Sub(due); next > hangs+200*time.Millisecond {
					t.Errorf("attempts went on %v after the first; want it when the commit returned, after %v", next, hangs)
				}
			})
		})
	}
}

// If few outcomes wait, no attempt starts either after a commit has run for a second.
func TestHangingCommitStopsFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &stuck{Store: memory.New()}
		r := &receiver{answer: accept}
		e, stop := run(t, store, engine.Queue{Name: "q", Handler: r})
		defer stop()
		began := time.Now()
		for i := range 100 {
			add(t, e, &bellman.Task{Queue: "q", Delay: time.Duration(i) * 500 * time.Millisecond})
		}
		time.Sleep(10 * time.Second)
		const hangs = 30 * time.Second
		store.takes.Store(int64(hangs))
		time.Sleep(hangs)
		store.takes.Store(0)
		late := 0
		for _, at := range r.times() {
			if after := at.Sub(began); after > 12*time.Second && after < 10*time.Second+hangs {
				late++
			}
		}
		if late > 0 {
			t.Errorf("%d attempts began while a commit had hung for more than a second; want none", late)
		}
		time.Sleep(time.Minute)
		if n := len(r.times()); n != 100 {
			t.Errorf("%d attempts of 100 tasks; want one for each task", n)
		}
	})
}

// A stop ends in time although the store rejects all commits, or only those of outcomes, and
// outcomes wait for room.
func TestStopWithFullLane(t *testing.T) {
	for _, dead := range []bool{false, true} {
		t.Run(fmt.Sprintf("takes nothing: %t", dead), func(t *testing.T) { stopWithFullLane(t, dead) })
	}
}

func stopWithFullLane(t *testing.T, dead bool) {
	synctest.Test(t, func(t *testing.T) {
		store := &stuck{Store: memory.New()}
		const stopTimeout = 8 * time.Second
		e, err := engine.New(engine.Options{Store: store, Logger: slog.New(slog.DiscardHandler), StopTimeout: stopTimeout,
			Limits: engine.Limits{Uncommitted: 20, Batch: 5},
			Queues: []engine.Queue{{Name: "q", Handler: bellman.HandlerFunc(func(context.Context, *bellman.Task, int) bellman.Verdict {
				time.Sleep(500 * time.Millisecond)
				return bellman.Verdict{Next: bellman.Succeed}
			})}}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- e.Run(ctx) }()
		for i := range max(20/fewer, 5) {
			add100(t, e, bellman.Task{Queue: "q", Delay: 5 * time.Second, Endpoint: fmt.Sprint(i)})
		}
		store.fails.Store(true)
		store.dead.Store(dead)
		time.Sleep(20 * time.Second)
		began := time.Now()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > stopTimeout+2*time.Second {
			t.Errorf("the stop took %v; want little more than %v", took, stopTimeout)
		}
	})
}

// A silent store answers until it falls silent. From then on no commit returns before the test
// ends, whatever its context says.
type silent struct {
	*memory.Store
	quiet atomic.Bool
	over  chan struct{}
}

func (s *silent) Commit(ctx context.Context, b *store.Batch) error {
	if s.quiet.Load() {
		<-s.over
	}
	return s.Store.Commit(ctx, b)
}

// A stop ends with an error although a commit never returns.
func TestStopBesideCommitThatNeverReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &silent{Store: memory.New(), over: make(chan struct{})}
		const stopTimeout = 8 * time.Second
		e, err := engine.New(engine.Options{Store: db, Logger: slog.New(slog.DiscardHandler), StopTimeout: stopTimeout,
			Queues: []engine.Queue{{Name: "q", Handler: bellman.HandlerFunc(func(context.Context, *bellman.Task, int) bellman.Verdict {
				return bellman.Verdict{Next: bellman.Succeed}
			})}}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- e.Run(ctx) }()
		add100(t, e, bellman.Task{Queue: "q", Delay: 5 * time.Second})
		db.quiet.Store(true)
		time.Sleep(20 * time.Second)
		began := time.Now()
		cancel()
		select {
		case err := <-ended:
			if err == nil || !strings.Contains(err.Error(), "has not returned") {
				t.Errorf("Run: %v; want an error that names a call which has not returned", err)
			}
			if took := time.Since(began); took > stopTimeout+21*time.Second {
				t.Errorf("the stop took %v; want it to end within its time limit", took)
			}
		case <-time.After(10 * time.Minute):
			t.Error("Run has not returned after ten minutes")
		}
		close(db.over)
		synctest.Wait()
	})
}
