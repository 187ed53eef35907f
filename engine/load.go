package engine

import (
	"context"
	"log/slog"
	"maps"
	"math"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman/engine/internal/dispatch"
	"github.com/bellmanhq/bellman/engine/internal/locks"
	"github.com/bellmanhq/bellman/store"
)

// What the loader does at once, and how far ahead.
const (
	horizon = 5 * time.Minute // how far ahead the loader reads

	fastSweep  = time.Second      // looks again at what was due in the last recentPast
	deepSweep  = time.Minute      // looks again at everything overdue, from the beginning
	shelfSweep = 10 * time.Minute // looks for shelves: a store that failed over may have lost outcomes
	recentPast = 30 * time.Second

	pastPages = 5 // how far it reads on past the tasks of a line that has its share of Limits.Pending
	pastAgain = time.Second
	pastLeast = 8 * time.Second // how often at least, where it found nothing of other lines
)

// A loader brings tasks from disk in hand. It reads four ways, a page each in
// turn: ahead, what is due soon; back, what is overdue and not in hand; shelves of lines
// that may go; spans, where other nodes were.
// It belongs to one goroutine.
type loader struct {
	store     store.Store
	log       *slog.Logger
	clock     *clock
	leases    *leases
	agenda    *agenda
	dispatch  *dispatch.D[*item]
	contents  *contents
	pauses    *pauses
	shelves   *shelves
	ticker    *ticker
	deferrals *deferrals
	runner    *runner
	limits    Limits
	sole      bool

	kick    chan struct{}                  // wakes it
	backMs  atomic.Int64                   // there are overdue tasks before it, from this look on; noTime: none
	behind  atomic.Pointer[map[peers]bool] // whose due tasks wait on disk, since their lines are full; nil: nobody's
	rescans rescans                        // what it is told to look at again

	busy    locks.Mutex // held but while it naps
	begun   bool
	page    []store.Entry
	pending []*item       // due, and waiting for room in their lines
	share   map[peers]int // of pending

	ahead  int64 // everything due before it was read; Unix ms
	partly store.Position

	back      store.Position // where to go on; Look noTime: nowhere
	skipped   store.Position // just before the first task that was left out because its line had its share
	out       map[peers]bool // whose tasks were left out
	past      int            // pages to read on past skipped
	fruitless time.Time      // when reading on last found nothing of another line
	pause     time.Duration  // until it reads on again then

	ready  []shelf   // may be read
	looked time.Time // when ready was filled
	search *search   // for shelves; nil: there is none

	fullSince map[peers]time.Time // of what had no room the last time

	spans []span // what others told to look at
}

func newLoader(e *Engine) *loader {
	l := &loader{
		store:     e.store,
		log:       e.log,
		clock:     e.clock,
		leases:    e.leases,
		agenda:    e.agenda,
		dispatch:  e.dispatch,
		contents:  e.runner.contents,
		pauses:    e.pauses,
		shelves:   e.agenda.shelves,
		ticker:    e.ticker,
		runner:    e.runner,
		limits:    e.limits,
		sole:      e.sole,
		kick:      make(chan struct{}, 1),
		share:     make(map[peers]int),
		out:       make(map[peers]bool),
		fullSince: make(map[peers]time.Time),
		pause:     pastAgain,
		skipped:   nowhere,
	}
	l.backMs.Store(noTime)
	locks.Name(&l.busy, "loader")
	locks.Name(&l.rescans.mu, "rescans")
	return l
}

// wake makes the loader look for more at once.
func (l *loader) wake() {
	select {
	case l.kick <- struct{}{}:
	default:
	}
}

// Peers are the tasks of a line that are of one age. They may have room while
// others have none.
type peers struct {
	line store.Line
	age  int
	of   int // how many ages the line tells apart
}

func (l *loader) peersOf(en *store.Entry) peers {
	age, of := l.dispatch.Age(uint64(en.Line), int(en.Attempts))
	return peers{en.Line, age, of}
}

// most is how many of a line's tasks of one age may be pending at once.
func (l *loader) most(p peers) int { return max(l.limits.Peers/p.of, 1) }

var nowhere = store.Position{VisibleAt: noTime}

// load is the loader's goroutine.
func (l *loader) load(ctx context.Context) error {
	l.busy.Lock()
	defer l.busy.Unlock()
	now := l.clock.now()
	l.ahead, l.begun = now.UnixMilli(), true
	fast, deep, shelves := now, now, now // the first look back is from the beginning
	for ctx.Err() == nil {
		now := l.clock.now()
		switch {
		case now.Sub(deep) >= deepSweep:
			fast, deep = now, now
			l.lookBack(0)
			clear(l.fullSince)
			if l.shelves.takeFull() || now.Sub(shelves) >= shelfSweep {
				shelves = now
				l.searchShelves(l.leases.shards())
			}
		case now.Sub(fast) >= fastSweep:
			fast = now
			if !l.sole {
				l.lookBack(now.Add(-recentPast).UnixMilli())
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
		case more || moved > 0:
		case len(l.pending) > 0 || l.back != nowhere || len(l.ready) > 0:
			l.rest(ctx, 2*time.Millisecond, nil)
		default:
			// Whatever wakes it: the next look back is not put off.
			l.rest(ctx, min(fastSweep-now.Sub(fast)%fastSweep, horizon/2), l.kick)
		}
	}
	return nil
}

// rest naps, while which others may look at what the loader knows.
func (l *loader) rest(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	l.busy.Unlock()
	defer l.busy.Lock()
	nap(ctx, d, wake)
}

// lookBack makes the loader look again at what is due since an earlier look. What
// it left out is looked at again anyhow, and with it all that comes after.
func (l *loader) lookBack(look int64) {
	if look <= min(l.back.VisibleAt, l.skipped.VisibleAt) {
		l.back, l.skipped = store.Position{VisibleAt: look}, nowhere
		clear(l.out)
	}
}

// read takes a page of each kind in hand, as far as there is room. more says
// that the next can be read at once.
func (l *loader) read(ctx context.Context) (more bool, err error) {
	all, waiting := l.agenda.len()
	if all >= l.limits.Agenda-3*l.limits.Page || len(l.pending) >= l.limits.Pending-2*l.limits.Page {
		return false, nil
	}
	l.goBack()
	now := l.clock.now() // not before what was missed became due: looking back ends here
	for _, read := range []func(context.Context, time.Time) (bool, error){
		l.readBack,
		l.find,
		l.readShelf,
		func(ctx context.Context, now time.Time) (bool, error) { return l.readSpan(ctx, now, waiting) },
		func(ctx context.Context, now time.Time) (bool, error) { return l.readAhead(ctx, now, waiting) },
	} {
		again, err := read(ctx, now)
		if err != nil {
			return false, err
		}
		more = more || again
	}
	return more, nil
}

// goBack makes the loader read again what could not be taken in hand.
func (l *loader) goBack() {
	missed, ahead := l.agenda.takeMissed()
	if missed != noTime {
		l.lookBack(missed)
	}
	if ahead <= l.ahead { // where it stands within that look, what was missed may be behind
		l.ahead, l.partly = ahead, store.Position{}
	}
}

// readAhead takes the next page of what is due soon in hand.
func (l *loader) readAhead(ctx context.Context, now time.Time, waiting int) (more bool, err error) {
	to := now.Add(horizon).UnixMilli()
	if to-l.ahead < horizon.Milliseconds()/2 && l.partly.VisibleAt == 0 || waiting >= l.limits.Waiting {
		// Far enough for now; but what is added until now is taken in hand.
		if to = now.UnixMilli() + 1; to <= l.ahead {
			return false, nil
		}
	}
	from := store.Position{VisibleAt: l.ahead}
	if l.partly.VisibleAt != 0 {
		from = l.partly
	}
	l.agenda.beginRead(to)
	l.page, err = l.store.Due(ctx, l.leases.shards(), from, to, l.limits.Page, l.page[:0])
	if err != nil {
		l.agenda.endRead(nil, l.ahead, now.UnixMilli(), nil)
		return false, err
	}
	l.ahead, l.partly = to, store.Position{}
	if len(l.page) == l.limits.Page {
		last := l.page[l.limits.Page-1]
		l.ahead, l.partly = last.VisibleAt, store.Position{VisibleAt: last.VisibleAt, ID: last.ID}
		more = waiting+l.limits.Page < l.limits.Waiting
	}
	l.take(l.agenda.endRead(l.page, l.ahead, now.UnixMilli(), nil))
	l.ticker.wakeBefore(0)
	return more, nil
}

// readBack takes the next page of what is overdue in hand. It leaves out tasks
// of lines that have their share of what waits for room, reads on for a while to
// find some of other lines, and comes back to those that it left out.
func (l *loader) readBack(ctx context.Context, now time.Time) (more bool, err error) {
	if l.back == nowhere || l.back == l.skipped && !l.room() {
		return false, nil
	}
	defer l.publish()
	if l.back == l.skipped {
		l.skipped = nowhere
		clear(l.out)
	}
	l.agenda.beginRead(0)
	l.page, err = l.store.Due(ctx, l.leases.shards(), l.back, now.UnixMilli()+1, l.limits.Page, l.page[:0])
	taken := make(map[peers]int)
	past := l.skipped != nowhere
	due := l.agenda.endRead(l.page, 0, now.UnixMilli(), func(en *store.Entry, before store.Position) bool {
		p := l.peersOf(en)
		if !l.out[p] && l.share[p]+taken[p] < l.most(p) { // in order: none of a line before those that were left out
			taken[p]++
			return true
		}
		l.leaveOut(p, before, now)
		return false
	})
	l.take(due)
	if p, only := only(taken, len(l.page), l.limits.Page); only && l.most(p)-l.share[p] < l.limits.Page/2 {
		last := l.page[len(l.page)-1] // the next page would be left out, or most of it
		l.leaveOut(p, store.Position{VisibleAt: last.VisibleAt, ID: last.ID}, now)
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
		last := l.page[l.limits.Page-1]
		l.back = store.Position{VisibleAt: last.VisibleAt, ID: last.ID}
		l.past = max(l.past-1, 0)
		return true, nil
	default:
		l.back = l.skipped // nowhere, if nothing was left out
	}
	return false, nil
}

// leaveOut notes that a line has its share, and what comes after a position has to
// wait. It may be read on past it then.
func (l *loader) leaveOut(p peers, before store.Position, now time.Time) {
	l.out[p] = true
	if l.skipped != nowhere {
		return
	}
	l.skipped, l.past = before, 0
	if now.Sub(l.fruitless) >= l.pause {
		l.past = max(int(math.Round(pastPages*l.leases.part())), 1) // the other nodes look past theirs
	}
}

// only returns whose tasks a page was, if it was full and they were those of one line and age.
func only(taken map[peers]int, page, full int) (p peers, all bool) {
	for p, n := range taken {
		return p, n == page && n == full
	}
	return p, false
}

// publish says for which lines due tasks wait on disk.
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

// room reports whether a line whose tasks were left out could have some more.
func (l *loader) room() bool {
	for p := range l.out {
		if l.share[p] <= l.most(p)/2 {
			return true
		}
	}
	return false
}

// take puts items that are due among those that wait for room in their lines.
func (l *loader) take(due []*item) {
	for _, it := range due {
		it.suspect = it.Due < l.leases.death(it.Shard)
		it.peers = l.peersOf(&it.Entry)
		l.share[it.peers]++
	}
	l.pending = append(l.pending, due...)
}
