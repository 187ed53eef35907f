package engine

import (
	"math"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/wheel"
)

// A hand is what this node has taken in hand: the tasks that are due soon, due,
// or in flight. Whatever is in hand is there once, from when it is loaded until
// what became of it is committed; that is what keeps two attempts of one task
// from being made at once.
type hand struct {
	clock *clock
	mu    sync.Mutex
	items map[bellman.ID]*item
	wheel *wheel.Wheel[*item] // items not due yet; ticks are Unix ms

	// What is added with a look before bound is taken in hand at once; the loader
	// finds the rest. missed is the earliest look that could not be taken in, and
	// missedAhead the earliest of those that were not due then: the loader goes back
	// to them, and reads ahead from there.
	bound       int64
	missed      int64
	missedAhead int64

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

	// What is being added beside the lane, and whether it has left the hand meanwhile: the
	// loader may find it, and its attempt be recorded, before who adds it hears that it is there.
	beside map[bellman.ID]bool

	// While a page is being read, what leaves the hand is remembered: the page may
	// still show it as it was.
	reading bool
	since   uint64 // what takes was when the read began
	left    map[bellman.ID]struct{}
}

const noTime = math.MaxInt64

// maxInHand bounds the tasks in hand; the rest wait on disk. maxInWheel is the
// part of it that the loader fills with tasks that are not due yet.
const (
	maxInHand  = 100_000
	maxInWheel = 50_000
)

// An item is one task in hand.
type item struct {
	bellman.Entry
	task    *bellman.Task // nil until it is needed
	timer   wheel.Handle
	place   place
	gone    bool          // replaced or dropped: whoever comes upon it leaves it alone
	urgent  bool          // somebody waits for its attempt
	aside   bool          // in flight only to be set aside
	parked  bool          // in flight while its shard is another node's, or about to be
	suspect bool          // due when its last owner died: perhaps it killed it
	awaited bool          // another of its chain had to wait for it
	peers   peers         // that it counts for while it is pending
	limit   time.Duration // of its attempt, once it is in flight
	readMs  int64         // when its content was read; Unix ms
	bytes   int64         // of its content that count against the budget for contents in memory
	chain   *chain        // whose task in flight it is; nil: it has no ordering key, or is not in flight
}

// place says where an item is.
type place uint8

const (
	held     place = iota // by the loader or the ticker, on its way to a line
	inWheel               // not due yet
	inLine                // due, in the dispatcher
	inFlight              // being attempted, or its outcome being committed
)

func newHand(c *clock) *hand {
	return &hand{
		clock:       c,
		items:       make(map[bellman.ID]*item),
		wheel:       wheel.New[*item](c.now().UnixMilli()),
		missed:      noTime,
		missedAhead: noTime,
		left:        make(map[bellman.ID]struct{}),
		beside:      make(map[bellman.ID]bool),

		attempted: make(map[chain]*item),

		leaving: make(map[uint16]*leaving),
		took:    make(map[uint16]uint64),
	}
}

// takeMissed returns the earliest look that could not be taken in hand since it
// was asked last, and the earliest that was still to come then; noTime: there was none.
func (h *hand) takeMissed() (missed, ahead int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	missed, ahead = h.missed, h.missedAhead
	h.missed, h.missedAhead = noTime, noTime
	return missed, ahead
}

// miss notes what could not be taken in hand. Call it with mu held.
func (h *hand) miss(look int64) {
	if look > h.clock.now().UnixMilli() {
		h.missedAhead = min(h.missedAhead, look)
	} else {
		h.missed = min(h.missed, look)
	}
}

// beginRead announces that the loader reads a page, of what has a look before
// bound at most; 0: before what bound is anyhow.
func (h *hand) beginRead(bound int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bound = max(h.bound, bound)
	h.reading, h.since = true, h.takes
}

// endRead takes a page in hand and returns those of its items that are due.
// Everything with a look before bound has been read (0: as far as it had been).
// want, if it is not nil, is asked about each entry that is not in hand, with
// the position just before it.
func (h *hand) endRead(page []bellman.Entry, bound, now int64, want func(*bellman.Entry, bellman.Position) bool) (due []*item) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range page {
		en := &page[i]
		if !h.keeps(en.Shard, h.since, en.Look) {
			continue
		}
		old, ok := h.items[en.ID]
		if ok && (old.Version >= en.Version || old.place == inFlight) {
			continue
		}
		if _, ok := h.left[en.ID]; ok {
			continue
		}
		if want != nil {
			before := bellman.Position{Look: en.Look}
			if i > 0 {
				before = bellman.Position{Look: page[i-1].Look, ID: page[i-1].ID}
			}
			if !want(en, before) {
				continue
			}
		}
		if ok { // another node changed the task
			h.remove(old)
			delete(h.left, en.ID)
		}
		it := &item{Entry: *en}
		h.items[en.ID] = it
		if en.Look <= now {
			due = append(due, it)
		} else {
			h.wait(it)
		}
	}
	if bound != 0 {
		h.bound = bound
	}
	h.reading = false
	clear(h.left)
	return due
}

// endReadEarly takes those of a page in hand that were due before their look,
// but for the lines that are paused, and returns them.
func (h *hand) endReadEarly(page []bellman.Entry, now int64, paused map[bellman.Line]bool) (due []*item) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range page {
		en := &page[i]
		if en.Due > now || paused[en.Line] || !h.keeps(en.Shard, h.since, en.Look) {
			continue
		}
		if _, ok := h.left[en.ID]; ok {
			continue
		}
		it, ok := h.items[en.ID]
		switch {
		case !ok:
			it = &item{Entry: *en}
			h.items[en.ID] = it
		case it.place == inWheel && it.Version == en.Version:
			h.wheel.Cancel(it.timer)
			it.place = held
		default:
			continue // on its way already
		}
		due = append(due, it)
	}
	h.reading = false
	clear(h.left)
	return due
}

// wait puts an item into the wheel. Call it with mu held.
func (h *hand) wait(it *item) {
	it.place = inWheel
	it.timer = h.wheel.Add(it.Look, it)
}

// put takes a task in hand that was just committed, if it is of this node's shards, since
// before the commit was sent, and due before bound.
// It returns the item if it is due now; the caller brings it to a line. Call it
// with mu held.
func (h *hand) put(t *bellman.Task, since uint64, now int64) *item {
	look := t.Look.UnixMilli()
	if look > now && look >= h.bound || !h.keeps(t.Shard, since, look) {
		return nil
	}
	if _, ok := h.items[t.ID]; ok || h.beside[t.ID] {
		return nil // the loader was quicker
	}
	if len(h.items) >= maxInHand {
		h.miss(look)
		return nil
	}
	it := &item{Entry: entryOf(t), urgent: t.Trigger == bellman.BySettle}
	h.items[t.ID] = it
	if look > now {
		h.wait(it)
		return nil
	}
	it.task = t
	return it
}

// remove takes an item out of the hand. Call it with mu held.
func (h *hand) remove(it *item) {
	if it.place == inFlight && !it.gone && !it.parked {
		h.landed(it.Shard)
	}
	it.gone = true
	h.endTurn(it)
	if it.place == inWheel {
		h.wheel.Cancel(it.timer)
	}
	if h.items[it.ID] == it {
		delete(h.items, it.ID)
	}
	if h.reading {
		h.left[it.ID] = struct{}{}
	}
	if _, adding := h.beside[it.ID]; adding {
		h.beside[it.ID] = true
	}
}

// beginAdds announces that tasks are added beside the lane, and returns what takes was
// then. Call endAdds when they have been taken in hand.
func (h *hand) beginAdds(adds []bellman.Add) (since uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range adds {
		h.beside[adds[i].Task.ID] = false
	}
	return h.takes
}

func (h *hand) endAdds(adds []bellman.Add) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range adds {
		delete(h.beside, adds[i].Task.ID)
	}
}

// drop takes items out of the hand; where they are still due on disk, the
// loader goes back to them if again is true.
func (h *hand) drop(again bool, items ...*item) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, it := range items {
		if it.gone {
			continue
		}
		if again {
			h.miss(it.Look)
		}
		h.remove(it)
		if again {
			delete(h.left, it.ID)
		}
	}
}

// renew takes tasks out of the hand that others have changed, but for those in flight.
// Where they are still due on disk, the loader goes back to them.
func (h *hand) renew(ids []bellman.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range ids {
		if it, ok := h.items[id]; ok && it.place != inFlight {
			h.miss(it.Look)
			h.remove(it)
			delete(h.left, id)
		}
	}
}

// fly notes that an item is about to be attempted, for so long at most; false if it
// must not be.
func (h *hand) fly(it *item, limit time.Duration) bool { return h.take(it, false, limit) }

// setAside notes that an item is about to be set aside; false if it must not be.
func (h *hand) setAside(it *item) bool { return h.take(it, true, 0) }

func (h *hand) take(it *item, aside bool, limit time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if it.gone {
		return false
	}
	it.place, it.aside, it.limit = inFlight, aside, limit
	return true
}

// flying reports whether a task is being attempted, or what came of it committed.
func (h *hand) flying(id bellman.ID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	it, ok := h.items[id]
	return ok && it.place == inFlight && !it.aside
}

// advance moves the wheel and appends to due what became due, up to the length
// of fired; more says that there may be more. next is when to come again
// (noTime: nothing waits).
func (h *hand) advance(now int64, fired []wheel.Fired[*item], due []*item) (_ []*item, more bool, next int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := h.wheel.Advance(now, fired)
	for i := range n {
		fired[i].Value.place = held
		due = append(due, fired[i].Value)
	}
	clear(fired[:n])
	next, ok := h.wheel.Next()
	if !ok {
		next = noTime
	}
	return due, n == len(fired), next
}

// len returns how many items are in hand, and how many of them wait in the wheel.
func (h *hand) len() (all, waiting int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.items), h.wheel.Len()
}

// entryOf is what the due index says of a task.
func entryOf(t *bellman.Task) bellman.Entry {
	return bellman.Entry{
		ID:       t.ID,
		Look:     t.Look.UnixMilli(),
		Due:      t.Due.UnixMilli(),
		Line:     bellman.LineOf(t.Queue, t.Endpoint),
		Version:  t.Version,
		Attempts: uint32(t.Attempts),
		Shard:    t.Shard,
	}
}
