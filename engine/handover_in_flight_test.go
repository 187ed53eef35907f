package engine_test

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
)

// A guided handler gives each attempt the time limit that the merchant has now.
type guided struct {
	bellman.Handler
	timeout *atomic.Int64
}

func (g guided) Route(context.Context, *bellman.Task) (bellman.Route, error) {
	return bellman.Route{Timeout: time.Duration(g.timeout.Load())}, nil
}

// The merchant's time limit is longer now than when the task was added. The next owner of the shard
// waits for the longer time, so the task is attempted once.
func TestHandedOverAsLongAsGuided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCrew(t), newLedger()
		var timeout atomic.Int64
		queue := func(name string) engine.Queue {
			q := l.queue(name, 40*time.Second)
			q.Handler = guided{q.Handler, &timeout}
			return q
		}
		a := c.start("a", queue("a"))
		defer a.stop()
		time.Sleep(10 * time.Second)
		var ids []bellman.ID
		for range 64 {
			ids = append(ids, add(t, a.Engine, &bellman.Task{Queue: "q", MerchantNo: "M1", Delay: 5 * time.Second}))
		}
		timeout.Store(int64(time.Minute))
		time.Sleep(6 * time.Second)
		b := c.start("b", queue("b"))
		defer b.stop()
		time.Sleep(3 * time.Minute)
		l.once(t, ids)
	})
}

// Shards move to a node with another wall clock while attempts are in flight. Each task is
// attempted once, whether that clock is ahead or behind. Nodes whose clocks differ by more than a
// second do not start, but a clock may be set later.
func TestHandedOverAcrossClocks(t *testing.T) {
	for _, tt := range []struct {
		ahead, set time.Duration // how far the new owner's clock is ahead at its start, and by how much it is set afterwards
	}{
		{ahead: time.Second},
		{ahead: -time.Second},
		{set: 20 * time.Second},
		{set: -20 * time.Second},
		{ahead: 10 * time.Second},
		{ahead: -10 * time.Second},
	} {
		t.Run(fmt.Sprintf("ahead %v, set %v", tt.ahead, tt.set), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, l := newCrew(t), newLedger()
				queue := func(name string) engine.Queue {
					q := l.queue(name, 59*time.Second)
					q.Timeout = time.Minute
					return q
				}
				a := c.start("a", queue("a"))
				defer a.stop()
				time.Sleep(10 * time.Second)
				var ids []bellman.ID
				for i := range 64 {
					ids = append(ids, add(t, a.Engine, &bellman.Task{Queue: "q", Endpoint: fmt.Sprintf("http://%d", i)}))
				}
				var set atomic.Int64
				c.wall = func() time.Time { return time.Now().Add(tt.ahead + time.Duration(set.Load())) }
				b := c.start("b", queue("b"))
				defer b.stop()
				time.Sleep(20 * time.Second)
				if n := c.owns(); n["b"] < 16 {
					t.Fatalf("shards per node %v; want many for b", n)
				}
				set.Store(int64(tt.set))
				time.Sleep(3 * time.Minute)
				l.once(t, ids)
			})
		})
	}
}

// A stop cuts off attempts whose tasks were handed over, some of them minutes before. The next
// owner makes those attempts at once, and not when the cut attempts would have timed out.
func TestCutOffAfterHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew(t)
		repeated := make(chan time.Time, 100)
		queue := func(handler bellman.HandlerFunc) engine.Queue {
			return engine.Queue{Name: "q", Schedule: "0s, 1h", Timeout: 5 * time.Minute, Handler: handler}
		}
		a := c.start("a", queue(func(ctx context.Context, _ *bellman.Task, _ int) bellman.Verdict {
			<-ctx.Done()
			return bellman.Verdict{}
		}))
		defer a.stop()
		time.Sleep(10 * time.Second)
		const n = 64
		for i := range n {
			add(t, a.Engine, &bellman.Task{Queue: "q", Endpoint: fmt.Sprintf("http://%d", i)})
		}
		b := c.start("b", queue(func(context.Context, *bellman.Task, int) bellman.Verdict {
			repeated <- time.Now()
			return bellman.Verdict{Next: bellman.Succeed}
		}))
		defer b.stop()
		time.Sleep(20 * time.Second)
		if n := c.owns(); n["b"] < 16 {
			t.Fatalf("shards per node %v; want many for b", n)
		}
		stopped := time.Now()
		a.stop()
		for range n {
			if after := (<-repeated).Sub(stopped); after < 8*time.Second || after > 10*time.Second {
				t.Errorf("an attempt that was cut off is repeated %v after the stop began; want 8s to 10s", after)
			}
		}
	})
}

// A slowHandOver is a store that is slow to write which tasks were handed over in flight.
type slowPark struct {
	store.Store
	handedOver atomic.Int64
}

func (s *slowPark) Commit(ctx context.Context, b *store.Batch) error {
	for i := range b.Changes {
		if c := &b.Changes[i]; c.Attempt == nil && c.To.Phase == bellman.HandedOver {
			s.handedOver.Add(1)
			time.Sleep(4 * time.Second) // longer than the attempt may last, plus the margin
			break
		}
	}
	return s.Store.Commit(ctx, b)
}

// The next owner leaves a task that was handed over in flight alone for a limited time. If this is
// written only when that time is over, the shard stays until the attempt has ended.
func TestHandedOverTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCrew(t), newLedger()
		var timeout atomic.Int64
		timeout.Store(int64(500 * time.Millisecond))
		queue := func(name string) engine.Queue {
			q := l.queue(name, 9*time.Second) // the handler ignores its context
			q.Handler = guided{q.Handler, &timeout}
			return q
		}
		slow := &slowPark{Store: c.store}
		c.store = slow
		a := c.start("a", queue("a"))
		defer a.stop()
		time.Sleep(10 * time.Second)
		var ids []bellman.ID
		for i := range 64 { // of many endpoints, and so in many shards
			ids = append(ids, add(t, a.Engine, &bellman.Task{Queue: "q", MerchantNo: "M1", Endpoint: strconv.Itoa(i), Delay: 5 * time.Second}))
		}
		time.Sleep(5500 * time.Millisecond)
		b := c.start("b", queue("b"))
		defer b.stop()
		time.Sleep(time.Minute)
		if slow.handedOver.Load() == 0 {
			t.Error("no task was handed over in flight, so the test shows nothing")
		}
		l.once(t, ids)
		if n := c.owns(); n["a"] == 0 || n["b"] == 0 {
			t.Errorf("shards per node in the end %v; want some for each", n)
		}
	})
}

// A database fail-over loses changes of a task that was handed over in flight, and the task is
// cancelled afterwards. It then has the version with which the attempt began. The attempt's outcome
// still does not undo the cancellation.
func TestHandedOverAcrossFailOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCrew(t), newLedger()
		a := c.start("a", l.queue("a", 40*time.Second))
		defer a.stop()
		time.Sleep(10 * time.Second)
		replica := make(map[bellman.ID]*bellman.Task) // the tasks as the replica has them, at version 1
		for i := range 64 {
			id := add(t, a.Engine, &bellman.Task{Queue: "q", Endpoint: strconv.Itoa(i), Delay: time.Hour})
			replica[id] = get(t, c.store, id)
			if _, err := a.Reschedule(t.Context(), id, time.Now().Add(5*time.Second), by); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(6 * time.Second) // all are in flight, at version 2
		b := c.start("b", l.queue("b", 0))
		defer b.stop()
		time.Sleep(10 * time.Second)
		var cancelled []bellman.ID
		for id, was := range replica {
			now := get(t, c.store, id)
			if now.Phase != bellman.HandedOver {
				continue
			}
			cancelled = append(cancelled, id)
			gone := store.Change{ID: id, Version: now.Version, To: now.Status}
			gone.To.State, gone.To.Finished = bellman.Failed, now.Updated
			if err := c.store.Commit(t.Context(), &store.Batch{Changes: []store.Change{gone}}); err != nil {
				t.Fatal(err)
			}
			if _, err := c.store.Prune(t.Context(), bellman.Failed, time.Now().Add(time.Hour), 100); err != nil {
				t.Fatal(err)
			}
			if err := c.store.Commit(t.Context(), &store.Batch{Adds: []store.Add{{Task: was}}}); err != nil {
				t.Fatal(err)
			}
			if got, err := b.Cancel(t.Context(), id, by); err != nil || got.Version != 2 {
				t.Fatalf("Cancel() = %+v, %v; want version 2", got, err)
			}
		}
		if len(cancelled) == 0 {
			t.Fatal("no task was handed over in flight, so the test shows nothing")
		}
		time.Sleep(time.Minute)
		for _, id := range cancelled {
			if task, log := get(t, c.store, id), attempts(t, c.store, id); task.State != bellman.Cancelled || len(log) != 1 {
				t.Errorf("task %v is %v, with %d attempts in its log; want cancelled, with 1", id, task.State, len(log))
			}
		}
	})
}

// A task that was handed over in flight is not moved before its time is over. This holds although a
// changed limit makes it another node's task, and although a pause ends, which brings deferred
// tasks back.
func TestHandedOverIsNotMoved(t *testing.T) {
	for _, names := range []string{"abd", "dab", "bda"} {
		synctest.Test(t, func(t *testing.T) {
			c, l := newCrew(t), newLedger()
			queue := func(name string, limit int) engine.Queue {
				q := l.queue(name, 40*time.Second)
				q.Timeout, q.Concurrency = time.Minute, limit
				return q
			}
			nodes := []*member{c.start(names[:1], queue(names[:1], 0))}
			time.Sleep(10 * time.Second)
			var ids []bellman.ID
			for range max(64/fewer, 32) { // more than may be in flight at once
				ids = append(ids, add(t, nodes[0].Engine, &bellman.Task{Queue: "q", Delay: 5 * time.Second}))
			}
			time.Sleep(6 * time.Second)
			for _, name := range names[1:] {
				nodes = append(nodes, c.start(string(name), queue(string(name), 0)))
			}
			time.Sleep(12 * time.Second)
			for _, n := range nodes {
				defer n.stop()
				if err := n.SetQueues([]engine.Queue{queue(n.name, 1)}); err != nil {
					t.Fatal(err)
				}
			}
			if err := nodes[0].PauseEndpoint(t.Context(), "elsewhere", by); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * time.Second)
			if err := nodes[0].ResumeEndpoint(t.Context(), "elsewhere", by); err != nil {
				t.Fatal(err)
			}
			time.Sleep(max(time.Hour/fewer, 25*time.Minute)) // one at a time now, of 40 s each
			l.once(t, ids)
		})
	}
}
