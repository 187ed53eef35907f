package engine

import (
	"math"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/clock"
	"github.com/bellmanhq/bellman/engine/internal/locks"
	"github.com/bellmanhq/bellman/store"
)

// An agenda holds the tasks of this node that are due soon, due, or in flight. A task is in it
// once, from when it is loaded until its outcome is committed. That prevents two concurrent
// attempts of one task.
type agenda struct {
	clock *clock.Clock

	most        int // items at most: Limits.Agenda
	mostWaiting int // items that are not due yet: Limits.Waiting

	mu     locks.Mutex
	items  map[bellman.ID]*item
	timers timers

	// A new task whose VisibleAt is not after bound is added at once; the loader finds all others.
	// missed is the earliest VisibleAt of a due task that could not be added, missedAhead that of a
	// later task. The loader goes back to both.
	bound       int64
	missed      int64
	missedAhead int64

	shelves *shelves // of deferred tasks

	// Only tasks of these shards are in the agenda, and attempts that were in flight when a shard
	// was left.
	shards  [1 << 16 / 64]uint64
	leaving map[uint16]*leaving

	// takes counts claims of shards, and took is its value at the last claim of each shard. A page
	// that was read, or a commit that was sent, before a claim may be outdated: the former owner
	// may have changed the task since.
	takes uint64
	took  map[uint16]uint64

	// attempted holds the item in flight of each ordering key. freed is called when such an item
	// lands and another task of its key waited for it.
	attempted map[chain]*item
	freed     func(chain)

	// Each reader of a page and each parallel commit records which tasks leave the agenda
	// meanwhile. A page may still show such a task as it was. The loader may also find a committed
	// task and have it attempted before the commit is answered.
	following []*asOf
	page      *asOf // the entry of following for the page being read; nil: none
}

const noTime = math.MaxInt64

// An item is one task in the agenda.
type item struct {
	store.Entry
	task       *bellman.Task // nil until it is needed
	timer      int           // index in the timers
	place      place
	gone       bool          // no longer in the agenda: whoever comes across it ignores it
	urgent     bool          // somebody waits for its attempt
	deferral   bool          // in flight only to be deferred
	handedOver bool          // in flight while its shard moves to another node
	suspect    bool          // due when its last owner died, which it may have caused
	begun      bool          // its attempt has started
	stays      bool          // in flight and cannot be handed over: its shard is not released meanwhile
	awaited    bool          // another task of its chain waits for it
	peers      peers         // the line and age class under which it is counted while pending
	limit      time.Duration // of its attempt, once in flight
	known      time.Time     // the store confirmed its content at this moment or later, on the monotonic clock
	notBefore  int64         // earliest time of its line, if that is after VisibleAt, Unix ms
	changed    int64         // its VisibleAt after a manual change while in flight, Unix ms; 0: no change
	bytes      int64         // of its content, counted in contents.bytes
	chain      *chain        // its ordering key while it is in flight; nil otherwise
}

// A place is where an item is.
type place uint8

const (
	held     place = iota // by the loader or the ticker, on its way to a line
	inTimers              // not due yet
	inLine                // due, in the dispatcher
	inFlight              // being attempted, or its outcome being committed
)

func newAgenda(c *clock.Clock, s *shelves, most, mostWaiting int) *agenda {
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

// takeMissed returns and resets missed and missedAhead.
func (h *agenda) takeMissed() (missed, ahead int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	missed, ahead = h.missed, h.missedAhead
	h.missed, h.missedAhead = noTime, noTime
	return missed, ahead
}

// miss notes a task that could not be added. The caller holds mu.
func (h *agenda) miss(look int64) {
	if look > h.clock.Now().UnixMilli() {
		h.missedAhead = min(h.missedAhead, look)
	} else {
		h.missed = min(h.missed, look)
	}
}

// missItem notes that an item must be read again from the store. The caller holds mu.
func (h *agenda) missItem(it *item) {
	if !isShelf(it.VisibleAt) {
		h.miss(it.VisibleAt)
		return
	}
	merchant := ""
	if it.task != nil {
		merchant = it.task.MerchantNo
	}
	h.shelves.putBack(shelf(it.VisibleAt), it.Line, merchant, it.ID, h.clock.Now())
}

// beginRead announces that the loader reads a page of tasks whose VisibleAt is before bound. 0:
// before the present bound.
func (h *agenda) beginRead(bound int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bound = max(h.bound, bound)
	h.page = h.followed()
}

// endRead adds a page and returns the items that are due. bound is how far everything has been
// read; 0: it does not change. If want is not nil, it decides about each entry that is not in the
// agenda; it also gets the position just before the entry.
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

// when returns when an item may go to its line, Unix ms. For a deferred task this is its due time,
// which may not have come by this node's clock.
func (it *item) when() int64 {
	if isShelf(it.VisibleAt) {
		return it.Due
	}
	return max(it.VisibleAt, it.notBefore)
}

// wait puts an item into the timers. The caller holds mu.
func (h *agenda) wait(it *item) {
	it.place = inTimers
	h.timers.add(it, it.when())
}

// put adds a task that was just committed, if its shard was this node's since before the commit was
// sent and its VisibleAt is not after bound. If it is due now, put returns its item and the caller
// brings it to a line. The caller holds mu.
func (h *agenda) put(t *bellman.Task, since *asOf, now int64) *item {
	look := t.VisibleAt.UnixMilli()
	if isShelf(look) {
		if h.owns(t.Shard) {
			h.shelves.put(shelf(look), store.LineOf(t.Queue, t.Endpoint), t.MerchantNo, t.ID, h.clock.Now())
		}
		return nil
	}
	if look > now && look > h.bound || !h.keeps(t.Shard, since.takes, look) {
		return nil
	}
	if _, ok := h.items[t.ID]; ok || since.past(t.ID, t.Version) {
		return nil // the loader has, or had, the task already
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

// remove takes an item out of the agenda. The caller holds mu.
func (h *agenda) remove(it *item) {
	if it.place == inFlight && !it.gone && !it.handedOver {
		h.landed(it.Shard)
	}
	it.gone = true
	if it.changed != 0 { // the loader may have passed the new row and left it to the flight
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

// unleave forgets that a task left the agenda, so the same version may be added again. The caller
// holds mu.
func (h *agenda) unleave(id bellman.ID) {
	for _, a := range h.following {
		delete(a.left, id)
	}
}

// drop takes items out of the agenda. If again is true, the loader reads those that are still due
// on disk.
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

// renew takes tasks that others changed out of the agenda, except those in flight. The loader reads
// those that are still due.
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

// fly marks an item as in flight, for limit at most. It returns false if the item is gone.
func (h *agenda) fly(it *item, limit time.Duration) bool { return h.take(it, false, limit) }

// defers marks an item as being deferred. It returns false if the item is gone.
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

// begin marks the attempt of an item as started. It returns false if the shard was lost or is being
// released: then its next owner makes the attempt.
func (h *agenda) begin(it *item) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	it.begun = !it.gone && h.owns(it.Shard)
	return it.begun
}

// flying reports whether a task is being attempted, or its outcome being committed.
func (h *agenda) flying(id bellman.ID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	it, ok := h.items[id]
	return ok && it.place == inFlight && !it.deferral
}

// advance takes out at most most items that are due, and appends them to due. more means that there
// may be others. next is when to call again; noTime: nothing waits.
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

// len returns the number of items, and how many of them are not due yet.
func (h *agenda) len() (all, waiting int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.items), len(h.timers)
}

// entryOf returns a task's entry in the due index.
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
