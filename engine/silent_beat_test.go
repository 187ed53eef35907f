package engine_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
)

// The answers to one heartbeat, or to two in a row, never come, as on dead connections. No lease is
// lost: no shard changes its epoch. Attempts go on without a pause, or pause until the third is
// answered.
func TestBeatIsNeverAnswered(t *testing.T) {
	for silent, pause := range map[int64]time.Duration{1: 0, 2: 250 * time.Millisecond} {
		t.Run(fmt.Sprint(silent), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, l := newCrew(t), newLedger()
				a, b := c.start("a", l.queue("a", 0)), c.start("b", l.queue("b", 0))
				defer a.stop()
				defer b.stop()
				time.Sleep(20 * time.Second)
				before, err := c.store.State(t.Context(), "")
				if err != nil {
					t.Fatal(err)
				}
				var ids []bellman.ID
				for i := range 300 {
					if i%100 == 50 {
						a.store.swallow.Store(silent)
					}
					ids = append(ids, add(t, a.Engine, &bellman.Task{Queue: "q"}))
					time.Sleep(100*time.Millisecond + time.Duration(i)*time.Microsecond)
				}
				time.Sleep(10 * time.Second)
				after, err := c.store.State(t.Context(), "")
				if err != nil {
					t.Fatal(err)
				}
				for i := range after.Shards {
					if after.Shards[i].Lease != before.Shards[i].Lease || after.Shards[i].Owner != before.Shards[i].Owner {
						t.Errorf("shard %d changed from %+v to %+v; want no change", i, before.Shards[i], after.Shards[i])
					}
				}
				l.once(t, ids)
				if l.late > pause+50*time.Millisecond {
					t.Errorf("a task was %v late; want a pause of at most %v", l.late, pause)
				}
			})
		})
	}
}

// Nobody takes over a node because the store accepts no writes for a while, although reads show
// that its heartbeats are old. Nodes that expired meanwhile join again and keep their shards.
func TestStoreStalls(t *testing.T) {
	for _, length := range []time.Duration{time.Second, 2 * time.Second, 2500 * time.Millisecond, 3 * time.Second, 5 * time.Second, 10 * time.Second} {
		t.Run(fmt.Sprint(length), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var end atomic.Int64
				c, l := newCrew(t), newLedger()
				c.stalled = func() time.Time { return time.UnixMicro(end.Load()) }
				var nodes []*member
				for i, name := range []string{"a", "b", "c"} {
					time.Sleep(time.Duration(i) * 270 * time.Millisecond) // heartbeats at different moments
					nodes = append(nodes, c.start(name, l.queue(name, 0)))
					defer nodes[i].stop()
				}
				for i := range 20 {
					time.Sleep(20*time.Second + time.Duration(i)*41*time.Millisecond)
					end.Store(time.Now().Add(length).UnixMicro())
				}
				time.Sleep(length + 10*time.Second)
				for _, n := range nodes {
					if took := n.store.takeovers.Load(); took > 0 {
						t.Errorf("node %s took over %d shards; want none", n.name, took)
					}
				}
			})
		})
	}
}

// A node whose heartbeats the store does not accept attempts nothing, and is not ready.
func TestNotReadyWithoutHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var end atomic.Int64
		c, l := newCrew(t), newLedger()
		c.stalled = func() time.Time { return time.UnixMicro(end.Load()) }
		a := c.start("a", l.queue("a", 0))
		defer a.stop()
		time.Sleep(20 * time.Second)
		if err := a.Ready(t.Context()); err != nil {
			t.Errorf("Ready: %v", err)
		}
		end.Store(time.Now().Add(20 * time.Second).UnixMicro())
		time.Sleep(15 * time.Second)
		if err := a.Ready(t.Context()); err == nil {
			t.Error("ready, although the store has accepted no heartbeat for 15s")
		}
		time.Sleep(20 * time.Second)
		if err := a.Ready(t.Context()); err != nil {
			t.Errorf("Ready 15s after the store accepts heartbeats again: %v", err)
		}
	})
}
