package engine_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
)

// A meter counts attempts in flight and attempts per second, over all nodes. If the limit is per
// endpoint, it counts those in flight by endpoint.
type meter struct {
	mu     sync.Mutex
	flying map[string]int
	most   int // most in flight at once
	made   int
	last   time.Time
	times  []time.Time
}

func (m *meter) queue(q engine.Queue, took time.Duration, byEndpoint bool) engine.Queue {
	q.Name = "q"
	q.Handler = bellman.HandlerFunc(func(_ context.Context, t *bellman.Task, _ int) bellman.Verdict {
		name := ""
		if byEndpoint {
			name = t.Endpoint
		}
		m.mu.Lock()
		if m.flying == nil {
			m.flying = make(map[string]int)
		}
		m.flying[name]++
		m.most = max(m.most, m.flying[name])
		m.times = append(m.times, time.Now())
		m.mu.Unlock()
		time.Sleep(took)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.flying[name]--
		m.made++
		m.last = time.Now()
		return bellman.Verdict{Next: bellman.Succeed}
	})
	return q
}

// sum returns how many attempts were made, the most in flight at once, and when the last one ended.
func (m *meter) sum() (made, most int, last time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.made, m.most, m.last
}

// busiest returns the most attempts that began within one second.
func (m *meter) busiest() (most int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	from := 0
	for i, at := range m.times {
		for at.Sub(m.times[from]) >= time.Second {
			from++
		}
		most = max(most, i-from+1)
	}
	return most
}

// A limit holds for all nodes together, and they use all of it, whichever node receives the tasks.
func TestCrewLimits(t *testing.T) {
	const half, quarter = min(fewer, 2), min(fewer, 4)
	const short, long = 200 * time.Millisecond, 200 * quarter * time.Millisecond
	tests := []struct {
		name  string
		queue engine.Queue
		took  time.Duration // duration of each attempt
		tasks int
		most  int           // most in flight at once
		rate  int           // most per second
		takes time.Duration // total time if the whole limit is used
	}{
		{"one at a time", engine.Queue{Concurrency: 1}, short, 50, 1, 0, 10 * time.Second},
		{"fewer than nodes", engine.Queue{Concurrency: 2}, short, 100, 2, 0, 10 * time.Second},
		{"some", engine.Queue{Concurrency: 12}, short, 600, 12, 0, 10 * time.Second},
		{"many", engine.Queue{Concurrency: 100, EndpointConcurrency: 100}, long, 10_000 / quarter, 100, 0, 20 * time.Second},
		{"a low rate", engine.Queue{Rate: 10}, short, 300, 0, 10, 30 * time.Second},
		{"a high rate", engine.Queue{Rate: 300}, short, 6000 / half, 0, 300, 20 * time.Second / half},
		{"a rate of each endpoint", engine.Queue{EndpointRate: 5}, short, 1000, 0, 100, 10 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			hearing(t, func(t *testing.T, c *crew, _ time.Duration) {
				var m meter
				var nodes []*member
				for _, name := range []string{"a", "b", "c"} {
					nodes = append(nodes, c.start(name, m.queue(tt.queue, tt.took, false)))
					defer nodes[len(nodes)-1].stop()
				}
				time.Sleep(20 * time.Second)
				began := time.Now()
				tasks := make([]*bellman.Task, tt.tasks)
				for i := range tasks {
					tasks[i] = &bellman.Task{Queue: "q", Endpoint: fmt.Sprint(i % 20)}
				}
				for _, added := range nodes[0].Add(t.Context(), tasks...) {
					if added.Err != nil {
						t.Fatal(added.Err)
					}
				}
				time.Sleep(max(3*time.Minute/fewer, 3*tt.takes/2))
				made, most, last := m.sum()
				if made != tt.tasks {
					t.Errorf("%d attempts of %d tasks; want one each", made, tt.tasks)
				}
				if tt.most > 0 && most > tt.most {
					t.Errorf("%d attempts were in flight at once; want at most %d", most, tt.most)
				}
				if busiest := m.busiest(); tt.rate > 0 && busiest > tt.rate+tt.rate/20+20 {
					t.Errorf("%d attempts in one second; want at most %d", busiest, tt.rate)
				}
				uneven := 4 * (tt.took - short) // fewer and longer attempts are spread less evenly over the nodes
				if took := last.Sub(began); took > tt.takes*11/10+2*time.Second+uneven {
					t.Errorf("all attempts took %v; want about %v", took, tt.takes)
				}
			})
		})
	}
}

// With EndpointConcurrency 1, all nodes together make one attempt at a time to an endpoint.
func TestCrewLimitsEndpoints(t *testing.T) {
	hearing(t, func(t *testing.T, c *crew, _ time.Duration) {
		var m meter
		queue := m.queue(engine.Queue{EndpointConcurrency: 1}, 100*time.Millisecond, true)
		a, b, d := c.start("a", queue), c.start("b", queue), c.start("d", queue)
		defer a.stop()
		defer b.stop()
		defer d.stop()
		time.Sleep(20 * time.Second)
		began := time.Now()
		for i := range 600 {
			add(t, []*member{a, b, d}[i%3].Engine, &bellman.Task{Queue: "q", Endpoint: fmt.Sprint(i % 20)})
		}
		time.Sleep(time.Minute)
		made, most, last := m.sum()
		if took := last.Sub(began); made != 600 || most > 1 || took > 6*time.Second {
			t.Errorf("%d attempts, at most %d at once to an endpoint, in %v; want 600, 1, 3s", made, most, took)
		}
	})
}

// A queue gets a limit after tasks were added. The tasks move to shards whose owner has a quota of
// the limit, and are attempted once and within the limit.
func TestCrewLimitsLater(t *testing.T) {
	hearing(t, func(t *testing.T, c *crew, _ time.Duration) {
		var m meter
		free, one := m.queue(engine.Queue{}, 50*time.Millisecond, false), m.queue(engine.Queue{Concurrency: 1}, 50*time.Millisecond, false)
		nodes := []*member{c.start("a", free), c.start("b", free), c.start("d", free)}
		time.Sleep(20 * time.Second)
		var ids []bellman.ID
		for i := range 300 {
			ids = append(ids, add(t, nodes[i%3].Engine, &bellman.Task{Queue: "q", Delay: 10 * time.Second}))
		}
		for _, n := range nodes {
			defer n.stop()
			if err := n.SetQueues([]engine.Queue{one}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(40 * time.Second)
		shards := make(map[uint16]bool)
		for _, id := range ids {
			task := get(t, c.store, id)
			shards[task.Shard] = true
			if task.State != bellman.Succeeded || task.Attempts != 1 {
				t.Fatalf("task of shard %d: %v after %d attempts; want succeeded at the first", task.Shard, task.State, task.Attempts)
			}
		}
		if made, most, _ := m.sum(); made != 300 || most > 1 {
			t.Errorf("%d attempts, at most %d at once; want 300, one at a time", made, most)
		}
		if len(shards) == 64 {
			t.Errorf("tasks are still in all shards; want them moved to those with a quota")
		}
	})
}

// The node with the only quota of a limit dies. The next owner of the shard gets the quota.
func TestCrewLimitsGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew(t)
		var m meter
		queue := m.queue(engine.Queue{Rate: 10}, time.Millisecond, false)
		nodes := []*member{c.start("a", queue), c.start("b", queue), c.start("d", queue)}
		time.Sleep(20 * time.Second)
		for i := range 600 {
			add(t, nodes[i%3].Engine, &bellman.Task{Queue: "q"})
		}
		for _, n := range nodes[:2] {
			time.Sleep(10 * time.Second)
			n.stop()
		}
		defer nodes[2].stop()
		time.Sleep(time.Minute)
		made, _, _ := m.sum()
		if busiest := m.busiest(); made != 600 || busiest > 11 {
			t.Errorf("%d attempts, at most %d in a second; want 600, 10", made, busiest)
		}
	})
}

// Two nodes are configured with different limits, and each takes a task to belong to the other. The
// task is not moved to and fro without a pause. It is attempted when the nodes agree. Whether such
// tasks exist depends on the nodes' random names, so the test tries up to 20 times.
func TestCrewLimitsDiffer(t *testing.T) {
	for range 20 {
		if moved := limitsDiffer(t); moved > 0 || t.Failed() {
			return
		}
	}
	t.Error("no task moved between the nodes in 20 tries, so the test shows nothing")
}

func limitsDiffer(t *testing.T) (moved int) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCrew(t), newLedger()
		former, newer := l.queue("a", time.Millisecond), l.queue("b", time.Millisecond)
		former.Concurrency, newer.EndpointConcurrency = 1, 1
		a, b := c.start("a", former), c.start("b", newer)
		defer a.stop()
		defer b.stop()
		time.Sleep(20 * time.Second)
		var ids []bellman.ID
		for i := range 20 {
			ids = append(ids, add(t, a.Engine, &bellman.Task{Queue: "q", Endpoint: fmt.Sprint(i)}))
		}
		time.Sleep(10 * time.Second)
		for _, id := range ids {
			if v := get(t, c.store, id).Version; v > 6 {
				t.Errorf("a task was changed %d times in ten seconds; want a few at most", v-1)
			} else if v > 2 {
				moved++
			}
		}
		if err := a.SetQueues([]engine.Queue{newer}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Second)
		l.once(t, ids)
	})
	return moved
}
