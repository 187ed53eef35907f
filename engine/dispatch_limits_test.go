package engine_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store/memory"
)

// A queue's rate holds for all its endpoints together, and shows.
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
			t.Errorf("Queues = %+v, %v; want the rate, and that young ones go first", q, err)
		}
	})
}

// A channel that answers quickly, and says by a word of its own that 50 a second are
// too many, gets fewer; which is no fault of the orders.
func TestThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var free time.Time // when the channel has forgotten all that it was asked
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
			t.Errorf("%d of %d attempts were too many; want 1600 at least, and a tenth too many at most", throttled, asked)
		}
		mu.Unlock()
		if got := e.Endpoints()[0].Rate; got < 25 || got > 75 {
			t.Errorf("Rate = %v; want about 50", got)
		}
	})
}

// One answer that says how long to wait holds the account for so long, all of its tasks,
// and no longer than ten minutes.
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
				t.Errorf("asked to wait %v: attempts at %v; want %v without one", tt.asks, at, tt.want)
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

// Young tasks are made on time at a queue whose rate is not enough for all, and old
// ones get the rest, whatever fills the memory.
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
		for range 2000 / fewer { // a third of what they ask for is all there is
			add(t, e, &bellman.Task{Queue: "q"})
		}
		time.Sleep(30 * time.Second)
		mu.Lock()
		late, old = 0, 0
		mu.Unlock()
		for range 10 * 120 / fewer { // ten seconds of 120 new ones a second: 240 attempts are a first or a second
			add(t, e, &bellman.Task{Queue: "q", Key: bellman.NewID().String()})
			time.Sleep(10 * time.Second / 1200 * fewer)
		}
		mu.Lock()
		defer mu.Unlock()
		if late > 100*time.Millisecond {
			t.Errorf("a first or second attempt was %v late; want hardly", late)
		}
		if old < 10*96/fewer {
			t.Errorf("%d attempts of old ones in ten seconds; want a quarter of %d", old, 4000/fewer)
		}
	})
}

// Sixty orders that are asked about each second, where five a second may be asked,
// and five new ones: these do not wait for all of the others, however old those are,
// and the others still get a share, each of them.
func TestNewcomers(t *testing.T) {
	for _, age := range []time.Duration{20 * time.Second, 2 * time.Minute, 10 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			first := map[bellman.ID]time.Time{} // attempts of newcomers
			last := map[bellman.ID]time.Time{}  // attempts of others
			var gap time.Duration               // between two of one of those
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
					t.Errorf("after %v a newcomer was first asked about after %v; want 1.5s at most", age, wait)
				}
			}
			if len(first) != 5 {
				t.Errorf("after %v %d of 5 newcomers were asked about in 2s", age, len(first))
			}
			if old < 2 {
				t.Errorf("after %v %d of 10 attempts were of others; want 2 at least", age, old)
			}
			gap = 0
			mu.Unlock()
			time.Sleep(2 * time.Minute)
			mu.Lock()
			defer mu.Unlock()
			for _, at := range last {
				gap = max(gap, time.Since(at))
			}
			if gap > 48*time.Second { // sixty, by a fourth of the rate
				t.Errorf("after %v an older one was not asked about for %v; want 48s at most", age, gap)
			}
		})
	}
}

// counter counts the ends that an observer is told.
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

// A task ends once, however often it is asked about, completed or noted after.
func TestEndsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{}
		h := asking(func(_ *bellman.Task, n int) bellman.Verdict {
			return bellman.Verdict{Next: []bellman.Next{bellman.Succeed, bellman.Again}[min(n-1, 1)]}
		})
		e, err := engine.New(engine.Options{Store: memory.New(), Observer: c, Logger: slog.New(slog.DiscardHandler),
			Queues: []engine.Queue{{Name: "q", Handler: h}, {Name: "notify", Handler: h}}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- e.Run(ctx) }()
		id := add(t, e, &bellman.Task{Queue: "q", Key: "1"})
		time.Sleep(time.Minute)
		if got := settle(t, byHand(e), id); got.Err != nil || got.Task.State != bellman.Succeeded {
			t.Errorf("settled as %+v, %v; want succeeded as before", got.Task, got.Err)
		}
		if _, err := e.Complete(ctx, id, bellman.Completion{Outcome: "PAID"}, by); err != nil { // late: noted
			t.Error(err)
		}
		c.mu.Lock()
		if c.ended != 1 {
			t.Errorf("%d ends were told of one task", c.ended)
		}
		c.mu.Unlock()
		if n := e.Stats(time.Hour).Counts.Succeeded; n != 1 {
			t.Errorf("Stats count %d tasks that succeeded; want 1", n)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
