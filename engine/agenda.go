package engine

import (
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
	bound  int64
	missed missed // tasks that the loader must read again

	shelves *shelves // of deferred tasks

	shards     agendaShards
	departures departures
	turns      agendaTurns
}

func newAgenda(c *clock.Clock, s *shelves, most, mostWaiting int) *agenda {
	h := &agenda{
		clock:       c,
		shelves:     s,
		most:        most,
		mostWaiting: mostWaiting,
		items:       make(map[bellman.ID]*item),
		missed:      missed{noTime, noTime},
		shards:      agendaShards{leaving: make(map[uint16]*leaving), claimed: make(map[uint16]uint64)},
		turns:       agendaTurns{inFlight: make(map[chain]*item)},
	}
	locks.Name(&h.mu, "agenda")
	locks.Name(&s.mu, "shelves")
	return h
}

// takeMissed returns and resets the earliest VisibleAt of the missed tasks that were due, and of
// the others.
func (h *agenda) takeMissed() (due, ahead int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.missed.take()
}

// miss notes a task that could not be added. The caller holds mu.
func (h *agenda) miss(visibleAt int64) { h.missed.add(visibleAt, h.clock.Now().UnixMilli()) }

// missAll notes tasks with these VisibleAt, Unix ms, which may be in the store and not here.
func (h *agenda) missAll(visibleAts []int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, visibleAt := range visibleAts {
		h.miss(visibleAt)
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
	h.shelves.putBack(&it.Entry, merchant, h.clock.Now())
}

// beginRead announces that the loader reads a page of tasks whose VisibleAt is before bound. 0:
// before the present bound. Every beginRead needs an endRead.
func (h *agenda) beginRead(bound int64) *asOf {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bound = max(h.bound, bound)
	return h.departures.follow(h.shards.claims)
}

// endRead adds a page that was read since beginRead, and returns the items that are due. bound is
// how far everything has been read; 0: it does not change. If want is not nil, it decides about
// each entry that is not in the agenda; it also gets the position just before the entry.
func (h *agenda) endRead(since *asOf, page []store.Entry, bound, now int64, want func(*store.Entry, store.Position) bool) (due []*item) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range page {
		en := &page[i]
		if !h.keeps(en.Shard, since.claims, en.VisibleAt) {
			continue
		}
		old, ok := h.items[en.ID]
		if ok && (old.Version >= en.Version || old.place == inFlight) {
			continue
		}
		if since.past(en.ID, en.Version) {
			continue
		}
		if want != nil {
			before := store.Position{VisibleAt: en.VisibleAt}
			if i > 0 {
				before = page[i-1].Position()
			}
			if !want(en, before) {
				continue
			}
		}
		if ok { // another node changed the task
			h.remove(old)
			h.departures.unleave(en.ID)
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
	h.departures.unfollow(since)
	return due
}

// wait puts an item into the timers. The caller holds mu.
func (h *agenda) wait(it *item) {
	it.place = inTimers
	h.timers.add(it, it.when())
}

// put adds a task that was just committed, if its shard was this node's since before the commit was
// sent and its VisibleAt is not after bound. If it is due now, put returns its item and the caller
// brings it to a line.
func (h *agenda) put(t *bellman.Task, since *asOf, now int64) (due *item) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if due = h.insert(t, since, now); due != nil {
		due.fresh = true
	}
	return due
}

// land removes an item in flight after the commit of its outcome. It puts the task back with its
// new status, unless the task has ended.
func (h *agenda) land(it *item, t *bellman.Task, to *bellman.Status, since *asOf, now int64) (due *item) {
	h.mu.Lock()
	defer h.mu.Unlock()
	it.Version = to.Version // readers that see an earlier version later must drop it
	h.remove(it)
	if to.State.Ended() {
		return nil
	}
	return h.insert(copied(t, *to), since, now)
}

// replace updates the agenda after a change by a caller, for example a cancel: it removes the item,
// and puts the task back unless it has ended. The removed item may wait in a line; it is skipped at
// its turn. An item in flight stays until it lands.
func (h *agenda) replace(t *bellman.Task, since *asOf, now int64) (due *item) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if it, ok := h.items[t.ID]; ok {
		hurry := t.Trigger == bellman.BySettle && it.Version == t.Version && it.place != inFlight
		if it.Version >= t.Version && !hurry {
			return nil // the loader was quicker
		}
		if it.place == inFlight {
			if !t.State.Ended() {
				it.changed = t.VisibleAt.UnixMilli()
			}
			return nil
		}
		h.remove(it)
		if hurry { // the loader queued it behind all others, because it does not know that somebody waits
			h.departures.unleave(it.ID)
		}
	}
	if t.State.Ended() {
		return nil
	}
	return h.insert(t, since, now)
}

// insert is put for a caller that holds mu.
func (h *agenda) insert(t *bellman.Task, since *asOf, now int64) *item {
	visibleAt := t.VisibleAt.UnixMilli()
	if isShelf(visibleAt) {
		if h.shards.has(t.Shard) {
			en := entryOf(t)
			h.shelves.put(&en, t.MerchantNo)
		}
		return nil
	}
	if visibleAt > now && visibleAt > h.bound || !h.keeps(t.Shard, since.claims, visibleAt) {
		return nil
	}
	if _, ok := h.items[t.ID]; ok || since.past(t.ID, t.Version) {
		return nil // the loader has, or had, the task already
	}
	if len(h.items) >= h.most || visibleAt > now && len(h.timers) >= h.mostWaiting {
		h.miss(visibleAt)
		return nil
	}
	it := &item{Entry: entryOf(t), urgent: t.Trigger == bellman.BySettle}
	h.items[t.ID] = it
	if visibleAt > now {
		h.wait(it)
		return nil
	}
	it.task, it.known = t, since.at
	return it
}

// remove takes an item out of the agenda. The caller holds mu.
func (h *agenda) remove(it *item) {
	if it.place == inFlight && !it.gone && !it.handedOver {
		h.shards.landed(it.Shard)
	}
	it.gone = true
	if it.changed != 0 { // the loader may have passed the new row and left it to the flight
		it.VisibleAt = it.changed
		h.missItem(it)
	}
	h.turns.end(it)
	if it.place == inTimers {
		h.timers.remove(it)
	}
	if h.items[it.ID] == it {
		delete(h.items, it.ID)
	}
	h.departures.leave(it.ID, it.Version)
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
			h.departures.unleave(it.ID)
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
			h.departures.unleave(id)
		}
	}
}

// toLine marks an item as in its line. It returns false if the item is gone.
func (h *agenda) toLine(it *item) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if it.gone {
		return false
	}
	it.place = inLine
	return true
}

// hold takes toLine back: the line has no room for the item.
func (h *agenda) hold(it *item) {
	h.mu.Lock()
	defer h.mu.Unlock()
	it.place = held
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

// rewritten gives an item in flight its task as this node has just written it. known is a moment
// before that.
func (h *agenda) rewritten(it *item, t *bellman.Task, known time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	it.task, it.Version, it.known = t, t.Version, known
	it.VisibleAt = t.VisibleAt.UnixMilli() // where the loader finds it if it is not attempted after all
}

// begin marks the attempt of an item as started. It returns false if the shard was lost or is being
// released: then its next owner makes the attempt.
func (h *agenda) begin(it *item) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	it.begun = !it.gone && h.shards.has(it.Shard)
	return it.begun
}

// flying reports whether a task is being attempted, or its outcome being committed.
func (h *agenda) flying(id bellman.ID) bool {
	_, flying := h.flight(id)
	return flying
}

// flight returns how many attempts a task had when the one that is in flight was loaded. flying is
// false if none is in flight. Until a moment after its outcome was stored, an attempt is still in
// flight.
func (h *agenda) flight(id bellman.ID) (attempts uint32, flying bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	it, ok := h.items[id]
	if !ok || it.place != inFlight || it.deferral {
		return 0, false
	}
	return it.Attempts, true
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

// beginTurn marks the turn of an item's chain as taken. ok is false if the item is gone, or if
// another item of the chain is in flight, which is returned.
func (h *agenda) beginTurn(it *item) (other bellman.ID, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if it.gone {
		return other, false
	}
	return h.turns.begin(it)
}

// inTurn reports whether a task of a chain is in flight. If so, turns.freed is called when it
// lands.
func (h *agenda) inTurn(c chain) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.turns.await(c)
}

// later puts an item back into the timers for a while, without its content.
func (h *agenda) later(it *item, wait time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if it.gone {
		return
	}
	it.task = nil
	it.notBefore = h.clock.Now().Add(wait).UnixMilli() + 1
	h.wait(it)
}

// keeps reports whether a task may be added that was read after the given number of claims. If its
// shard was claimed after that, the loader reads the task again. The caller holds mu.
func (h *agenda) keeps(shard uint16, claims uint64, visibleAt int64) bool {
	owned := h.shards.has(shard)
	if owned && h.shards.claimedAfter(shard, claims) {
		h.miss(visibleAt)
		return false
	}
	return owned
}

// moment returns this moment, for commits whose tasks cannot leave the agenda meanwhile.
func (h *agenda) moment() *asOf {
	h.mu.Lock()
	defer h.mu.Unlock()
	return &asOf{claims: h.shards.claims, at: time.Now()}
}

// follow returns this moment, and records tasks that leave the agenda until unfollow.
func (h *agenda) follow() *asOf {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.departures.follow(h.shards.claims)
}

func (h *agenda) unfollow(a *asOf) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.departures.unfollow(a)
}
