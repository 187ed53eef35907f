package engine_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/schedule"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// A handler calls runtime.Goexit, as FailNow of a test does. That fails the attempt alone, and
// costs no slot.
func TestHandlerEndsItsGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := memory.New()
		r := &receiver{answer: func(_ *bellman.Task, number int) bellman.Verdict {
			if number < 3 {
				runtime.Goexit()
			}
			return bellman.Verdict{Next: bellman.Succeed}
		}}
		e, stop := run(t, kept, engine.Queue{Name: "q", Handler: r, Schedule: "0s, 1s, 1s", Concurrency: 1})
		defer stop()
		var ids []bellman.ID
		for range 3 {
			ids = append(ids, add(t, e, &bellman.Task{Queue: "q"}))
		}
		time.Sleep(time.Minute)
		for _, id := range ids {
			log := attempts(t, kept, id)
			if len(log) != 3 || log[0].Result != bellman.Refused || log[0].Error == "" || log[2].Result != bellman.Accepted {
				t.Errorf("attempts %+v; want two refused, and then one accepted", log)
			}
		}
	})
}

// A handler returns a result that does not exist, for example an HTTP status. The attempt is
// refused, and the node goes on.
func TestResultThatDoesNotExist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := memory.New()
		r := &receiver{answer: func(_ *bellman.Task, number int) bellman.Verdict {
			return bellman.Verdict{Result: bellman.Result(200 - number), Next: bellman.Next(number / 2)}
		}}
		e, stop := run(t, kept, engine.Queue{Name: "q", Handler: r, Schedule: "0s, 1s"})
		defer stop()
		id := add(t, e, &bellman.Task{Queue: "q"})
		time.Sleep(time.Minute)
		log := attempts(t, kept, id)
		if len(log) != 2 || log[0].Result != bellman.Refused || log[1].Result != bellman.Accepted || get(t, kept, id).State != bellman.Succeeded {
			t.Errorf("attempts %+v; want one refused, then one accepted", log)
		}
	})
}

// A handler gives a due time in milliseconds where seconds are wanted, or the end of all times. The
// task is due in ten years at most: a later time has no form in JSON, and the store may take it for
// something else.
func TestDueBeyondTenYears(t *testing.T) {
	for name, due := range map[string]time.Time{
		"milliseconds as seconds": time.Unix(1_795_820_645_123, 0),
		"in the year 150000":      time.Date(150_000, 1, 1, 0, 0, 0, 0, time.UTC),
		"at the end of all times": time.Unix(1<<62, 0),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kept, start := memory.New(), time.Now()
				again := bellman.Verdict{Due: due}
				e, stop := run(t, kept, engine.Queue{Name: "q", Handler: life{
					attempt:  func(*bellman.Task, int) bellman.Verdict { return again },
					complete: func(*bellman.Task, string) (bellman.Verdict, error) { return again, nil },
				}})
				defer stop()
				attempted := add(t, e, &bellman.Task{Queue: "q"})
				completed := add(t, e, &bellman.Task{Queue: "q", Delay: time.Hour})
				if _, err := e.Complete(t.Context(), completed, bellman.Completion{}, by); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				for _, id := range []bellman.ID{attempted, completed} {
					task := get(t, kept, id)
					if ahead := task.Due.Sub(start); ahead < schedule.MaxDuration-time.Second || ahead > schedule.MaxDuration+time.Second || !task.VisibleAt.Equal(task.Due) {
						t.Errorf("due %v, visible %v; want both in ten years", task.Due, task.VisibleAt)
					}
				}
			})
		})
	}
}

// A guide is a handler that knows the rules of merchants.
type guide struct {
	*receiver
	route func() bellman.Route
}

func (g guide) Route(context.Context, *bellman.Task) (bellman.Route, error) { return g.route(), nil }

// A gauge is a handler that knows the rates of endpoints.
type gauge struct {
	*receiver
	rate func() float64
}

func (gauge) Limits() bool { return true }

func (g gauge) RateOf(context.Context, string) (float64, error) { return g.rate(), nil }

// A handler panics when it is asked for the rules of a merchant, or for the rate of an endpoint. It
// does so outside of attempts, so no quarantine would help. The task and its queue have rules.
func TestRulesThatPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{answer: accept}
		var broken atomic.Bool
		kept := memory.New()
		e, stop := run(t, kept,
			engine.Queue{Name: "routed", Handler: guide{r, func() bellman.Route {
				if broken.Load() {
					panic("no such merchant")
				}
				return bellman.Route{}
			}}},
			engine.Queue{Name: "rated", Handler: gauge{r, func() float64 {
				if broken.Load() {
					panic("no such account")
				}
				return 0
			}}})
		defer stop()
		later := []bellman.ID{add(t, e, &bellman.Task{Queue: "routed", MerchantNo: "M1", Delay: time.Hour}), add(t, e, &bellman.Task{Queue: "rated", Endpoint: "a", Delay: time.Hour})}
		broken.Store(true)
		later = append(later, add(t, e, &bellman.Task{Queue: "routed", MerchantNo: "M2"}), add(t, e, &bellman.Task{Queue: "rated", Endpoint: "b"}))
		time.Sleep(2 * time.Hour)
		for _, id := range later {
			if task := get(t, kept, id); task.State != bellman.Succeeded {
				t.Errorf("a task of queue %s is %v; want succeeded", task.Queue, task.State)
			}
		}
	})
}

// The schedule of a merchant becomes unreadable while a task waits. The task goes on with the
// schedule that it has: it does not fail.
func TestMerchantsScheduleCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{answer: func(_ *bellman.Task, number int) bellman.Verdict {
			return bellman.Verdict{Next: bellman.Next(number / 3)}
		}}
		var wrong atomic.Bool
		kept := memory.New()
		e, stop := run(t, kept, engine.Queue{Name: "q", Handler: guide{r, func() bellman.Route {
			if wrong.Load() {
				return bellman.Route{Schedule: "10 seconds"}
			}
			return bellman.Route{Schedule: "0s, 10s, 10s"}
		}}})
		defer stop()
		start := time.Now()
		id := add(t, e, &bellman.Task{Queue: "q", MerchantNo: "M1", Delay: time.Minute})
		wrong.Store(true)
		time.Sleep(time.Hour)
		got := r.times()
		if task := get(t, kept, id); len(got) != 3 || got[2].Sub(start) != 80*time.Second || task.State != bellman.Succeeded {
			t.Errorf("%d attempts, and the task is %v, %s; want 3 in 80s, and succeeded", len(got), task.State, task.Reason)
		}
	})
}

// A handler returns the same follow-up for all tasks. It belongs to the key that created the task
// of the attempt.
func TestFollowUpsThatAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := memory.New()
		follow := []bellman.Task{{Queue: "told"}}
		e, stop := run(t, kept, engine.Queue{Name: "q", Handler: &receiver{answer: always(bellman.Verdict{Next: bellman.Succeed, Follow: follow})}},
			engine.Queue{Name: "told", Handler: &receiver{answer: accept}})
		defer stop()
		var created []string
		for _, who := range []string{"shop", "refunds"} {
			task := &bellman.Task{Queue: "q"}
			task.SetCreatedBy(who)
			add(t, e, task)
			time.Sleep(time.Second)
			told, _, err := kept.List(t.Context(), store.Filter{Queue: "told"}, bellman.ID{}, 1)
			if err != nil || len(told) != 1 {
				t.Fatalf("List() = %v, %v; want the follow-up", told, err)
			}
			created = append(created, told[0].CreatedBy())
		}
		if created[0] != "shop" || created[1] != "refunds" || follow[0].CreatedBy() != "" {
			t.Errorf("follow-ups created by %q, and the handler's by %q; want those of their tasks, and the handler's as it was", created, follow[0].CreatedBy())
		}
	})
}

// A heavy store has much data of its handler with each task.
type heavy struct {
	*memory.Store
	data   []byte
	loaded atomic.Int64
	most   atomic.Int64 // bytes of data in one commit
}

func (s *heavy) Load(ctx context.Context, entries []store.Entry) ([]*bellman.Task, error) {
	tasks, err := s.Store.Load(ctx, entries)
	for _, t := range tasks {
		if t != nil {
			t.Data = s.data
			s.loaded.Add(1)
		}
	}
	return tasks, err
}

func (s *heavy) Commit(ctx context.Context, b *store.Batch) error {
	var bytes int64
	light := *b
	light.Changes = append([]store.Change(nil), b.Changes...)
	for i := range light.Changes {
		c := &light.Changes[i]
		bytes += int64(len(c.To.Data))
		c.To.Data = nil // the test needs no copies
	}
	s.most.Store(max(s.most.Load(), bytes))
	err := s.Store.Commit(ctx, &light)
	copy(b.Changes, light.Changes)
	return err
}

// Data of handlers counts for the bounds of memory and of a transaction, as bodies do.
func TestHeavyData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, size = 600, 1 << 20
		kept := &heavy{Store: memory.New(), data: make([]byte, size)}
		free := make(chan struct{})
		e, stop := run(t, kept, engine.Queue{Name: "q", Concurrency: 1, Timeout: 10 * time.Minute, Handler: bellman.HandlerFunc(
			func(context.Context, *bellman.Task, int) bellman.Verdict {
				<-free
				return bellman.Verdict{Next: bellman.Succeed, Data: kept.data}
			})})
		defer stop()
		for range n {
			add(t, e, &bellman.Task{Queue: "q", Delay: time.Minute})
		}
		time.Sleep(2 * time.Minute)
		if got := kept.loaded.Load(); got > n/2 {
			t.Errorf("%d tasks of 1 MiB are in memory while one attempt is in flight; want fewer than half", got)
		}
		close(free)
		if err := e.SetQueues([]engine.Queue{{Name: "q", Handler: &receiver{answer: func(*bellman.Task, int) bellman.Verdict {
			time.Sleep(time.Second)
			return bellman.Verdict{Next: bellman.Succeed, Data: kept.data}
		}}}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if got := kept.most.Load(); got > 9<<20 {
			t.Errorf("a transaction of %d bytes; want 8 MiB or one task", got)
		}
		depths, err := kept.Depths(t.Context())
		if err != nil || len(depths) != 1 || depths[0].Succeeded != n {
			t.Errorf("Depths() = %+v, %v; want %d succeeded", depths, err, n)
		}
	})
}
