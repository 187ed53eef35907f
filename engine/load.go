package engine

import (
	"context"
	"maps"
	"math"
	"time"

	"github.com/bellmanhq/bellman/internal/sleep"
	"github.com/bellmanhq/bellman/store"
)

// load is the loader's goroutine.
func (l *loader) load(ctx context.Context) error {
	l.busy.Lock()
	defer l.busy.Unlock()
	now := l.clock.Now()
	l.ahead, l.begun = now.UnixMilli(), true
	fast, deep, shelves := now, now, now // the first look back is from the beginning
	for ctx.Err() == nil {
		now := l.clock.Now()
		switch {
		case now.Sub(deep) >= deepSweep:
			fast, deep = now, now
			l.lookBack(l.swept.deep(now))
			clear(l.fullSince)
			if l.shelves.takeFull() || now.Sub(shelves) >= shelfSweep {
				shelves = now
				l.searchShelves(l.leases.Shards())
			}
		case now.Sub(fast) >= fastSweep:
			fast = now
			if !l.leases.Sole() {
				l.lookBack(l.swept.fast(now))
			}
		}
		l.lookAgain(now)
		more, err := l.read(ctx)
		if err != nil && ctx.Err() == nil {
			l.log.Error("due tasks cannot be read", "err", err)
			l.rest(ctx, time.Second, l.kick)
		}
		moved := l.place(ctx, now)
		l.backMs.Store(l.back.VisibleAt)
		switch {
		case more || moved >= enoughMoved || moved > 0 && len(l.pending) == 0:
		case len(l.pending) > 0 || l.back != nowhere || len(l.ready) > 0:
			l.rest(ctx, 2*time.Millisecond, nil)
		default:
			// A wake-up does not postpone the next fast sweep.
			l.rest(ctx, min(fastSweep-now.Sub(fast)%fastSweep, horizon/2), l.kick)
		}
	}
	return nil
}

// enoughMoved is how many tasks must have left the pending ones for another look at once. After
// fewer, the lines get some time to make room: each look reads all lines.
const enoughMoved = 256

// rest naps without the mutex, so that others may look at the loader's state.
func (l *loader) rest(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	l.busy.Unlock()
	defer l.busy.Lock()
	sleep.UntilWoken(ctx, d, wake)
}

// read reads one page of each kind, as far as there is room. more means that the next page can be
// read at once.
func (l *loader) read(ctx context.Context) (more bool, err error) {
	all, waiting := l.agenda.len()
	if all >= l.limits.Agenda-3*l.limits.Page || len(l.pending) >= l.limits.Pending-2*l.limits.Page {
		return false, nil
	}
	l.goBack()
	now := l.clock.Now() // after goBack: readBack ends here, and the missed tasks that are due lie before
	for _, read := range []func(context.Context, time.Time) (bool, error){
		l.readBack,
		l.find,
		l.readShelf,
		func(ctx context.Context, now time.Time) (bool, error) { return l.readSpan(ctx, now, waiting) },
		func(ctx context.Context, now time.Time) (bool, error) { return l.readAhead(ctx, now, waiting) },
		func(ctx context.Context, now time.Time) (bool, error) { return l.readFirst(ctx, &l.apart, now, nil) },
	} {
		again, err := read(ctx, now)
		if err != nil {
			return false, err
		}
		more = more || again
	}
	return more, nil
}

// goBack moves the cursors back to tasks that could not be added to the agenda.
func (l *loader) goBack() {
	missed, ahead := l.agenda.takeMissed()
	l.lookBack(missed)
	if ahead <= l.ahead { // within that millisecond the missed task may be behind the cursor
		l.ahead, l.partly = ahead, store.Position{}
	}
}

// readAhead reads the next page of tasks due soon.
func (l *loader) readAhead(ctx context.Context, now time.Time, waiting int) (more bool, err error) {
	to := now.Add(horizon).UnixMilli()
	if to-l.ahead < horizon.Milliseconds()/2 && l.partly.VisibleAt == 0 || waiting >= l.limits.Waiting {
		// Far enough for now, but read the tasks that were added until now.
		if to = now.UnixMilli() + 1; to <= l.ahead {
			return false, nil
		}
	}
	from := store.Position{VisibleAt: l.ahead}
	if l.partly.VisibleAt != 0 {
		from = l.partly
	}
	since := l.agenda.beginRead(to)
	l.page, err = l.store.Due(ctx, l.leases.Shards(), from, to, l.limits.Page, l.page[:0])
	if err != nil {
		l.agenda.endRead(since, nil, l.ahead, now.UnixMilli(), nil)
		return false, err
	}
	l.ahead, l.partly = to, store.Position{}
	if len(l.page) == l.limits.Page {
		l.partly = l.page[l.limits.Page-1].Position()
		l.ahead = l.partly.VisibleAt
		more = waiting+l.limits.Page < l.limits.Waiting
	}
	want, leftOut := l.withinShares(now)
	l.take(l.agenda.endRead(since, l.page, l.ahead, now.UnixMilli(), want))
	l.lookBack(*leftOut)
	l.ticker.wakeBefore(0)
	return more, nil
}

// readBack reads the next page of overdue tasks. It skips tasks of lines that have their share of
// Limits.Pending, reads on for a while to find tasks of other lines, and then returns to the
// skipped tasks.
func (l *loader) readBack(ctx context.Context, now time.Time) (more bool, err error) {
	if l.back == nowhere || l.back == l.skipped && !l.room() {
		return false, nil
	}
	defer l.publish()
	if l.back == l.skipped {
		l.skipped = nowhere
		l.clearOut()
	}
	since := l.agenda.beginRead(0)
	began := l.clock.Now()
	tooLong, err := l.readBackWithin(ctx, now)
	if err == nil {
		l.swept.read(l.back, l.page, began, l.clock.Now())
	}
	taken := make(map[peers]int)
	past := l.skipped != nowhere
	due := l.agenda.endRead(since, l.page, 0, now.UnixMilli(), func(en *store.Entry, before store.Position) bool {
		p := l.peersOf(en)
		if !l.out[p] && l.share[p]+taken[p] < l.most(p) { // once a task of a line was left out, all later ones are
			taken[p]++
			return true
		}
		l.leaveOut(p, before, now)
		return false
	})
	l.take(due)
	if p, only := only(taken, len(l.page), l.limits.Page); only && l.most(p)-l.share[p] < l.limits.Page/2 {
		l.leaveOut(p, l.page[len(l.page)-1].Position(), now) // the next page would be left out, or most of it
	}
	if tooLong {
		recent := store.Position{VisibleAt: now.Add(-recentPast).UnixMilli()}
		l.readApart(l.leases.Shards(), l.back, recent.VisibleAt)
		l.back = recent
		l.swept.floor.CompareAndSwap(0, recent.VisibleAt)
		return true, nil
	}
	if err != nil {
		return false, err
	}
	switch {
	case !past:
	case len(due) > 0:
		l.pause = pastAgain
	case l.past == 1:
		l.fruitless, l.pause = now, min(2*l.pause, pastLeast)
	}
	switch {
	case len(l.page) == l.limits.Page && (l.skipped == nowhere || l.past > 0):
		l.back = l.page[l.limits.Page-1].Position()
		l.past = max(l.past-1, 0)
		return true, nil
	default:
		l.back = l.skipped // nowhere, if nothing was left out
	}
	return false, nil
}

// readBackWithin reads the next page of overdue tasks. tooLong means that there is none, because
// the part before recentPast could not be read in time.
func (l *loader) readBackWithin(ctx context.Context, now time.Time) (tooLong bool, err error) {
	within := ctx
	if l.back.VisibleAt < now.Add(-recentPast).UnixMilli() {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, sweepPatience)
		defer cancel()
	}
	l.page, err = l.store.Due(within, l.leases.Shards(), l.back, now.UnixMilli()+1, l.limits.Page, l.page[:0])
	if err != nil && ctx.Err() == nil && within.Err() != nil {
		l.page = l.page[:0]
		return true, nil
	}
	return false, err
}

// leaveOut notes that a line has its share, so its tasks after a position wait. The loader may then
// read beyond them.
func (l *loader) leaveOut(p peers, before store.Position, now time.Time) {
	if !l.out[p] {
		l.out[p] = true
		l.outside.add(p.line, 1)
	}
	if l.skipped != nowhere {
		return
	}
	l.skipped, l.past = before, 0
	if now.Sub(l.fruitless) >= l.pause {
		l.past = max(int(math.Round(pastPages*l.leases.Part())), 1) // the other nodes read their share
	}
}

// only returns the line and age class of a page, if the page is full and has no other.
func only(taken map[peers]int, page, full int) (p peers, all bool) {
	for p, n := range taken {
		return p, n == page && n == full
	}
	return p, false
}

// publish stores for which lines due tasks wait on disk, for runner.yield.
func (l *loader) publish() {
	behind := l.behind.Load()
	switch {
	case len(l.out) == 0:
		l.behind.Store(nil)
	case behind == nil || !maps.Equal(*behind, l.out):
		out := maps.Clone(l.out)
		l.behind.Store(&out)
	}
}

// room reports whether a line whose tasks were skipped has room again.
func (l *loader) room() bool {
	for p := range l.out {
		if l.share[p] <= l.most(p)/2 {
			return true
		}
	}
	return false
}
