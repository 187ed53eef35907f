package engine

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman/engine/internal/clock"
	"github.com/bellmanhq/bellman/engine/internal/cluster"
	"github.com/bellmanhq/bellman/engine/internal/dispatch"
	"github.com/bellmanhq/bellman/engine/internal/locks"
	"github.com/bellmanhq/bellman/internal/sleep"
	"github.com/bellmanhq/bellman/store"
)

// How far and how often the loader reads.
const (
	horizon = 5 * time.Minute // how far ahead it reads

	fastSweep  = time.Second      // interval at which it reads again what was due in the last recentPast
	deepSweep  = time.Minute      // interval at which it reads again everything overdue
	shelfSweep = 10 * time.Minute // interval at which it searches for shelves, because a database that failed over may have lost outcomes

	pastPages = 5 // pages it reads beyond the tasks of a line that has its share of Limits.Pending
	pastAgain = time.Second
	pastLeast = 8 * time.Second // longest pause between such reads, after reads that found no other line
)

// A loader reads tasks from the store into the agenda. It alternates, a page each, between tasks
// due soon (ahead), overdue tasks (back), shelves of lines that may go, and ranges that it was told
// to read again. It belongs to one goroutine.
type loader struct {
	store     store.Store
	log       *slog.Logger
	clock     *clock.Clock
	leases    *cluster.Member
	agenda    *agenda
	dispatch  *dispatch.D[*item]
	contents  *contents
	pauses    *pauses
	shelves   *shelves
	ticker    *ticker
	deferrals *deferrals
	lines     *lines
	outside   *outside
	pump      func() // starts attempts
	limits    Limits

	kick    sleep.Waker                    // wakes the loader
	backMs  atomic.Int64                   // overdue tasks from this VisibleAt on are not in the agenda; noTime: none
	behind  atomic.Pointer[map[peers]bool] // lines whose due tasks wait on disk because the lines are full; nil: none
	rescans rescans                        // ranges that it must read again

	busy    locks.Mutex // held except while the loader naps
	begun   bool
	page    []store.Entry
	pending []*item       // due, waiting for room in their lines
	share   map[peers]int // number of pending items

	ahead  int64          // tasks due before it were read; Unix ms
	partly store.Position // the last task that was read, if the last page ended within that millisecond; zero: it did not

	swept sweep // how deep the next deep sweep goes

	back      store.Position // cursor of overdue tasks; nowhere: all were read
	skipped   store.Position // just before the first task that was skipped because its line had its share
	out       map[peers]bool // lines whose tasks were skipped
	past      int            // pages still to read beyond skipped
	fruitless time.Time      // when such reads last found no other line
	pause     time.Duration  // until the next such read

	ready  []shelf   // shelves that may be read
	looked time.Time // when ready was filled
	search *search   // search for shelves; nil: none

	fullSince map[peers]time.Time // since when lines have had no room for all their pending items

	spans []span // ranges to read again
	apart []span // of single shards: what could not be read of all shards in time
}

func (l *loader) init() {
	l.kick = sleep.NewWaker()
	l.share = make(map[peers]int)
	l.out = make(map[peers]bool)
	l.fullSince = make(map[peers]time.Time)
	l.pause, l.skipped = pastAgain, nowhere
	l.backMs.Store(noTime)
	locks.Name(&l.busy, "loader")
	locks.Name(&l.rescans.mu, "rescans")
}

// wake makes the loader look for more at once.
func (l *loader) wake() { l.kick.Wake() }

func (l *loader) peersOf(en *store.Entry) peers {
	age, of := l.dispatch.Age(uint64(en.Line), int(en.Attempts))
	return peers{en.Line, age, of, isShelf(en.VisibleAt)}
}

// most bounds the pending tasks of one line and age class.
func (l *loader) most(p peers) int { return max(l.limits.Peers/p.of, 1) }

var nowhere = store.Position{VisibleAt: noTime}

// lookBack moves the cursor of overdue tasks back to a VisibleAt; noTime: it stays. Tasks that were
// skipped after that are read again too.
func (l *loader) lookBack(visibleAt int64) {
	if visibleAt != noTime && visibleAt <= min(l.back.VisibleAt, l.skipped.VisibleAt) {
		l.back, l.skipped = store.Position{VisibleAt: visibleAt}, nowhere
		l.clearOut()
	}
}

// clearOut forgets for which lines tasks were left out.
func (l *loader) clearOut() {
	for p := range l.out {
		l.outside.add(p.line, -1)
	}
	clear(l.out)
}

// take appends due items to those that wait for room in their lines.
func (l *loader) take(due []*item) {
	for _, it := range due {
		l.count(it, l.peersOf(&it.Entry))
	}
	l.pending = append(l.pending, due...)
}

// count adds an item to the share of its line.
func (l *loader) count(it *item, p peers) {
	it.peers = p
	if l.share[p]++; l.share[p] == 1 {
		l.outside.add(p.line, 1)
	}
}

// readRange reads one page of a range into l.page, and adds it to the agenda: all of it, or what
// want says.
func (l *loader) readRange(ctx context.Context, shards []uint16, from store.Position, to int64, limit int, now time.Time, want func(*store.Entry, store.Position) bool) (err error) {
	since := l.agenda.beginRead(0)
	l.page, err = l.store.Due(ctx, shards, from, to, limit, l.page[:0])
	l.take(l.agenda.endRead(since, l.page, 0, now.UnixMilli(), want))
	return err
}

// withinShares returns a function for endRead. Of the due tasks of a line, it wants no more than
// the line's share of Limits.Pending. *leftOut is then the earliest VisibleAt of the others, which
// readBack must read; noTime: none.
func (l *loader) withinShares(now time.Time) (want func(*store.Entry, store.Position) bool, leftOut *int64) {
	leftOut = new(int64(noTime))
	taken := make(map[peers]int)
	return func(en *store.Entry, _ store.Position) bool {
		if en.VisibleAt > now.UnixMilli() {
			return true
		}
		p := l.peersOf(en)
		if l.share[p]+taken[p] < l.most(p) {
			taken[p]++
			return true
		}
		*leftOut = min(*leftOut, en.VisibleAt)
		return false
	}, leftOut
}

// among returns the shards in the list that this node owns.
func (l *loader) among(shards []uint16) []uint16 {
	owned := l.leases.Shards()
	var both []uint16
	for _, s := range shards {
		if _, ok := slices.BinarySearch(owned, s); ok {
			both = append(both, s)
		}
	}
	return both
}

// A search looks for the shelves of shards that this node claimed.
type search struct {
	shards []uint16
	at     store.Position
}

// rescans are ranges of the due index that the loader must read again: shards that this node
// claimed, and tasks that others added.
type rescans struct {
	mu    locks.Mutex
	won   []uint16
	spans []span
}

// A span is a range of the due index of some shards.
type span struct {
	shards []uint16
	at     store.Position // where to continue
	to     int64          // Unix ms, exclusive
}

// maxSpans bounds the waiting spans.
const maxSpans = 64

// all makes the loader read everything of these shards that is due now or soon.
func (f *rescans) all(shards []uint16) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.won = append(f.won, shards...)
}

// span makes the loader read tasks whose VisibleAt is from since to until.
func (f *rescans) span(shards []uint16, since, until int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := span{shards, store.Position{VisibleAt: since}, until + 1}
	for i := range f.spans {
		if s := &f.spans[i]; len(f.spans) == maxSpans || s.near(next) {
			s.shards = slices.Compact(slices.Sorted(slices.Values(slices.Concat(s.shards, shards))))
			s.at.VisibleAt, s.to = min(s.at.VisibleAt, next.at.VisibleAt), max(s.to, next.to)
			return
		}
	}
	f.spans = append(f.spans, next)
}

func (f *rescans) take() (won []uint16, spans []span) {
	f.mu.Lock()
	defer f.mu.Unlock()
	won, spans, f.won, f.spans = f.won, f.spans, nil, nil
	return won, spans
}

// near reports whether two spans should be read as one.
func (s *span) near(t span) bool {
	const gap = 1000 // ms
	return s.at.VisibleAt <= t.to+gap && t.at.VisibleAt <= s.to+gap
}
