package engine_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
)

// hearing runs a test with nodes that tell one another what they know, and with
// nodes that have to look.
func hearing(t *testing.T, f func(t *testing.T, c *crew, within time.Duration)) {
	for _, deaf := range []bool{false, true} {
		t.Run(fmt.Sprintf("deaf %t", deaf), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrew(t)
				c.deaf = deaf
				within := 50 * time.Millisecond
				if deaf {
					within = 2100 * time.Millisecond
				}
				f(t, c, within)
			})
		})
	}
}

// What is done by hand at a node that does not own the task is done all the same.
func TestCrewByHand(t *testing.T) {
	hearing(t, func(t *testing.T, c *crew, within time.Duration) {
		l := newLedger()
		a := c.start("a", l.queue("a", 0))
		time.Sleep(10 * time.Second)
		b := c.start("b", l.queue("b", 0))
		defer a.stop()
		defer b.stop()
		time.Sleep(20 * time.Second)
		var ids []bellman.ID
		for range 80 { // on both, so that half of what follows is the other's
			ids = append(ids, add(t, a.Engine, &bellman.Task{Queue: "q", Delay: time.Minute}), add(t, b.Engine, &bellman.Task{Queue: "q", Delay: time.Minute}))
		}
		began := time.Now()
		for i, id := range ids {
			var err error
			switch i % 4 {
			case 0:
				_, err = b.Resend(t.Context(), id, engine.ResendRestart, by)
			case 1:
				_, err = a.Cancel(t.Context(), id, by)
			case 2:
				_, err = b.Reschedule(t.Context(), id, began.Add(10*time.Second), by)
			case 3:
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				settled, _ := a.Settle(ctx, by, id)
				cancel()
				err = settled[0].Err
			}
			if err != nil {
				t.Errorf("task %d: %v", i, err)
			}
		}
		time.Sleep(3 * time.Minute)
		for i, id := range ids {
			task, times := get(t, c.store, id), l.times[id]
			switch i % 4 {
			case 1:
				if len(times) > 0 || task.State != bellman.Cancelled {
					t.Errorf("task %d, cancelled: %v, attempted %d times", i, task.State, len(times))
				}
			case 2:
				if len(times) != 1 {
					t.Errorf("task %d, moved: attempted %d times; want once", i, len(times))
				} else if after := times[0].Sub(began); after < 10*time.Second {
					t.Errorf("task %d, moved: attempted after %v; want 10s", i, after)
				}
			default:
				if len(times) != 1 || task.State != bellman.Succeeded {
					t.Errorf("task %d: %v, attempted %d times; want once", i, task.State, len(times))
				}
			}
		}
		if l.late > within {
			t.Errorf("a task was %v late; want %v at most", l.late, within)
		}
	})
}

// A pause holds on all nodes, and so does its end.
func TestCrewPause(t *testing.T) {
	hearing(t, func(t *testing.T, c *crew, within time.Duration) {
		l := newLedger()
		a, b := c.start("a", l.queue("a", 0)), c.start("b", l.queue("b", 0))
		defer a.stop()
		defer b.stop()
		time.Sleep(20 * time.Second)
		if err := a.PauseQueue(t.Context(), "q", by); err != nil {
			t.Fatal(err)
		}
		time.Sleep(within)
		var ids []bellman.ID
		for range 50 {
			ids = append(ids, add(t, a.Engine, &bellman.Task{Queue: "q"}), add(t, b.Engine, &bellman.Task{Queue: "q"}))
		}
		time.Sleep(30 * time.Second)
		if n := len(l.times); n > 0 {
			t.Errorf("%d tasks of a queue were attempted that was paused at the other node", n)
		}
		infos, err := b.Queues(t.Context())
		if err != nil || len(infos) != 1 || infos[0].Pause == nil {
			t.Errorf("the other node shows %+v, %v; want a pause", infos, err)
		}
		if err := b.ResumeQueue(t.Context(), "q", by); err != nil {
			t.Fatal(err)
		}
		time.Sleep(within + time.Second)
		l.once(t, ids)
	})
}

// A shard that is lost is let go, and nothing else: what was recorded together with
// outcomes of it is recorded all the same.
func TestCrewLosesOneShard(t *testing.T) {
	hearing(t, func(t *testing.T, c *crew, _ time.Duration) {
		l := newLedger()
		a := c.start("a", l.queue("a", 500*time.Millisecond))
		defer a.stop()
		var ids []bellman.ID
		for range 640 {
			ids = append(ids, add(t, a.Engine, &bellman.Task{Queue: "q", Delay: 10 * time.Second}))
		}
		time.Sleep(10*time.Second + 100*time.Millisecond) // some are in flight
		state, err := c.store.State(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		const stolen = 7
		s := state.Shards[stolen]
		if err := c.store.Join(t.Context(), store.Node{Name: "thief"}, time.Hour); err != nil {
			t.Fatal(err)
		}
		if err := c.store.Release(t.Context(), s.Owner, s.Lease); err != nil {
			t.Fatal(err)
		}
		if _, err := c.store.Claim(t.Context(), "thief", stolen, s.Epoch); err != nil {
			t.Fatal(err)
		}
		time.Sleep(max(5*time.Minute/fewer, 2*time.Minute))
		for _, id := range ids {
			task := get(t, c.store, id)
			if task.Shard == stolen {
				if task.Attempts > 0 {
					t.Errorf("an outcome was recorded in a shard of another")
				}
				continue
			}
			if task.State != bellman.Succeeded || len(l.times[id]) != 1 {
				t.Errorf("task of shard %d: %v, attempted %d times; want succeeded at once", task.Shard, task.State, len(l.times[id]))
			}
		}
	})
}

// However a death falls between beats, the others own all of a dead node's shards
// within eight seconds, and usually within six and a half.
func TestCrewTakesOverSoon(t *testing.T) {
	const times = max(20/fewer, 5)
	var took []time.Duration
	for i := range times {
		synctest.Test(t, func(t *testing.T) {
			c := newCrew(t)
			queue := newLedger().queue("", 0)
			a, b := c.start("a", queue), c.start("b", queue)
			time.Sleep(730 * time.Millisecond) // so that they do not beat at once
			d := c.start("d", queue)
			time.Sleep(20*time.Second + time.Duration(i)*2*time.Second/times)
			a.store.cut.Store(true)
			died := time.Now()
			for c.owns()["a"] > 0 && time.Since(died) < time.Minute {
				time.Sleep(10 * time.Millisecond)
			}
			took = append(took, time.Since(died))
			a.store.cut.Store(false)
			for _, m := range []*member{a, b, d} {
				m.stop()
			}
		})
	}
	slices.Sort(took)
	if took[times/2] > 6500*time.Millisecond || took[times-1] > 8*time.Second || took[0] < 3*time.Second {
		t.Errorf("shards of a dead node were taken over after %v; want 6.5s at the median, 8s at most", took)
	}
	t.Logf("median %v, most %v", took[times/2], took[times-1])
}

// Exactly one node leads, but for a moment, and another does when it stops.
func TestCrewLeads(t *testing.T) {
	hearing(t, func(t *testing.T, c *crew, within time.Duration) {
		queue := newLedger().queue("", 0)
		nodes := []*member{c.start("a", queue), c.start("b", queue), c.start("c", queue)}
		time.Sleep(20 * time.Second)
		for len(nodes) > 0 {
			leader := -1
			for i, m := range nodes {
				if m.Leads() {
					if leader >= 0 {
						t.Errorf("%s and %s lead", nodes[leader].name, m.name)
					}
					leader = i
				}
			}
			if leader < 0 {
				t.Fatalf("none of %d nodes leads", len(nodes))
			}
			infos, unowned, err := nodes[leader].Nodes(t.Context())
			if err != nil || len(infos) != len(nodes) || len(unowned) > 0 {
				t.Errorf("%d nodes, %d shards of none, %v; want %d, none", len(infos), len(unowned), err, len(nodes))
			}
			for _, n := range infos {
				if !n.Alive || n.Self != (n.Addr == nodes[leader].name) {
					t.Errorf("node %+v as %s sees it", n, nodes[leader].name)
				}
			}
			nodes[leader].stop()
			nodes = append(nodes[:leader], nodes[leader+1:]...)
			time.Sleep(2 * within)
		}
	})
}

// Tasks that were added in a transaction of the caller's are attempted at once by
// whoever owns their shards, when the engine is told of the commit.
func TestCrewCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCrew(t), newLedger()
		a, b := c.start("a", l.queue("a", 0)), c.start("b", l.queue("b", 0))
		defer a.stop()
		defer b.stop()
		time.Sleep(20*time.Second + 500*time.Millisecond) // between two sweeps
		var tasks []*bellman.Task
		var ids []bellman.ID
		for i := range 64 {
			tasks = append(tasks, &bellman.Task{Queue: "q", Key: fmt.Sprint(i)})
		}
		adds := a.Prepare(tasks...)
		for i := range adds {
			tasks[i].Shard = uint16(i) // of all nodes
			ids = append(ids, tasks[i].ID)
		}
		if err := c.store.Commit(t.Context(), &store.Batch{Adds: adds}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		a.Committed(tasks...)
		time.Sleep(50 * time.Millisecond)
		l.once(t, ids)
		t.Logf("late %v after %v", l.late, time.Since(began))
	})
}

// What moves together is one line of the log, and an attempt says by which process it
// was made.
func TestCrewSaysWhatMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		c, l := newCrew(t), newLedger()
		c.log = slog.New(slog.NewTextHandler(&text, nil))
		a := c.start("a", l.queue("a", 0))
		time.Sleep(10 * time.Second)
		c.log = slog.New(slog.DiscardHandler)
		b := c.start("b", l.queue("b", 0))
		time.Sleep(20 * time.Second)
		id := add(t, a.Engine, &bellman.Task{Queue: "q"})
		time.Sleep(2 * time.Second)
		infos, _, err := a.Nodes(t.Context())
		if log := attempts(t, c.store, id); err != nil || len(infos) != 2 || len(log) != 1 || !strings.HasPrefix(infos[0].Name, log[0].Node+"/") {
			t.Errorf("attempts %+v of nodes %+v, %v; want the name that the list begins with", log, infos, err)
		}
		b.stop()
		time.Sleep(10 * time.Second)
		a.stop()
		said := text.String()
		if n := strings.Count(said, "shards moved"); n != 3 || !strings.Contains(said, "claimed=0 given_back=") {
			t.Errorf("%d lines of shards that moved; want one when a had all, one when b came, one when b went:\n%s", n, said)
		}
	})
}

// A node that left is gone from the list, one that died is shown as dead for a while.
func TestCrewForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCrew(t), newLedger()
		a, b, d := c.start("a", l.queue("a", 0)), c.start("b", l.queue("b", 0)), c.start("d", l.queue("d", 0))
		defer a.stop()
		time.Sleep(20 * time.Second)
		list := func() (all string) {
			infos, _, err := a.Nodes(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range infos {
				all += fmt.Sprintf("%s %t ", n.Addr, n.Alive)
			}
			return strings.TrimSpace(all)
		}
		b.stop()
		if got := list(); got != "a true d true" {
			t.Errorf("after b has left: %s; want a and d", got)
		}
		d.store.cut.Store(true)
		time.Sleep(time.Minute)
		if got := list(); got != "a true d false" {
			t.Errorf("after d has died: %s; want a, and d dead", got)
		}
		time.Sleep(10 * time.Minute)
		if got := list(); got != "a true" {
			t.Errorf("ten minutes later: %s; want a", got)
		}
		d.stop()
	})
}
