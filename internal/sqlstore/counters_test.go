package sqlstore_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/mysql"
)

// TestCountersMove commits from two stores that move to new slots all the time, while the rows of
// all slots, also those in use, are folded. The counts stay exact, and in the end few rows are
// left.
func TestCountersMove(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		ctx := context.Background()
		url := d.empty(t)
		stores := []*sqlstore.Store{d.with(t, url, mysql.Options{}), d.with(t, url, mysql.Options{})}
		driver := stores[0].Driver()
		if !driver.KeepsVersions() {
			t.Skip("its stores do not move")
		}
		leases := sqltest.LeaseAll(t, stores[0])
		const writers, rounds, each = 4, 60, 3
		var folding, writing sync.WaitGroup
		var over atomic.Bool
		some := false
		folding.Go(func() {
			for !over.Load() {
				any, err := stores[1].FoldSlots(ctx)
				if err != nil {
					t.Errorf("FoldSlots() = %v", err)
					return
				}
				some = some || any
			}
		})
		for w := range writers {
			writing.Go(func() {
				s := stores[w%len(stores)]
				for i := range rounds {
					s.MoveSoon()
					now := time.Now()
					b := sqltest.Adds((w*rounds+i)*each, each, now)
					for j := range b.Adds {
						b.Adds[j].Task.Queue = fmt.Sprint("q", j)
					}
					if err := s.Commit(ctx, b); err != nil {
						t.Errorf("Commit() = %v", err)
						return
					}
					if err := s.Commit(ctx, &store.Batch{Leases: leases, Changes: sqltest.Succeed(b, now)[1:]}); err != nil {
						t.Errorf("Commit() = %v", err)
						return
					}
				}
			})
		}
		writing.Wait()
		over.Store(true)
		folding.Wait()
		if !some {
			t.Error("no call reported that it folded rows")
		}
		for any := true; any; {
			var err error
			any, err = stores[0].FoldSlots(ctx)
			must(t, err)
		}

		const all = writers * rounds
		want := []store.Depth{{Queue: "q0", Pending: all}, {Queue: "q1", Succeeded: all}, {Queue: "q2", Succeeded: all}}
		got, err := stores[0].Depths(ctx)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("Depths() = %v, %v; want %v", got, err, want)
		}
		var moved, folded int64
		must(t, driver.Read(ctx, &sqlstore.Statement{Name: "count", Text: `SELECT COUNT(*) FILTER (WHERE slot >= 64), COUNT(*) FILTER (WHERE slot < 0) FROM bellman_depth`,
			Each: func(r sqlstore.Row) error { return r.Scan(&moved, &folded) }}))
		if queues := int64(3); moved > 0 || folded != 2*queues-1 {
			t.Errorf("%d rows of slots to which stores moved are left, and %d folded ones; want none, and one of each queue and state", moved, folded)
		}
	})
}
