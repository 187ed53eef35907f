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
	"github.com/bellmanhq/bellman/memory"
)

// A queue's rate holds for all its endpoints together, and shows.
func TestQueueRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{answer: accept}
		e, stop := run(t, memory.New(), engine.Queue{Name: "q", Handler: r, Rate: 10, Young: 3})
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
		if q, err := e.Queues(t.Context()); err != nil || q[0].Rate != 10 || q[0].Young != 3 {
			t.Errorf("Queues = %+v, %v; want the rate and the age of the young", q, err)
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
		q := engine.Queue{Name: "q", Schedule: "0s, 1s*2, 3s*100", Rate: 1000, Young: 3, Handler: bellman.HandlerFunc(
			func(_ context.Context, task *bellman.Task, number int) bellman.Verdict {
				mu.Lock()
				defer mu.Unlock()
				if number <= 3 && task.Key != "" {
					late = max(late, time.Since(task.Due))
				} else if number > 3 {
					old++
				}
				return bellman.Verdict{}
			})}
		e, stop := run(t, memory.New(), q)
		defer stop()
		for range 5000 { // each takes three attempts while it is young
			add(t, e, &bellman.Task{Queue: "q"})
		}
		time.Sleep(20 * time.Second)
		mu.Lock()
		late, old = 0, 0 // from here on old ones alone could use all of it
		mu.Unlock()
		for range 10 * 200 { // ten seconds of 200 new ones a second, which is 600 attempts
			add(t, e, &bellman.Task{Queue: "q", Key: bellman.NewID().String()})
			time.Sleep(5 * time.Millisecond)
		}
		mu.Lock()
		defer mu.Unlock()
		if late > 100*time.Millisecond {
			t.Errorf("a young task was %v late; want hardly", late)
		}
		if old < 10*240 {
			t.Errorf("%d attempts of old ones in ten seconds; want a quarter of 10000", old)
		}
	})
}

// counter counts the ends that an observer is told.
type counter struct {
	bellman.Observer
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
		if got := settle(t, e.Settle, id); got.Err != nil || got.Task.State != bellman.Succeeded {
			t.Errorf("settled as %+v, %v; want succeeded as before", got.Task, got.Err)
		}
		if _, err := e.Complete(ctx, id, "PAID", by); err != nil { // late: noted
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
