package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman/engine/internal/cluster"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// A slowCounter has a fixed number of overdue tasks and is slow to count them.
type slowCounter struct {
	store.Store
	overdue int64
	takes   time.Duration
	counts  int
}

func (c *slowCounter) CountDue(_ context.Context, _ []uint16, _ store.Position, _, most int64) (int64, error) {
	c.counts++
	time.Sleep(c.takes)
	return min(c.overdue, most), nil
}

// The engine spends at most a hundredth of its time on counting overdue tasks. If the number may
// have crossed a limit meanwhile, the engine counts again at the next check.
func TestBacklogIsCountedSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowCounter{Store: memory.New(), overdue: 500, takes: 100 * time.Millisecond}
		i := &intake{store: store, leases: new(cluster.Member), committer: new(committer)}
		var b backlog
		look := func(full bool) int64 {
			time.Sleep(houseEvery)
			n, err := b.overdue(t.Context(), i, 0, time.Now(), 1000, 200, full)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		for range 60 {
			if n := look(false); n != 500 {
				t.Fatalf("Overdue = %d; want 500", n)
			}
		}
		if store.counts < 60/11 || store.counts > 60/10+1 {
			t.Errorf("counted %d times in a minute, a tenth of a second each; want a hundredth of the time", store.counts)
		}

		look(false)
		before := store.counts
		for look(false); store.counts == before; look(false) { // until it has just counted
		}
		before = store.counts
		i.committer.added.Add(600)
		store.overdue = 1100
		if n := look(false); n != 1000 || store.counts != before+1 {
			t.Errorf("after 600 more tasks: %d overdue, counted %d more times; want 1000 at the first check", n, store.counts-before)
		}
		i.committer.attempted.Add(950)
		store.overdue = 150
		if n := look(true); n != 150 || store.counts != before+2 {
			t.Errorf("after 950 attempts: %d overdue, counted %d more times; want 150 at the first check", n, store.counts-before)
		}
	})
}
