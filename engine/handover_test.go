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
	"github.com/bellmanhq/bellman/store"
)

// A handing store counts the handovers of each task that were tried.
type handing struct {
	store.Store
	mu    sync.Mutex
	tried map[bellman.ID]int
}

func (s *handing) Commit(ctx context.Context, b *store.Batch) error {
	s.mu.Lock()
	for _, c := range b.Changes {
		if c.To.Phase == bellman.HandedOver {
			s.tried[c.ID]++
		}
	}
	s.mu.Unlock()
	return s.Store.Commit(ctx, b)
}

// Attempts that take minutes do not keep their shards from moving to another node. The attempts may
// be of suspects, triggered by hand, or of tasks that were changed meanwhile. Each attempt is made
// once, by the node that began it.
func TestHandOverBesideSlowAttempts(t *testing.T) {
	const hang = 5 * time.Minute
	tests := []struct {
		name   string
		begin  func(t *testing.T, c *crew, queue func(string) engine.Queue, add func(body string) []bellman.ID) (b *member, ids []bellman.ID)
		most   time.Duration // the most that a quick task may be late: a second until a sweep finds it, plus the handover
		shared bool          // whether shards move while the attempts hang
	}{
		{"suspects", func(t *testing.T, c *crew, queue func(string) engine.Queue, add func(string) []bellman.ID) (*member, []bellman.ID) {
			a := c.start("a", queue("a"))
			time.Sleep(10 * time.Second)
			ids := add("hang")
			time.Sleep(2 * time.Second)
			a.store.cut.Store(true)
			time.Sleep(10 * time.Second)
			b := c.start("b", queue("b"))
			t.Cleanup(a.stop)
			return b, ids
		}, 1500 * time.Millisecond, true},
		{"by hand", func(t *testing.T, c *crew, queue func(string) engine.Queue, add func(string) []bellman.ID) (*member, []bellman.ID) {
			b := c.start("b", queue("b"))
			time.Sleep(10 * time.Second)
			ids := add("hang again")
			time.Sleep(5 * time.Second)
			for _, id := range ids {
				if _, err := b.Resend(t.Context(), id, engine.ResendOnce, by); err != nil {
					t.Fatal(err)
				}
			}
			return b, ids
		}, 1500 * time.Millisecond, true},
		// These attempts cannot be handed over, so their shards stay. They stop firing once, for
		// two seconds.
		{"changed meanwhile", func(t *testing.T, c *crew, queue func(string) engine.Queue, add func(string) []bellman.ID) (*member, []bellman.ID) {
			b := c.start("b", queue("b"))
			time.Sleep(10 * time.Second)
			ids := add("hang")
			time.Sleep(5 * time.Second)
			for _, id := range ids {
				task := get(t, c.store, id)
				to := task.Status
				to.Due = to.Due.Add(time.Hour)
				to.VisibleAt = to.Due
				batch := store.Batch{Changes: []store.Change{{ID: id, Version: task.Version, To: to}}}
				if err := c.store.Commit(t.Context(), &batch); err != nil || batch.Changes[0].Err != nil {
					t.Fatal(err, batch.Changes[0].Err)
				}
			}
			return b, ids
		}, 3500 * time.Millisecond, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrew(t)
				handed := &handing{Store: c.store, tried: make(map[bellman.ID]int)}
				c.store = handed
				var mu sync.Mutex
				late := time.Duration(0)
				made := make(map[string]int) // attempts that hang, by task and node
				queue := func(node string) engine.Queue {
					return engine.Queue{Name: "q", Timeout: 10 * time.Minute, Handler: bellman.HandlerFunc(func(ctx context.Context, task *bellman.Task, number int) bellman.Verdict {
						if body := string(task.Body); body == "hang" || body == "hang again" && number > 1 {
							mu.Lock()
							made[task.ID.String()+node]++
							mu.Unlock()
							time.Sleep(hang)
						} else {
							mu.Lock()
							late = max(late, time.Since(task.Due))
							mu.Unlock()
						}
						return bellman.Verdict{Next: bellman.Succeed}
					})}
				}
				rules, err := engine.NewRules(queue(""))
				if err != nil {
					t.Fatal(err)
				}
				add := func(body string) (ids []bellman.ID) { // one task for each shard
					tasks := make([]*bellman.Task, 64)
					for i := range tasks {
						tasks[i] = &bellman.Task{Queue: "q", Endpoint: fmt.Sprintf("http://%s%d", body, i), Body: []byte(body)}
					}
					adds := rules.Prepare(tasks...)
					for i := range adds {
						adds[i].Task.Shard = uint16(i)
						ids = append(ids, adds[i].Task.ID)
					}
					if err := c.store.Commit(t.Context(), &store.Batch{Adds: adds}); err != nil {
						t.Fatal(err)
					}
					return ids
				}
				b, ids := tt.begin(t, c, queue, add)
				time.Sleep(5 * time.Second)
				d := c.start("d", queue("d"))
				var quick []bellman.ID
				for range 60 {
					quick = append(quick, add("quick")...)
					time.Sleep(time.Second)
				}
				if n := c.owns(); tt.shared && (n["b"] < 8 || n["d"] < 8) {
					t.Errorf("shards per node while attempts hang %v; want many for both", n)
				}
				time.Sleep(hang)
				if n := c.owns(); n["b"] < 8 || n["d"] < 8 {
					t.Errorf("shards per node in the end %v; want many for both", n)
				}
				for _, id := range append(quick, ids...) {
					if task := get(t, c.store, id); task.State != bellman.Succeeded {
						t.Errorf("a task is %v; want succeeded", task.State)
					}
				}
				mu.Lock()
				defer mu.Unlock()
				if late > tt.most {
					t.Errorf("a quick task was %v late; want at most %v", late, tt.most)
				}
				for _, id := range ids {
					if n := handed.tried[id]; n > 1 {
						t.Errorf("%d handovers of one attempt were tried; want one", n)
					}
					if n := made[id.String()+"b"]; n != 1 || made[id.String()+"d"] > 0 {
						t.Errorf("%d attempts by b and %d by d of a hanging task; want one by b and none by d", n, made[id.String()+"d"])
					}
				}
				b.stop()
				d.stop()
			})
		})
	}
}

// A languid store takes 300 ms for a release that begins before a moment, unless its caller gives
// up before.
type languid struct {
	store.Store
	until time.Time
}

func (s languid) Release(ctx context.Context, node string, l store.Lease) error {
	wait := time.Duration(0)
	if time.Now().Before(s.until) {
		wait = 300 * time.Millisecond
	}
	select {
	case <-time.After(wait):
		return s.Store.Release(ctx, node, l)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A node is told to stop while it releases shards to a node that has joined. It releases them all
// the same: they do not wait for the slowest attempt of the stop.
func TestStopWhileShardsMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCrew(t), newLedger()
		c.store = languid{c.store, time.Now().Add(7 * time.Second)}
		a := c.start("a", l.queue("a", 7*time.Second))
		time.Sleep(5 * time.Second)
		b := c.start("b", l.queue("b", 0))
		defer b.stop()
		time.Sleep(time.Second) // shards are being released
		add(t, a.Engine, &bellman.Task{Queue: "q"})
		time.Sleep(time.Second)
		stopped := make(chan struct{})
		go func() {
			a.stop()
			close(stopped)
		}()
		time.Sleep(5 * time.Second)
		select {
		case <-stopped:
			t.Error("the node has stopped already, so the test shows nothing")
		default:
		}
		if n := c.owns(); n["a"] > 1 {
			t.Errorf("shards per node %v; want none for a, but that of its attempt", n)
		}
		<-stopped
	})
}
