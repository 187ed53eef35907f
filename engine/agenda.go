package engine

import (
	"math"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/locks"
	"github.com/bellmanhq/bellman/store"
)

// A hand is what this node has taken in hand: the tasks that are due soon, due,
// or in flight. Whatever is in hand is there once, from when it is loaded until
// what became of it is committed; that is what keeps two attempts of one task
// from being made at once.
type agenda struct {
	clock *clock

	most        int // tasks in hand: Limits.Hand
	mostWaiting int // of them not due yet: Limits.Waiting; the rest is for what is due

	mu     locks.Mutex
	items  map[bellman.ID]*item
	timers timers

	// What is added with a look up to bound is taken in hand at once; the loader finds the
	// rest. It may have read a part of those with a look of just bound, in the order of
	// their identifiers: what is added there may be behind where it goes on. missed is the earliest look that could not be taken in, and
	// missedAhead the earliest of those that were not due then: the loader goes back
	// to them, and reads ahead from there.
	bound       int64
	missed      int64
	missedAhead int64

	shelves *shelves // of the tasks that are deferred

	// Only tasks of these shards are in hand, but for what was in flight when one
	// was left.
	shards  [1 << 16 / 64]uint64
	leaving map[uint16]*leaving

	// takes grows whenever shards are taken, and took is what it was then. What was read
	// or committed before a shard was taken may have been changed by its owner since.
	takes uint64
	took  map[uint16]uint64

	// attempted are the items in flight of those that have an ordering key; freed is
	// told when one of them lands that others had to wait for.
	attempted map[chain]*item
	freed     func(chain)

	// What leaves the hand while something is read or written is remembered for it: a page may
	// still show a task as it was, and the loader may find what a commit has written, and its attempt be
	// recorded, before that commit is answered.
	following []*asOf
	page      *asOf // of them, that of the page being read; nil: none is
}

const noTime = math.MaxInt64

// An item is one task in hand.
type item struct {
	store.Entry
	task       *bellman.Task // nil until it is needed
	timer      int           // where it is among the timers, while it waits
	place      place
	gone       bool          // replaced or dropped: whoever comes upon it leaves it alone
	urgent     bool          // somebody waits for its attempt
	deferral   bool          // in flight only to be deferred
	handedOver bool          // in flight while its shard is another node's, or about to be
	suspect    bool          // due when its last owner died: perhaps it killed it
	begun      bool          // its attempt is being made, or was
	stays      bool          // in flight, and could not be handedOver: its shard is not given back meanwhile
	awaited    bool          // another of its chain had to wait for it
	peers      peers         // that it counts for while it is pending
	limit      time.Duration // of its attempt, once it is in flight
	known      time.Time     // the store confirmed its content then, or later; on the monotonic clock
	notBefore  int64         // when it may go to its line, if that is after its look, Unix ms
	changed    int64         // its look by a change by hand while it was in flight; 0: there was none
	bytes      int64         // of its content that count against the budget for contents in memory
	chain      *chain        // whose task in flight it is; nil: it has no ordering key, or is not in flight
}

// place says where an item is.
type place uint8

const (
	held     place = iota // by the loader or the ticker, on its way to a line
	inTimers              // not due yet
	inLine                // due, in the dispatcher
	inFlight              // being attempted, or its outcome being committed
)

func newAgenda(c *clock, s *shelves, most, mostWaiting int) *agenda {
	return &agenda{
		clock:       c,
		shelves:     s,
		most:        most,
		mostWaiting: mostWaiting,
		items:       make(map[bellman.ID]*item),
		missed:      noTime,
		missedAhead: noTime,

		attempted: make(map[chain]*item),

		leaving: make(map[uint16]*leaving),
		took:    make(map[uint16]uint64),
	}
}

// takeMissed returns the earliest look that could not be taken in hand since it
// was asked last, and the earliest that was still to come then; noTime: there was none.
func (h *agenda) takeMissed() (missed, ahead int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	missed, ahead = h.missed, h.missedAhead
	h.missed, h.missedAhead = noTime, noTime
	return missed, ahead
}

// miss notes what could not be taken in hand. Call it with mu held.
func (h *agenda) miss(look int64) {
	if look > h.clock.now().UnixMilli() {
		h.missedAhead = min(h.missedAhead, look)
	} else {
		h.missed = min(h.missed, look)
	}
}

// missItem notes that an item is to be read again, where it stands on disk. Call it with mu held.
func (h *agenda) missItem(it *item) {
	if !isShelf(it.VisibleAt) {
		h.miss(it.VisibleAt)
		return
	}
	merchant := ""
	if it.task != nil {
		merchant = it.task.MerchantNo
	}
	h.shelves.putBack(shelf(it.VisibleAt), it.Line, merchant, it.ID, h.clock.now())
}

// beginRead announces that the loader reads a page, of what has a look before
// bound at most; 0: before what bound is anyhow.
func (h *agenda) beginRead(bound int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bound = max(h.bound, bound)
	h.page = h.followed()
}

// endRead takes a page in hand and returns those of its items that are due.
// Everything with a look before bound has been read (0: as far as it had been).
// want, if it is not nil, is asked about each entry that is not in hand, with
// the position just before it.
func (h *agenda) endRead(page []store.Entry, bound, now int64, want func(*store.Entry, store.Position) bool) (due []*item) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range page {
		en := &page[i]
		if !h.keeps(en.Shard, h.page.takes, en.VisibleAt) {
			continue
		}
		old, ok := h.items[en.ID]
		if ok && (old.Version >= en.Version || old.place == inFlight) {
			continue
		}
		if h.page.past(en.ID, en.Version) {
			continue
		}
		if want != nil {
			before := store.Position{VisibleAt: en.VisibleAt}
			if i > 0 {
				before = store.Position{VisibleAt: page[i-1].VisibleAt, ID: page[i-1].ID}
			}
			if !want(en, before) {
				continue
			}
		}
		if ok { // another node changed the task
			h.remove(old)
			h.unleave(en.ID)
		}
		it := &item{Entry: *en}
		h.items[en.ID] = it
		if it.when() <= now {
			due = append(due, it)
		} else {
			h.wait(it)
		}
	}
	if bound != 0 {
		h.bound = bound
	}
	h.unfollowed(h.page)
	h.page = nil
	return due
}

// when is when an item may go to its line, Unix ms. One that is deferred is due; but the node that deferred it may have had another clock.
func (it *item) when() int64 {
	if isShelf(it.VisibleAt) {
		return it.Due
	}
	return max(it.VisibleAt, it.notBefore)
}

// wait has an item wait until it is due. Call it with mu held.
func (h *agenda) wait(it *item) {
	it.place = inTimers
	h.timers.add(it, it.when())
}

// put takes a task in hand that was just committed, if it is of this node's shards, since
// before the commit was sent, and its look is not after bound.
// It returns the item if it is due now; the caller brings it to a line. Call it
// with mu held.
func (h *agenda) put(t *bellman.Task, since *asOf, now int64) *item {
	look := t.VisibleAt.UnixMilli()
	if isShelf(look) {
		if h.owns(t.Shard) {
			h.shelves.put(shelf(look), store.LineOf(t.Queue, t.Endpoint), t.MerchantNo, t.ID, h.clock.now())
		}
		return nil
	}
	if look > now && look > h.bound || !h.keeps(t.Shard, since.takes, look) {
		return nil
	}
	if _, ok := h.items[t.ID]; ok || since.past(t.ID, t.Version) {
		return nil // the loader was quicker: it has the task, or had it
	}
	if len(h.items) >= h.most || look > now && len(h.timers) >= h.mostWaiting {
		h.miss(look)
		return nil
	}
	it := &item{Entry: entryOf(t), urgent: t.Trigger == bellman.BySettle}
	h.items[t.ID] = it
	if look > now {
		h.wait(it)
		return nil
	}
	it.task, it.known = t, since.at
	return it
}

// remove takes an item out of the hand. Call it with mu held.
func (h *agenda) remove(it *item) {
	if it.place == inFlight && !it.gone && !it.handedOver {
		h.landed(it.Shard)
	}
	it.gone = true
	if it.changed != 0 { // the loader may have been there already, and left it to the flight
		it.VisibleAt = it.changed
		h.missItem(it)
	}
	h.endTurn(it)
	if it.place == inTimers {
		h.timers.remove(it)
	}
	if h.items[it.ID] == it {
		delete(h.items, it.ID)
	}
	for _, a := range h.following {
		a.left[it.ID] = it.Version
	}
}

// unleave forgets that a task left the hand: it may be taken in again as it was. Call it with mu held.
func (h *agenda) unleave(id bellman.ID) {
	for _, a := range h.following {
		delete(a.left, id)
	}
}

// drop takes items out of the hand; where they are still due on disk, the
// loader goes back to them if again is true.
func (h *agenda) drop(again bool, items ...*item) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, it := range items {
		if it.gone {
			continue
		}
		if again {
			h.missItem(it)
		}
		h.remove(it)
		if again {
			h.unleave(it.ID)
		}
	}
}

// renew takes tasks out of the hand that others have changed, but for those in flight.
// Where they are still due on disk, the loader goes back to them.
func (h *agenda) renew(ids []bellman.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range ids {
		if it, ok := h.items[id]; ok && it.place != inFlight {
			h.missItem(it)
			h.remove(it)
			h.unleave(id)
		}
	}
}

// fly notes that an item is about to be attempted, for so long at most; false if it
// must not be.
func (h *agenda) fly(it *item, limit time.Duration) bool { return h.take(it, false, limit) }

// defers notes that an item is about to be deferred; false if it must not be.
func (h *agenda) defers(it *item) bool { return h.take(it, true, 0) }

func (h *agenda) take(it *item, deferral bool, limit time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if it.gone {
		return false
	}
	it.place, it.deferral, it.limit = inFlight, deferral, limit
	return true
}

// begin notes that the attempt of an item in flight is made now; false if its shard was lost, or
// is being given back: its next owner makes it.
func (h *agenda) begin(it *item) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	it.begun = !it.gone && h.owns(it.Shard)
	return it.begun
}

// flying reports whether a task is being attempted, or what came of it committed.
func (h *agenda) flying(id bellman.ID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	it, ok := h.items[id]
	return ok && it.place == inFlight && !it.deferral
}

// advance takes at most most items that became due, and appends them to due; more says that there
// may be more. next is when to come again (noTime: nothing waits).
func (h *agenda) advance(now int64, most int, due []*item) (_ []*item, more bool, next int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for n := 0; n < most; n++ {
		it := h.timers.due(now)
		if it == nil {
			return due, false, h.timers.next()
		}
		it.place = held
		due = append(due, it)
	}
	return due, true, h.timers.next()
}

// len returns how many items are in hand, and how many of them are not due yet.
func (h *agenda) len() (all, waiting int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.items), len(h.timers)
}

// entryOf is what the due index says of a task.
func entryOf(t *bellman.Task) store.Entry {
	return store.Entry{
		ID:        t.ID,
		VisibleAt: t.VisibleAt.UnixMilli(),
		Due:       t.Due.UnixMilli(),
		Line:      store.LineOf(t.Queue, t.Endpoint),
		Version:   t.Version,
		Attempts:  uint32(t.Attempts),
		Shard:     t.Shard,
	}
}
