package engine_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// settle settles one task with do and waits for at most ten seconds.
func settle(t *testing.T, do func(context.Context, ...bellman.ID) ([]engine.Settled, error), id bellman.ID) engine.Settled {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	got, err := do(ctx, id)
	if err != nil || len(got) != 1 || got[0].ID != id {
		t.Fatalf("Settle = %+v, %v; want the one task", got, err)
	}
	return got[0]
}

// byHand returns Settle with the tests' operator.
func byHand(e *engine.Engine) func(context.Context, ...bellman.ID) ([]engine.Settled, error) {
	return func(ctx context.Context, ids ...bellman.ID) ([]engine.Settled, error) {
		return e.Settle(ctx, by, ids...)
	}
}

// A task is settled at different moments of its life. Its attempts take a second, and its schedule
// is 10 s, 20 s, 30 s.
func TestSettle(t *testing.T) {
	const answered = time.Second
	const bySettle = bellman.BySettle
	tests := []struct {
		name     string
		at       time.Duration // time of the call after the task was added
		after    time.Duration // how long the call took
		err      error
		attempts []time.Duration // times of all attempts in the end
		triggers []bellman.Trigger
		overdue  bool // whether SettleOverdue is called
	}{
		{"before it is due", 5 * time.Second, answered, nil,
			[]time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 30 * time.Second}, []bellman.Trigger{bySettle, 0, 0, 0}, false},
		{"in flight", 10*time.Second + 300*time.Millisecond, answered - 300*time.Millisecond, nil,
			[]time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second}, []bellman.Trigger{0, 0, 0}, false},
		{"ended", time.Minute, answered, nil,
			[]time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second, time.Minute}, []bellman.Trigger{0, 0, 0, bySettle}, false},
		{"only if overdue, before it is due", 5 * time.Second, 0, nil,
			[]time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second}, []bellman.Trigger{0, 0, 0}, true},
		{"only if overdue, in flight", 10*time.Second + 300*time.Millisecond, answered - 300*time.Millisecond, nil,
			[]time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second}, []bellman.Trigger{0, 0, 0}, true},
		{"only if overdue, ended", time.Minute, 0, nil,
			[]time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second}, []bellman.Trigger{0, 0, 0}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := memory.New()
				r := &receiver{answer: func(*bellman.Task, int) bellman.Verdict {
					time.Sleep(answered)
					return bellman.Verdict{}
				}}
				e, stop := run(t, db, engine.Queue{Name: "q", Handler: r, Schedule: "10s*3"})
				defer stop()
				start := time.Now()
				id := add(t, e, &bellman.Task{Queue: "q"})
				time.Sleep(tt.at)
				do := byHand(e)
				if tt.overdue {
					do = e.SettleOverdue
				}
				asked := time.Now()
				got := settle(t, do, id)
				if took := time.Since(asked); took != tt.after || !errors.Is(got.Err, tt.err) {
					t.Errorf("Settle returned %v after %v; want %v after %v", got.Err, took, tt.err, tt.after)
				}
				if now := get(t, db, id); got.Task == nil || got.Task.Version != now.Version {
					t.Errorf("Settle returned %+v; want the stored task, %+v", got.Task, now)
				}
				audits, err := db.Audits(t.Context(), time.Time{}, 10)
				if err != nil {
					t.Fatal(err)
				}
				want := []store.Audit{{At: asked.Truncate(time.Millisecond), Who: by.Who, Action: "settle", Target: id.String(), Reason: by.Reason}}
				if tt.overdue {
					want = nil
				}
				if !slices.EqualFunc(audits, want, func(a, b store.Audit) bool {
					a.At = a.At.Local()
					b.At = b.At.Local()
					return reflect.DeepEqual(a, b)
				}) {
					t.Errorf("audit records %+v; want %+v", audits, want)
				}
				time.Sleep(2 * time.Minute)
				log := attempts(t, db, id)
				var made []time.Duration
				for _, a := range log {
					made = append(made, a.Started.Sub(start))
				}
				if !slices.Equal(made, tt.attempts) || !slices.Equal(triggers(log), tt.triggers) {
					t.Errorf("attempts at %v, triggers %v; want %v, %v", made, triggers(log), tt.attempts, tt.triggers)
				}
				if task := get(t, db, id); task.State != bellman.Failed || task.Reason != "attempts_used_up" || task.Before != nil {
					t.Errorf("in the end %v, %q; want failed, attempts_used_up", task.State, task.Reason)
				}
			})
		})
	}
}

// Settling makes the scheduled attempt of a task before all others of its slow line. This holds
// also for a task that has no room in the line.
func TestSettleGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		r := &receiver{answer: func(*bellman.Task, int) bellman.Verdict {
			time.Sleep(time.Second)
			return bellman.Verdict{Next: bellman.Succeed}
		}}
		e, stop := runWith(t, engine.Options{Store: store, Limits: sized, Queues: []engine.Queue{{Name: "q", Handler: r, Concurrency: 10 / fewer}}})
		defer stop()
		var ids []bellman.ID
		for range 6000 / fewer { // more than a line holds
			ids = append(ids, add(t, e, &bellman.Task{Queue: "q"}))
		}
		time.Sleep(30 * time.Second) // a twentieth of the tasks were attempted, and the last ones are deferred
		for _, id := range []bellman.ID{ids[2000/fewer], ids[5900/fewer]} {
			asked := time.Now()
			got := settle(t, e.SettleOverdue, id)
			if took := time.Since(asked); got.Err != nil || took > 2*time.Second+100*time.Millisecond || got.Task.State != bellman.Succeeded {
				t.Errorf("settled as %v, %v after %v; want succeeded as soon as a slot was free", got.Task.State, got.Err, took)
			}
			if log := attempts(t, store, id); len(log) != 1 || log[0].Trigger != bellman.BySettle || log[0].Lateness() < 29*time.Second {
				t.Errorf("log %+v; want one attempt, whose lateness counts from the due time", log)
			}
		}
		time.Sleep(max(time.Hour/fewer, 15*time.Minute))
		if n := len(r.times()); n != len(ids) {
			t.Errorf("%d attempts of %d tasks; want one for each task", n, len(ids))
		}
	})
}

// If the caller's time is over, Settle names the tasks that are still open. Their attempts are made
// all the same.
func TestSettleWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		q := engine.Queue{Name: "q", Handler: &receiver{answer: accept}}
		e, stop := run(t, store, q, engine.Queue{Name: "paused", Handler: q.Handler})
		defer stop()
		if err := e.PauseQueue(t.Context(), "paused", by); err != nil {
			t.Fatal(err)
		}
		waits := add(t, e, &bellman.Task{Queue: "paused", Delay: time.Hour})
		goes := add(t, e, &bellman.Task{Queue: "q", Delay: time.Hour})
		nobody := bellman.NewID()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		got, err := e.Settle(ctx, by, waits, nobody, goes, goes)
		if err != nil || len(got) != 4 {
			t.Fatalf("Settle = %+v, %v", got, err)
		}
		for i, want := range []error{bellman.ErrWaiting, bellman.ErrNotFound, nil, nil} {
			if !errors.Is(got[i].Err, want) || (got[i].Task == nil) != (want == bellman.ErrNotFound) {
				t.Errorf("task %d: %+v, %v; want %v", i, got[i].Task, got[i].Err, want)
			}
		}
		if !errors.Is(got[0].Err, context.DeadlineExceeded) {
			t.Errorf("error %v; want one that says that the time was over", got[0].Err)
		}
		if err := e.ResumeQueue(t.Context(), "paused", by); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if task := get(t, store, waits); task.State != bellman.Succeeded {
			t.Errorf("the task is %v after its queue was resumed; want succeeded", task.State)
		}
		var invalid *bellman.Invalid
		if _, err := e.Settle(t.Context(), by, make([]bellman.ID, 1001)...); !errors.As(err, &invalid) {
			t.Errorf("Settle of 1,001 tasks: %v; want an error", err)
		}
	})
}

// One call settles a thousand tasks.
func TestSettleMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{answer: func(*bellman.Task, int) bellman.Verdict {
			time.Sleep(5 * time.Millisecond)
			return bellman.Verdict{Next: bellman.Succeed, Reason: "paid"}
		}}
		e, stop := run(t, memory.New(), engine.Queue{Name: "q", Handler: r})
		defer stop()
		ids := make([]bellman.ID, 1000)
		for i := range ids {
			ids[i] = add(t, e, &bellman.Task{Queue: "q", Delay: time.Hour})
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		got, err := e.Settle(ctx, by, ids...)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range got {
			if s.ID != ids[i] || s.Err != nil || s.Task.Reason != "paid" {
				t.Fatalf("task %d: %+v, %v; want it paid", i, s.Task, s.Err)
			}
		}
	})
}
