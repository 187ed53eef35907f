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

// hearing runs a test twice: with nodes that send each other hints, and with deaf nodes that only
// find changes by reading the store. A task may be late by within.
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

// A resend, cancel or reschedule also works at a node that does not own the task.
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
		for range 80 { // on both nodes, so that each owns about half
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
				t.Errorf("task %d: change by hand: %v", i, err)
			}
		}
		time.Sleep(3 * time.Minute)
		for i, id := range ids {
			task, times := get(t, c.store, id), l.times[id]
			switch i % 4 {
			case 1:
				if len(times) > 0 || task.State != bellman.Cancelled {
					t.Errorf("cancelled task %d: %v, attempted %d times; want cancelled, none", i, task.State, len(times))
				}
			case 2:
				if len(times) != 1 {
					t.Errorf("rescheduled task %d: attempted %d times; want once", i, len(times))
				} else if after := times[0].Sub(began); after < 10*time.Second {
					t.Errorf("rescheduled task %d: attempted after %v; want 10s", i, after)
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

// A pause and a resume take effect on all nodes.
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
			t.Errorf("%d tasks were attempted of a queue that is paused at the other node; want none", n)
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

// A node that loses one shard gives up only that shard. Outcomes of other shards in the same commit
// are recorded.
func TestCrewLosesOneShard(t *testing.T) {
	hearing(t, func(t *testing.T, c *crew, _ time.Duration) {
		l := newLedger()
		a := c.start("a", l.queue("a", 500*time.Millisecond))
		defer a.stop()
		var ids []bellman.ID
		for range 640 {
			ids = append(ids, add(t, a.Engine, &bellman.Task{Queue: "q", Delay: 10 * time.Second}))
		}
		time.Sleep(10*time.Second + 100*time.Millisecond) // some attempts are in flight
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
					t.Errorf("an outcome was recorded in a shard that another node owns")
				}
				continue
			}
			if task.State != bellman.Succeeded || len(l.times[id]) != 1 {
				t.Errorf("task of shard %d: %v, attempted %d times; want succeeded at once", task.Shard, task.State, len(l.times[id]))
			}
		}
	})
}

// After a node's death the other nodes own all of its shards within 3.5 s, in the median within 2.5
// s. The death may fall anywhere between two heartbeats.
func TestCrewTakesOverSoon(t *testing.T) {
	const times = max(20/fewer, 5)
	var took []time.Duration
	for i := range times {
		synctest.Test(t, func(t *testing.T) {
			c := newCrew(t)
			queue := newLedger().queue("", 0)
			a, b := c.start("a", queue), c.start("b", queue)
			time.Sleep(730 * time.Millisecond) // so that the nodes do not beat at the same time
			d := c.start("d", queue)
			time.Sleep(20*time.Second + time.Duration(i)*store.LeaseBeat/times)
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
	if took[times/2] > 2500*time.Millisecond || took[times-1] > 3500*time.Millisecond || took[0] < store.LeaseTTL-store.LeaseBeat {
		t.Errorf("shards of a dead node were taken over after %v; want 2.5s at the median, 3.5s at most, and no less than a heartbeat short of the TTL", took)
	}
	t.Logf("median %v, most %v", took[times/2], took[times-1])
}

// Exactly one node leads. When it stops, another one leads after a moment.
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
						t.Errorf("both %s and %s lead; want one leader", nodes[leader].name, m.name)
					}
					leader = i
				}
			}
			if leader < 0 {
				t.Fatalf("none of %d nodes leads", len(nodes))
			}
			infos, unowned, err := nodes[leader].Nodes(t.Context())
			if err != nil || len(infos) != len(nodes) || len(unowned) > 0 {
				t.Errorf("%d nodes, %d shards without an owner, %v; want %d nodes and no such shard", len(infos), len(unowned), err, len(nodes))
			}
			for _, n := range infos {
				if !n.Alive || n.Self != (n.Addr == nodes[leader].name) {
					t.Errorf("node %+v in the list of %s; want it alive, with its name and shards", n, nodes[leader].name)
				}
			}
			nodes[leader].stop()
			nodes = append(nodes[:leader], nodes[leader+1:]...)
			time.Sleep(2 * within)
		}
	})
}

// Tasks that the caller added in a transaction of its own are attempted at once by the owners of
// their shards, when Committed is called.
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
		for i := range adds { // shards of all nodes
			adds[i].Task.Shard, tasks[i].Shard = uint16(i), uint16(i+i%2*500*64) // some as Rules.Prepare gives them
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

// Shards that move together are reported in one log line. An attempt names the process that made
// it.
func TestCrewLogsMovedShards(t *testing.T) {
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
			t.Errorf("attempts %+v of nodes %+v, %v; want the process id of the list as the attempt's node", log, infos, err)
		}
		b.stop()
		time.Sleep(10 * time.Second)
		a.stop()
		said := text.String()
		if n := strings.Count(said, "shards moved"); n != 3 || !strings.Contains(said, "claimed=0 given_back=") {
			t.Errorf("%d log lines about moved shards; want three: a claims all, b joins, b leaves:\n%s", n, said)
		}
	})
}

// A node that stopped disappears from the list of nodes. A node that died is listed as dead for a
// while.
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
			t.Errorf("nodes after b has left: %s; want a and d", got)
		}
		d.store.cut.Store(true)
		time.Sleep(time.Minute)
		if got := list(); got != "a true d false" {
			t.Errorf("nodes after d has died: %s; want a, and d as dead", got)
		}
		time.Sleep(10 * time.Minute)
		if got := list(); got != "a true" {
			t.Errorf("nodes ten minutes later: %s; want a", got)
		}
		d.stop()
	})
}
