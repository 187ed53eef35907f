package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
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

// A deferring store counts deferrals to a shelf.
type deferring struct {
	*memory.Store
	deferred atomic.Int64
}

func (s *deferring) Commit(ctx context.Context, b *store.Batch) error {
	for i := range b.Changes {
		if to := &b.Changes[i].To; to.Phase == bellman.Deferred && to.VisibleAt.Year() > 9999 {
			s.deferred.Add(1)
		}
	}
	return s.Store.Commit(ctx, b)
}

// An overload is a line that gets tasks faster than it may attempt them.
type overload struct {
	rate   float64 // of the endpoint
	young  bool    // young tasks go first
	paused bool    // the queue is paused while the first tasks are added
	first  int     // tasks at the beginning
	every  time.Duration
	crowd  int // tasks of another queue to the same endpoint, before all others
	fails  int // percent of the attempts
	lasts  time.Duration
}

// defers reports whether tasks are deferred. Unless they are paused, a quick line works off the
// tasks of small.Line within two seconds, and its other tasks wait in the loader and on disk.
func (o overload) defers() bool { return o.paused || o.rate <= 10 }

// run holds that no task waits while its line attempts an unbounded number of younger ones. Before
// the first attempt of a task, there are at most two attempts of younger tasks for each of an older
// one. Tasks that have a place in memory do not count.
func (o overload) run(t *testing.T) {
	inMemory := small.Line + small.Pending/4 // in the line, and as its share in the loader
	if !o.defers() {
		inMemory *= 2 // for each of these, a new task may have a place before the older ones on disk
	}
	var mu sync.Mutex
	var order []int // numbers of tasks, in the order of their attempts
	chance := rand.New(rand.NewPCG(1, 2))
	q := engine.Queue{Name: "q", EndpointRate: o.rate, YoungFirst: o.young, Schedule: "0s, 1s, 5s, 30s*10",
		Handler: bellman.HandlerFunc(func(_ context.Context, task *bellman.Task, _ int) bellman.Verdict {
			mu.Lock()
			defer mu.Unlock()
			if i, err := strconv.Atoi(task.Key); err == nil {
				order = append(order, i)
			}
			if chance.IntN(100) < o.fails {
				return bellman.Verdict{Result: bellman.Refused}
			}
			return bellman.Verdict{Next: bellman.Succeed}
		})}
	crowded := q
	crowded.Name = "crowded"
	db := &deferring{Store: memory.New()}
	e, stop := runSmall(t, db, q, crowded)
	defer stop()
	change := func(pause func(context.Context, string, bellman.By) error) {
		for _, q := range []string{"q", "crowded"} {
			if err := pause(t.Context(), q, by); err != nil && o.paused {
				t.Fatal(err)
			}
		}
	}
	if o.paused {
		change(e.PauseQueue)
	}
	addMany(t, e, o.crowd, func(i int) *bellman.Task {
		return &bellman.Task{Queue: "crowded", Endpoint: "http://a", Key: fmt.Sprint("crowd", i)}
	})
	added := 0
	add := func(n int) {
		addMany(t, e, n, func(int) *bellman.Task {
			added++
			return &bellman.Task{Queue: "q", Endpoint: "http://a", Key: strconv.Itoa(added - 1)}
		})
	}
	add(o.first)
	time.Sleep(time.Minute)
	if o.paused {
		change(e.ResumeQueue)
	}
	for end := time.Now().Add(o.lasts); time.Now().Before(end); time.Sleep(o.every) {
		add(1)
	}
	mu.Lock()
	defer mu.Unlock()
	if o.defers() && db.deferred.Load() < int64(o.first)/4 {
		t.Errorf("%d tasks were deferred; this test needs more", db.deferred.Load())
	}
	if n := db.deferred.Load(); !o.defers() && n > 0 {
		t.Errorf("%d tasks were deferred; the tasks of a quick line wait in the loader and on disk", n)
	}
	late, most := 0, 0
	for i := range added {
		older, younger := 0, 0
		for _, other := range order {
			if other == i {
				break
			}
			if other < i {
				older++
			} else {
				younger++
			}
		}
		most = max(most, younger-2*older)
		if younger > 2*older+inMemory {
			if late++; late < 5 {
				t.Errorf("%d attempts of younger tasks, and %d of older ones, before the first attempt of task %d", younger, older, i)
			}
		}
	}
	t.Logf("%+v: %d attempts, %d tasks, %d deferrals, %d too late; at most %d younger ones beside two for each older one",
		o, len(order), added, db.deferred.Load(), late, most)
}

func TestDeferredHaveTheirTurn(t *testing.T) {
	for name, o := range map[string]overload{
		"slow":               {rate: 0.25, first: 100, every: 3 * time.Second, lasts: 80 * time.Minute},
		"slow, many new":     {rate: 0.25, first: 100, every: 500 * time.Millisecond, lasts: 40 * time.Minute},
		"slow after a pause": {rate: 1, paused: true, first: 400, every: 900 * time.Millisecond, lasts: 30 * time.Minute},
		"quick":              {rate: 10, paused: true, first: 400, every: 80 * time.Millisecond, lasts: 4 * time.Minute},
		"very quick":         {rate: 200, paused: true, first: 1500, every: 4 * time.Millisecond, lasts: 10 * time.Second},
		"overloaded":         {rate: 1000, every: 800 * time.Microsecond, lasts: 10 * time.Second},
		"much overloaded":    {rate: 1000, young: true, every: 300 * time.Microsecond, fails: 30, lasts: 3 * time.Second},
		"beside a crowd":     {rate: 10, paused: true, first: 400, every: 150 * time.Millisecond, crowd: 2000, lasts: 4 * time.Minute},
		"young first":        {rate: 1, young: true, first: 200, every: 900 * time.Millisecond, fails: 30, lasts: 30 * time.Minute},
		"failing":            {rate: 1, first: 200, every: 900 * time.Millisecond, fails: 30, lasts: 30 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, o.run) })
	}
}

// The same holds for any rate, and any number of tasks.
func TestDeferredHaveTheirTurnAtRandom(t *testing.T) {
	for seed := range uint64(max(20/fewer, 4)) {
		r := rand.New(rand.NewPCG(seed, 1))
		o := overload{
			rate:   []float64{0.1, 0.5, 2, 10, 50, 500}[r.IntN(6)],
			young:  r.IntN(3) == 0,
			paused: r.IntN(2) == 0,
			first:  120 + r.IntN(300),
			fails:  []int{0, 0, 10, 50}[r.IntN(4)],
		}
		gap := float64(time.Second) / o.rate
		if r.IntN(4) == 0 {
			o.crowd = 100 + r.IntN(1000)
		}
		o.every = time.Duration(gap * (0.3 + r.Float64()))
		o.lasts = time.Duration(gap * float64(500+r.IntN(1000)))
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { synctest.Test(t, o.run) })
	}
}
