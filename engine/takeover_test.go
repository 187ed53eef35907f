package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// A mortal store belongs to one process that can die. After the death it writes nothing more, and
// its content stays as it was.
type mortal struct {
	*memory.Store
	dead chan struct{}
}

func (s *mortal) Commit(ctx context.Context, b *store.Batch) error {
	select {
	case <-s.dead:
		return bellman.ErrClosed
	default:
		return s.Store.Commit(ctx, b)
	}
}

func (s *mortal) under() store.Store {
	select {
	case <-s.dead:
		return nil
	default:
		return s.Store
	}
}

func (s *mortal) Leave(context.Context, string) error { return nil } // a dead node does not sign off

// A task kills its node: each time it is attempted, the node dies before the outcome is recorded.
// The attempts are logged as unknown. After a few of them the task is quarantined, and other tasks
// go on.
func TestKiller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := memory.New()
		var killer bellman.ID
		kills := 0
		life := func(f func(e *engine.Engine)) {
			store := &mortal{kept, make(chan struct{})}
			e, stop := run(t, store, engine.Queue{Name: "q", Schedule: "0s, 1h*", Handler: bellman.HandlerFunc(
				func(_ context.Context, task *bellman.Task, _ int) bellman.Verdict {
					if string(task.Body) == "kill" {
						kills++
						close(store.dead)
						return bellman.Verdict{}
					}
					return bellman.Verdict{Next: bellman.Succeed}
				})})
			if f != nil {
				f(e)
			}
			time.Sleep(time.Minute)
			stop()
			time.Sleep(time.Minute) // until the dead node's registration expires
		}
		life(func(e *engine.Engine) {
			killer = add(t, e, &bellman.Task{Queue: "q", Body: []byte("kill")})
		})
		for range 10 {
			life(nil)
		}
		if kills < 3 || kills > 6 {
			t.Errorf("the task killed its node %d times in 22 minutes; want a few", kills)
		}
		unknown := 0
		for _, a := range attempts(t, kept, killer) {
			if a.Result == bellman.Unknown && a.Trigger == bellman.ByTakeover {
				unknown++
			}
		}
		if unknown < 2 {
			t.Errorf("%d unknown attempts in the log; want one for each death except the first and the last: %+v", unknown, attempts(t, kept, killer))
		}
		var other bellman.ID
		life(func(e *engine.Engine) { other = add(t, e, &bellman.Task{Queue: "q"}) })
		if task := get(t, kept, other); task.State != bellman.Succeeded {
			t.Errorf("another task is %v; want succeeded", task.State)
		}
		if task := get(t, kept, killer); task.State != bellman.Pending {
			t.Errorf("the task is %v; want pending and quarantined", task.State)
		}
		before := kills
		time.Sleep(time.Until(get(t, kept, killer).VisibleAt) - 2*time.Minute)
		life(func(e *engine.Engine) { // the end of a pause does not bring it back either
			task := get(t, kept, killer)
			if task.Phase != bellman.Quarantined {
				t.Errorf("the task is %v until %v; want it in quarantine", task.Phase, task.VisibleAt)
			}
			if err := e.PauseQueue(t.Context(), "q", by); err != nil {
				t.Fatal(err)
			}
			if err := e.ResumeQueue(t.Context(), "q", by); err != nil {
				t.Fatal(err)
			}
		})
		if kills > before {
			t.Error("the end of a pause brought back a quarantined task")
		}
		time.Sleep(24 * time.Hour)
		life(nil)
		if kills == before {
			t.Error("the task was not attempted again after its quarantine")
		}
	})
}

// Two attempts that an orderly stop cut off and two deaths in a row do not count as three deaths,
// so the task is not quarantined. The log entry of a lost attempt names the node that died.
func TestCutOffIsNoDeath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := memory.New()
		var id bellman.ID
		life := func(process string, s store.Store, attempt func(ctx context.Context) bellman.Verdict) {
			e, stop := runWith(t, engine.Options{Store: s, Process: process, StopTimeout: time.Second, Queues: []engine.Queue{{
				Name: "q", Schedule: "0s, 1h*", Timeout: 5 * time.Minute,
				Handler: bellman.HandlerFunc(func(ctx context.Context, _ *bellman.Task, _ int) bellman.Verdict { return attempt(ctx) }),
			}}})
			if id.IsZero() {
				id = add(t, e, &bellman.Task{Queue: "q"})
			}
			time.Sleep(time.Minute)
			stop()
			time.Sleep(time.Minute) // until the dead node's registration expires
		}
		for _, process := range []string{"1", "2"} {
			life(process, kept, func(ctx context.Context) bellman.Verdict {
				<-ctx.Done()
				return bellman.Verdict{}
			})
		}
		for _, process := range []string{"3", "4"} {
			dying := &mortal{kept, make(chan struct{})}
			life(process, dying, func(context.Context) bellman.Verdict {
				close(dying.dead)
				return bellman.Verdict{}
			})
		}
		life("5", kept, func(context.Context) bellman.Verdict { return bellman.Verdict{Next: bellman.Succeed} })
		if task := get(t, kept, id); task.State != bellman.Succeeded {
			t.Errorf("after two stops and two deaths the task is %v, %v; want succeeded", task.State, task.Phase)
		}
		log := attempts(t, kept, id)
		want := []string{"n/1", "n/2", "n/4", "n/5"} // the first death is not logged
		if len(log) != len(want) {
			t.Fatalf("%d attempts in the log; want %d: %+v", len(log), len(want), log)
		}
		for i, a := range log {
			if a.Node != want[i] || (a.Result == bellman.Unknown) != (i < 3) {
				t.Errorf("attempt %d: %v at %s; want it at %s", a.Number, a.Result, a.Node, want[i])
			}
		}
	})
}

// A task that was due when the last owner died is attempted at once, and its log says that it was
// resumed. A task that was due at an orderly stop is attempted as usual.
func TestTakeover(t *testing.T) {
	for _, died := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			kept := memory.New()
			db := &mortal{kept, make(chan struct{})}
			q := engine.Queue{Name: "q", Handler: &receiver{answer: accept}}
			var first store.Store = db
			if !died {
				first = kept
			}
			e, stop := run(t, first, q)
			id := add(t, e, &bellman.Task{Queue: "q", Delay: time.Minute})
			close(db.dead)
			stop()
			time.Sleep(2 * time.Minute)
			e, stop = run(t, kept, q)
			time.Sleep(time.Second)
			if r, ok := e.Resumed(); !ok || r.Crashed != died || r.Pending != 1 || r.Due != 1 {
				t.Errorf("died %t: Resumed = %+v, %t; want 1 pending, 1 due", died, r, ok)
			}
			f, err := e.Figures(t.Context(), figures.Ask{Minutes: 5})
			if err != nil {
				t.Fatal(err)
			}
			var claimed int64
			for _, m := range f.Minutes {
				claimed += m.Claimed
			}
			if died != (claimed > 0) {
				t.Errorf("died %t: %d shards count as taken over", died, claimed)
			}
			stop()
			want := bellman.BySchedule
			if died {
				want = bellman.ByTakeover
			}
			log := attempts(t, kept, id)
			if len(log) != 1 || log[0].Trigger != want || log[0].Lateness() != time.Minute {
				t.Errorf("died %t: %+v; want one attempt by %v, a minute late", died, log, want)
			}
		})
	}
}

// shelf returns the VisibleAt of a line's deferred tasks.
func shelf(queue, endpoint string) time.Time {
	return time.UnixMilli(1<<52 | int64(store.LineOf(queue, endpoint))&(1<<52-1)).UTC()
}

// A task was deferred, and its attempt is announced because its last owner died. The next owner
// does not take it for a task that is handed over in flight.
func TestAnnouncedIsNotHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := memory.New()
		db := &mortal{kept, make(chan struct{})}
		var during atomic.Pointer[bellman.Task]
		q := engine.Queue{Name: "q", Handler: bellman.HandlerFunc(func(_ context.Context, task *bellman.Task, _ int) bellman.Verdict {
			during.Store(get(t, kept, task.ID))
			return bellman.Verdict{Next: bellman.Succeed}
		})}
		e, stop := run(t, db, q)
		id := add(t, e, &bellman.Task{Queue: "q", Delay: time.Minute})
		close(db.dead)
		stop()
		time.Sleep(2 * time.Minute)
		to := get(t, kept, id).Status
		to.VisibleAt, to.Phase = shelf("q", ""), bellman.Deferred
		if err := kept.Commit(t.Context(), &store.Batch{Changes: []store.Change{{ID: id, Version: to.Version, To: to}}}); err != nil {
			t.Fatal(err)
		}
		_, stop = run(t, kept, q)
		defer stop()
		time.Sleep(time.Second)
		seen := during.Load()
		if seen == nil || seen.Phase != bellman.Announced || seen.VisibleAt.After(time.Now()) {
			t.Errorf("during its attempt the task is %+v; want the phase announced, and a VisibleAt that is not in the future", seen)
		}
	})
}

// An announced attempt was lost in a death. The task is attempted when its turn comes, and the lost
// attempt is logged. The node does not take it for an attempt that another node is making.
func TestLostAttemptIsNotAnnounced(t *testing.T) {
	announce := func(t *testing.T, db store.Store, id bellman.ID) {
		task := get(t, db, id)
		to := task.Status
		to.Phase = bellman.Announced
		if err := db.Commit(t.Context(), &store.Batch{Changes: []store.Change{{ID: id, Version: to.Version, To: to}}}); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		kept := memory.New()
		q := engine.Queue{Name: "q", Handler: bellman.HandlerFunc(func(_ context.Context, task *bellman.Task, _ int) bellman.Verdict {
			if task.Key == "first" {
				time.Sleep(5 * time.Second)
			}
			return bellman.Verdict{Next: bellman.Succeed}
		})}
		store := &mortal{kept, make(chan struct{})}
		e, stop := run(t, store, q)
		add(t, e, &bellman.Task{Queue: "q", Key: "first", OrderingKey: "k", Delay: time.Minute})
		id := add(t, e, &bellman.Task{Queue: "q", OrderingKey: "k", Delay: time.Minute})
		close(store.dead)
		stop()
		announce(t, kept, id)
		time.Sleep(2 * time.Minute)
		_, stop = run(t, kept, q)
		defer stop()
		turn := time.Now().Add(5 * time.Second)
		time.Sleep(10 * time.Minute)
		log := attempts(t, kept, id)
		if len(log) != 2 || log[0].Result != bellman.Unknown || log[1].Started.Sub(turn).Abs() > time.Second {
			t.Errorf("attempts: %+v; want the lost one, and one at its turn, %v", log, turn)
		}
	})
}
