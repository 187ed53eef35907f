package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
)

// The answer to a heartbeat never comes, as on a dead connection. No lease is lost: no shard
// changes its epoch, and attempts go on without a pause.
func TestBeatIsNeverAnswered(t *testing.T) {
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
				a.store.swallow.Store(1)
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
		if l.late > 50*time.Millisecond {
			t.Errorf("a task was %v late; want no pause", l.late)
		}
	})
}
