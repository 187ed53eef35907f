package engine_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/store/memory"
)

// The rate of a queue is the sum over all its endpoints, and Queues returns it.
func TestQueueRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{answer: accept}
		e, stop := run(t, memory.New(), engine.Queue{Name: "q", Handler: r, Rate: 10, YoungFirst: true})
		defer stop()
		for _, endpoint := range []string{"a", "b", "", "c"} {
			for range 50 {
				add(t, e, &bellman.Task{Queue: "q", Endpoint: endpoint})
			}
		}
		time.Sleep(10 * time.Second)
		if n := len(r.times()); n < 99 || n > 101 {
			t.Errorf("%d attempts in ten seconds; want 100", n)
		}
		if q, err := e.Queues(t.Context()); err != nil || q[0].Rate != 10 || !q[0].YoungFirst {
			t.Errorf("Queues = %+v, %v; want the configured rate and YoungFirst", q, err)
		}
	})
}

// A channel answers quickly with a throttling code of its own above 50 requests a second. The pace
// of its account drops to that rate; its breaker stays out of it.
func TestThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var free time.Time // when the channel has worked off all requests so far
		var asked, throttled int
		r := &receiver{answer: func(*bellman.Task, int) bellman.Verdict {
			time.Sleep(5 * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			asked++
			free = later(free, time.Now())
			if time.Until(free) > 80*time.Millisecond {
				throttled++
				return bellman.Verdict{Result: bellman.Accepted, Throttled: true, Due: time.Now().Add(time.Second)}
			}
			free = free.Add(20 * time.Millisecond)
			return bellman.Verdict{Next: bellman.Succeed}
		}}
		e, stop := run(t, memory.New(), engine.Queue{Name: "q", Handler: r})
		defer stop()
		for range 3000 {
			add(t, e, &bellman.Task{Queue: "q"})
		}
		time.Sleep(10 * time.Second)
		mu.Lock()
		asked, throttled = 0, 0
		mu.Unlock()
		time.Sleep(40 * time.Second)
		mu.Lock()
		if asked < 40*40 || throttled*10 > asked {
			t.Errorf("%d of %d attempts were throttled; want at least 1600 attempts, and at most a tenth throttled", throttled, asked)
		}
		mu.Unlock()
		if got := e.Endpoints()[0].Rate; got < 25 || got > 75 {
			t.Errorf("Rate = %v; want about 50", got)
		}
	})
}

// One answer with a time to wait holds all tasks of the account for that time, but for ten minutes
// at most.
func TestHold(t *testing.T) {
	for _, tt := range []struct{ asks, want time.Duration }{{0, 0}, {90 * time.Second, 90 * time.Second}, {24 * time.Hour, 10 * time.Minute}} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			var at []time.Duration
			began := time.Now()
			r := &receiver{answer: func(*bellman.Task, int) bellman.Verdict {
				mu.Lock()
				defer mu.Unlock()
				if at = append(at, time.Since(began)); len(at) == 1 {
					return bellman.Verdict{Result: bellman.Accepted, Throttled: true, Hold: tt.asks, Due: time.Now().Add(time.Second)}
				}
				return bellman.Verdict{Next: bellman.Succeed}
			}}
			e, stop := run(t, memory.New(), engine.Queue{Name: "q", Handler: r})
			defer stop()
			add(t, e, &bellman.Task{Queue: "q"})
			time.Sleep(500 * time.Millisecond)
			for range 5 {
				add(t, e, &bellman.Task{Queue: "q"})
			}
			time.Sleep(11 * time.Minute)
			mu.Lock()
			defer mu.Unlock()
			if len(at) != 7 || at[1]-at[0] < tt.want || at[1]-at[0] > tt.want+time.Second {
				t.Errorf("told to wait %v: attempts at %v; want no attempt for %v", tt.asks, at, tt.want)
			}
		})
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// A queue's rate is not enough for all of its tasks. Young tasks are on time and old ones share the
// rest, whatever fills the memory.
func TestYoungFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var late time.Duration
		old := 0
		q := engine.Queue{Name: "q", Schedule: "0s, 1s*2, 3s*100", Rate: 400 / fewer, YoungFirst: true, Handler: bellman.HandlerFunc(
			func(_ context.Context, task *bellman.Task, number int) bellman.Verdict {
				mu.Lock()
				defer mu.Unlock()
				if number <= 2 && task.Key != "" {
					late = max(late, time.Since(task.Due))
				} else if number > 4 && task.Key == "" {
					old++
				}
				return bellman.Verdict{}
			})}
		e, stop := run(t, memory.New(), q)
		defer stop()
		for range 2000 / fewer { // the rate is a third of what these tasks ask for
			add(t, e, &bellman.Task{Queue: "q"})
		}
		time.Sleep(30 * time.Second)
		mu.Lock()
		late, old = 0, 0
		mu.Unlock()
		for range 10 * 120 / fewer { // 120 new tasks a second for ten seconds: 240 attempts are the first or second of a task
			add(t, e, &bellman.Task{Queue: "q", Key: bellman.NewID().String()})
			time.Sleep(10 * time.Second / 1200 * fewer)
		}
		mu.Lock()
		defer mu.Unlock()
		if late > 100*time.Millisecond {
			t.Errorf("a first or second attempt was %v late; want it nearly on time", late)
		}
		if old < 10*96/fewer {
			t.Errorf("%d attempts of old tasks in ten seconds; want at least a quarter of %d", old, 4000/fewer)
		}
	})
}

// Sixty orders want a query each second, and the rate is five a second. Five new orders do not wait
// for all of the sixty, however old those are. Each of the sixty still gets a share.
func TestNewcomers(t *testing.T) {
	for _, age := range []time.Duration{20 * time.Second, 2 * time.Minute, 10 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			first := map[bellman.ID]time.Time{} // first attempts of the new orders
			last := map[bellman.ID]time.Time{}  // last attempts of the old orders
			var gap time.Duration               // longest gap between two attempts of an old order
			old := 0
			q := engine.Queue{Name: "q", Schedule: "0s, 1s*", Rate: 5, YoungFirst: true, Handler: bellman.HandlerFunc(
				func(_ context.Context, task *bellman.Task, number int) bellman.Verdict {
					mu.Lock()
					defer mu.Unlock()
					if number == 1 && task.Key != "" {
						first[task.ID] = time.Now()
					} else if task.Key == "" {
						old++
						if at, ok := last[task.ID]; ok {
							gap = max(gap, time.Since(at))
						}
						last[task.ID] = time.Now()
					}
					return bellman.Verdict{}
				})}
			e, stop := run(t, memory.New(), q)
			defer stop()
			for range 60 {
				add(t, e, &bellman.Task{Queue: "q"})
			}
			time.Sleep(age)
			mu.Lock()
			old = 0
			mu.Unlock()
			came := time.Now()
			for range 5 {
				add(t, e, &bellman.Task{Queue: "q", Key: bellman.NewID().String()})
			}
			time.Sleep(2 * time.Second)
			mu.Lock()
			for _, at := range first {
				if wait := at.Sub(came); wait > 1500*time.Millisecond {
					t.Errorf("after %v a new order was first queried after %v; want at most 1.5s", age, wait)
				}
			}
			if len(first) != 5 {
				t.Errorf("after %v %d of 5 new orders were queried within 2s; want all", age, len(first))
			}
			if old < 2 {
				t.Errorf("after %v %d of 10 attempts were of old orders; want at least 2", age, old)
			}
			gap = 0
			mu.Unlock()
			time.Sleep(2 * time.Minute)
			mu.Lock()
			defer mu.Unlock()
			for _, at := range last {
				gap = max(gap, time.Since(at))
			}
			if gap > 48*time.Second { // sixty orders at a fourth of the rate
				t.Errorf("after %v an old order was not queried for %v; want at most 48s", age, gap)
			}
		})
	}
}

// counter is an observer that counts ended tasks.
type counter struct {
	engine.Observer
	mu    sync.Mutex
	ended int
}

func (c *counter) Attempted(string, bellman.Result, time.Duration, time.Duration) {}
func (c *counter) Added(string, int)                                              {}
func (c *counter) Committed(int, time.Duration)                                   {}
func (c *counter) Ended(string, bellman.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended++
}

// The end of a task is counted once, however often the task is settled or completed afterwards.
func TestEndsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{}
		h := asking(func(_ *bellman.Task, n int) bellman.Verdict {
			return bellman.Verdict{Next: []bellman.Next{bellman.Succeed, bellman.Again}[min(n-1, 1)]}
		})
		e, stop := runWith(t, engine.Options{Store: memory.New(), Observer: c, Queues: []engine.Queue{{Name: "q", Handler: h}, {Name: "notify", Handler: h}}})
		defer stop()
		id := add(t, e, &bellman.Task{Queue: "q", Key: "1"})
		time.Sleep(time.Minute)
		if got := settle(t, byHand(e), id); got.Err != nil || got.Task.State != bellman.Succeeded {
			t.Errorf("Settle of the ended task = %+v, %v; want it succeeded as before", got.Task, got.Err)
		}
		if _, err := e.Complete(t.Context(), id, bellman.Completion{Outcome: "PAID"}, by); err != nil { // too late: it is only recorded
			t.Error(err)
		}
		c.mu.Lock()
		if c.ended != 1 {
			t.Errorf("the observer was told of %d ends of one task; want 1", c.ended)
		}
		c.mu.Unlock()
		f, err := e.Figures(t.Context(), figures.Ask{Windows: []time.Duration{time.Hour}})
		if err != nil || f.Windows[0].Counts.Succeeded != 1 {
			t.Errorf("the figures count %+v, %v; want 1 task that succeeded", f.Windows, err)
		}
	})
}
