package engine_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
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

// A packed store rejects new tasks and accepts all other writes.
type packed struct {
	*memory.Store
	full  atomic.Bool
	whole bool // rejects a batch of adds as a whole, not each add
}

func (s *packed) Commit(ctx context.Context, b *store.Batch) error {
	if !s.full.Load() || len(b.Adds) == 0 {
		return s.Store.Commit(ctx, b)
	}
	rest := *b
	rest.Adds = nil
	if s.whole && len(b.Changes)+len(b.Docs)+len(b.Audits) == 0 {
		return bellman.ErrFull
	}
	if err := s.Store.Commit(ctx, &rest); err != nil {
		return err
	}
	for i := range b.Adds {
		b.Adds[i].Err = bellman.ErrFull
	}
	return nil
}

// The store has no room for new tasks. Existing tasks are attempted on time, and every action of an
// operator works, however many new tasks are rejected meanwhile.
func TestNoRoomForNewTasks(t *testing.T) {
	for name, whole := range map[string]bool{"said of each": false, "said of all": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &packed{Store: memory.New(), whole: whole}
				var mu sync.Mutex
				var made int
				var late time.Duration
				q := engine.Queue{Name: "q", Schedule: "1s*100", Handler: bellman.HandlerFunc(func(_ context.Context, task *bellman.Task, _ int) bellman.Verdict {
					mu.Lock()
					defer mu.Unlock()
					made++
					late = max(late, time.Since(task.Due))
					return bellman.Verdict{}
				})}
				var log strings.Builder
				e, stop := runWith(t, engine.Options{Store: store, Queues: []engine.Queue{q, {Name: "q2", Handler: q.Handler}}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
				defer func() {
					stop()
					if text := log.String(); strings.Count(text, "the store is full: new tasks are rejected") != 1 || strings.Count(text, "the store is no longer full") != 1 || strings.Contains(text, "commit failed") {
						t.Errorf("the log has not the begin and the end of the lack of room, once each: %s", text)
					}
				}()
				var ids []bellman.ID
				for range 10 {
					ids = append(ids, add(t, e, &bellman.Task{Queue: "q"}))
				}
				store.full.Store(true)
				ctx, cancel := context.WithCancel(t.Context())
				var adding sync.WaitGroup
				adding.Go(func() {
					for ctx.Err() == nil {
						if a := e.Add(t.Context(), &bellman.Task{Queue: "q"})[0]; !errors.Is(a.Err, bellman.ErrFull) {
							t.Errorf("Add: %v; want ErrFull", a.Err)
						}
						time.Sleep(10 * time.Millisecond)
					}
				})
				for range 30 {
					time.Sleep(time.Second + 3*time.Millisecond)
					if err, full := e.Ready(t.Context()), e.Intake().Full; err != nil || full.IsZero() || time.Since(full) > time.Minute {
						t.Errorf("Ready: %v, full since %v; want nil, and full since the first rejection", err, full)
					}
					if err := e.PauseQueue(t.Context(), "q2", by); err != nil {
						t.Errorf("PauseQueue: %v", err)
					}
					if err := e.ResumeQueue(t.Context(), "q2", by); err != nil {
						t.Errorf("ResumeQueue: %v", err)
					}
					if _, err := e.Resend(t.Context(), ids[1], engine.ResendOnce, by); err != nil {
						t.Errorf("Resend: %v", err)
					}
					if _, err := e.Reschedule(t.Context(), ids[2], time.Now().Add(500*time.Millisecond), by); err != nil {
						t.Errorf("Reschedule: %v", err)
					}
					if settled, _ := e.Settle(t.Context(), by, ids[3]); settled[0].Err != nil {
						t.Errorf("Settle: %v", settled[0].Err)
					}
				}
				if _, err := e.Cancel(t.Context(), ids[0], by); err != nil {
					t.Errorf("Cancel: %v", err)
				}
				cancel()
				adding.Wait()
				for _, full := range []bool{false, true, false} { // nearly full
					store.full.Store(full)
					e.Add(t.Context(), &bellman.Task{Queue: "q"})
				}
				time.Sleep(2 * time.Minute)
				add(t, e, &bellman.Task{Queue: "q"})
				if full := e.Intake().Full; !full.IsZero() {
					t.Errorf("full since %v after the store has accepted a task; want it over", full)
				}
				mu.Lock()
				defer mu.Unlock()
				if late > 50*time.Millisecond || made < 300 {
					t.Errorf("%d attempts, the latest %v late; want at least 300, and at most 50ms", made, late)
				}
			})
		})
	}
}

// A locked store delays or rejects new tasks. A database does so while another transaction holds a
// row with the same key.
type locked struct {
	*memory.Store
	takes atomic.Int64 // time.Duration
	fails atomic.Bool
}

func (s *locked) Commit(ctx context.Context, b *store.Batch) error {
	if len(b.Adds) > 0 {
		time.Sleep(time.Duration(s.takes.Load()))
		if s.fails.Load() {
			return errors.New("no new rows")
		}
	}
	return s.Store.Commit(ctx, b)
}

// New tasks that the store delays or rejects do not delay any attempt.
func TestSlowIntake(t *testing.T) {
	for name, fails := range map[string]bool{"slow": false, "slow, and fails": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := &locked{Store: memory.New()}
				l := newLedger()
				q := l.queue("n", time.Millisecond)
				e, stop := run(t, db, q)
				defer stop()
				for range 10 {
					add(t, e, &bellman.Task{Queue: "q", Repeat: "1s"})
				}
				db.takes.Store(int64(20 * time.Second))
				db.fails.Store(fails)
				for range 10 {
					go e.Add(context.Background(), &bellman.Task{Queue: "q", Delay: time.Hour})
				}
				time.Sleep(time.Minute)
				db.takes.Store(0)
				l.mu.Lock()
				made := 0
				for _, times := range l.times {
					made += len(times)
				}
				late := l.late
				l.mu.Unlock()
				if made < 550 || late > 50*time.Millisecond {
					t.Errorf("%d attempts in a minute, the latest %v late; want about 600, on time", made, late)
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

// A lateAnswer store writes requested changes at once and returns from the call later. Outcomes of
// attempts are not delayed.
type lateAnswer struct {
	*memory.Store
	takes atomic.Int64 // time.Duration
}

func (s *lateAnswer) Commit(ctx context.Context, b *store.Batch) error {
	err := s.Store.Commit(ctx, b)
	asked := len(b.Adds) > 0 || slices.ContainsFunc(b.Changes, func(c store.Change) bool { return c.Attempt == nil })
	if asked {
		time.Sleep(time.Duration(s.takes.Load()))
	}
	return err
}

// A task is added, resent or rescheduled, and the loader finds and attempts it before the call
// returns. It is not attempted a second time.
func TestAttemptBeforeAnswer(t *testing.T) {
	tests := map[string]struct {
		ask func(e *engine.Engine, id bellman.ID) error
	}{
		"added": {ask: func(e *engine.Engine, _ bellman.ID) error {
			return e.Add(context.Background(), &bellman.Task{Queue: "q"})[0].Err
		}},
		"added, and goes on": {ask: func(e *engine.Engine, _ bellman.ID) error {
			return e.Add(context.Background(), &bellman.Task{Queue: "q", Repeat: "1h"})[0].Err
		}},
		"sent again": {ask: func(e *engine.Engine, id bellman.ID) error {
			_, err := e.Resend(context.Background(), id, engine.ResendOnce, by)
			return err
		}},
		"moved to now": {ask: func(e *engine.Engine, id bellman.ID) error {
			_, err := e.Reschedule(context.Background(), id, time.Now(), by)
			return err
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := &lateAnswer{Store: memory.New()}
				r := &receiver{answer: refuse}
				e, stop := run(t, db, engine.Queue{Name: "q", Handler: r, Schedule: "0s, 20m"})
				defer stop()
				const times = 10 // often enough that the loader comes in between at least once
				for range times {
					id := add(t, e, &bellman.Task{Queue: "q", Delay: time.Hour})
					time.Sleep(10*time.Second + 100*time.Millisecond)
					db.takes.Store(int64(900 * time.Millisecond)) // with a longer delay the store would be read again before the attempt
					if err := tt.ask(e, id); err != nil {
						t.Fatal(err)
					}
					db.takes.Store(0)
				}
				time.Sleep(10 * time.Minute)
				if n := len(r.times()); n != times {
					t.Errorf("%d attempts of %d tasks; want one for each task", n, times)
				}
				time.Sleep(3 * time.Hour / fewer)
			})
		})
	}
}
