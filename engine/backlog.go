package engine

import (
	"context"
	"time"

	"github.com/bellmanhq/bellman/store"
)

// A backlog knows about how many overdue tasks wait on disk. To count them costs the
// store time in proportion to their number, so it is done for a small part of the
// time, and at once where what was added or attempted since may have crossed a mark.
// It belongs to one goroutine.
type backlog struct {
	counted int64     // at the last count
	next    time.Time // when to count again
	moved   moved     // until then
}

// moved counts tasks that were added and attempted, since the engine started.
type moved struct{ added, attempted int64 }

// netAdded is how many more tasks were added than attempted, since the engine started.
func (e *Engine) netAdded() int64 { return e.moved.added.Load() - e.moved.attempted.Load() }

const (
	countPart  = 100 // counting takes at most one part in so many of the time
	countLeast = 10 * time.Second
)

// overdue returns how many overdue tasks wait on disk from a look on, up to most, as
// counted now or lately. full says that nothing is taken in until there are fewer
// than low.
func (b *backlog) overdue(ctx context.Context, e *Engine, from int64, now time.Time, most, low int64, full bool) (int64, error) {
	at := moved{e.moved.added.Load(), e.moved.attempted.Load()}
	above := !full && b.counted < most && b.counted+at.added-b.moved.added >= most
	below := full && b.counted >= low && b.counted-(at.attempted-b.moved.attempted) < low
	if now.Before(b.next) && !above && !below {
		return min(b.counted, most), nil
	}
	began := time.Now()
	n, err := e.countOverdue(ctx, store.Position{VisibleAt: from}, now.UnixMilli(), most)
	if err != nil {
		return n, err
	}
	took := time.Since(began)
	*b = backlog{counted: n, next: now.Add(min(countPart*took, countLeast)), moved: at}
	return n, nil
}
