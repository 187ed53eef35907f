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
	a := &agenda{
		clock:       c,
		shelves:     s,
		most:        most,
		mostWaiting: mostWaiting,
		items:       make(map[bellman.ID]*item),
		missed:      missed{noTime, noTime},
		shards:      agendaShards{leaving: make(map[uint16]*leaving), claimed: make(map[uint16]uint64)},
		turns:       agendaTurns{inFlight: make(map[chain]*item)},
	}
	locks.Name(&a.mu, "agenda")
	locks.Name(&s.mu, "shelves")
	return a
}

// takeMissed returns and resets the earliest VisibleAt of the missed tasks that were due, and of
// the others.
func (a *agenda) takeMissed() (due, ahead int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.missed.take()
}

// miss notes a task that could not be added. The caller holds mu.
func (a *agenda) miss(visibleAt int64) { a.missed.add(visibleAt, a.clock.Now().UnixMilli()) }

// missAll notes tasks with these VisibleAt, Unix ms, which may be in the store and not here.
func (a *agenda) missAll(visibleAts []int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, visibleAt := range visibleAts {
		a.miss(visibleAt)
	}
}

// missItem notes that an item must be read again from the store. The caller holds mu.
func (a *agenda) missItem(it *item) {
	if !isShelf(it.VisibleAt) {
		a.miss(it.VisibleAt)
		return
	}
	merchant := ""
	if it.task != nil {
		merchant = it.task.MerchantNo
	}
	a.shelves.putBack(&it.Entry, merchant, a.clock.Now())
}

// beginRead announces that the loader reads a page of tasks whose VisibleAt is before bound. 0:
// before the present bound. Every beginRead needs an endRead.
func (a *agenda) beginRead(bound int64) *asOf {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.bound = max(a.bound, bound)
	return a.departures.follow(a.shards.claims)
}

// endRead adds a page that was read since beginRead, and returns the items that are due. bound is
// how far everything has been read; 0: it does not change. If want is not nil, it decides about
// each entry that is not in the agenda; it also gets the position just before the entry.
func (a *agenda) endRead(since *asOf, page []store.Entry, bound, now int64, want func(*store.Entry, store.Position) bool) (due []*item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range page {
		en := &page[i]
		if !a.keeps(en.Shard, since.claims, en.VisibleAt) {
			continue
		}
		old, ok := a.items[en.ID]
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
			a.remove(old)
			a.departures.unleave(en.ID)
		}
		it := &item{Entry: *en}
		a.items[en.ID] = it
		if it.when() <= now {
			due = append(due, it)
		} else {
			a.wait(it)
		}
	}
	if bound != 0 {
		a.bound = bound
	}
	a.departures.unfollow(since)
	return due
}

// wait puts an item into the timers. The caller holds mu.
func (a *agenda) wait(it *item) {
	it.place = inTimers
	a.timers.add(it, it.when())
}

// put adds a task that was just committed, if its shard was this node's since before the commit was
// sent and its VisibleAt is not after bound. If it is due now, put returns its item and the caller
// brings it to a line.
func (a *agenda) put(t *bellman.Task, since *asOf, now int64) (due *item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if due = a.insert(t, since, now); due != nil {
		due.fresh = true
	}
	return due
}

// land removes an item in flight after the commit of its outcome. It puts the task back with its
// new status, unless the task has ended.
func (a *agenda) land(it *item, t *bellman.Task, to *bellman.Status, since *asOf, now int64) (due *item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	it.Version = to.Version // readers that see an earlier version later must drop it
	a.remove(it)
	if to.State.Ended() {
		return nil
	}
	return a.insert(copied(t, *to), since, now)
}

// replace updates the agenda after a change by a caller, for example a cancel: it removes the item,
// and puts the task back unless it has ended. The removed item may wait in a line; it is skipped at
// its turn. An item in flight stays until it lands.
func (a *agenda) replace(t *bellman.Task, since *asOf, now int64) (due *item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if it, ok := a.items[t.ID]; ok {
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
		a.remove(it)
		if hurry { // the loader queued it behind all others, because it does not know that somebody waits
			a.departures.unleave(it.ID)
		}
	}
	if t.State.Ended() {
		return nil
	}
	return a.insert(t, since, now)
}

// insert is put for a caller that holds mu.
func (a *agenda) insert(t *bellman.Task, since *asOf, now int64) *item {
	visibleAt := t.VisibleAt.UnixMilli()
	if isShelf(visibleAt) {
		if a.shards.has(t.Shard) {
			en := entryOf(t)
			a.shelves.put(&en, t.MerchantNo)
		}
		return nil
	}
	if visibleAt > now && visibleAt > a.bound || !a.keeps(t.Shard, since.claims, visibleAt) {
		return nil
	}
	if _, ok := a.items[t.ID]; ok || since.past(t.ID, t.Version) {
		return nil // the loader has, or had, the task already
	}
	if len(a.items) >= a.most || visibleAt > now && len(a.timers) >= a.mostWaiting {
		a.miss(visibleAt)
		return nil
	}
	it := &item{Entry: entryOf(t), urgent: t.Trigger == bellman.BySettle}
	a.items[t.ID] = it
	if visibleAt > now {
		a.wait(it)
		return nil
	}
	it.task, it.known = t, since.at
	return it
}

// remove takes an item out of the agenda. The caller holds mu.
func (a *agenda) remove(it *item) {
	if it.place == inFlight && !it.gone && !it.handedOver {
		a.shards.landed(it.Shard)
	}
	it.gone = true
	if it.changed != 0 { // the loader may have passed the new row and left it to the flight
		it.VisibleAt = it.changed
		a.missItem(it)
	}
	a.turns.end(it)
	if it.place == inTimers {
		a.timers.remove(it)
	}
	if a.items[it.ID] == it {
		delete(a.items, it.ID)
	}
	a.departures.leave(it.ID, it.Version)
}

// drop takes an item out of the agenda.
func (a *agenda) drop(it *item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !it.gone {
		a.remove(it)
	}
}

// reload takes items out of the agenda. The loader reads those that are still due.
func (a *agenda) reload(items ...*item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, it := range items {
		if !it.gone {
			a.reloadItem(it)
		}
	}
}

// renew reloads tasks that others changed, except those in flight.
func (a *agenda) renew(ids []bellman.ID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range ids {
		if it, ok := a.items[id]; ok && it.place != inFlight {
			a.reloadItem(it)
		}
	}
}

// reloadItem is reload of one item for a caller that holds mu.
func (a *agenda) reloadItem(it *item) {
	a.missItem(it)
	a.remove(it)
	a.departures.unleave(it.ID)
}

// toLine marks an item as in its line. It returns false if the item is gone.
func (a *agenda) toLine(it *item) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if it.gone {
		return false
	}
	it.place = inLine
	return true
}

// hold takes toLine back: the line has no room for the item.
func (a *agenda) hold(it *item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	it.place = held
}

// fly marks an item as in flight, for limit at most. It returns false if the item is gone.
func (a *agenda) fly(it *item, limit time.Duration) bool { return a.take(it, false, limit) }

// defers marks an item as being deferred. It returns false if the item is gone.
func (a *agenda) defers(it *item) bool { return a.take(it, true, 0) }

func (a *agenda) take(it *item, deferral bool, limit time.Duration) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if it.gone {
		return false
	}
	it.place, it.deferral, it.limit = inFlight, deferral, limit
	return true
}

// rewritten gives an item in flight its task as this node has just written it. known is a moment
// before that.
func (a *agenda) rewritten(it *item, t *bellman.Task, known time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	it.task, it.Version, it.known = t, t.Version, known
	it.VisibleAt = t.VisibleAt.UnixMilli() // where the loader finds it if it is not attempted after all
}

// begin marks the attempt of an item as started. It returns false if the shard was lost or is being
// released: then its next owner makes the attempt.
func (a *agenda) begin(it *item) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	it.begun = !it.gone && a.shards.has(it.Shard)
	return it.begun
}

// flying reports whether a task is being attempted, or its outcome being committed.
func (a *agenda) flying(id bellman.ID) bool {
	_, flying := a.flight(id)
	return flying
}

// flight returns how many attempts a task had when the one that is in flight was loaded. flying is
// false if none is in flight. Until a moment after its outcome was stored, an attempt is still in
// flight.
func (a *agenda) flight(id bellman.ID) (attempts uint32, flying bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	it, ok := a.items[id]
	if !ok || it.place != inFlight || it.deferral {
		return 0, false
	}
	return it.Attempts, true
}

// advance takes out at most most items that are due, and appends them to due. more means that there
// may be others. next is when to call again; noTime: nothing waits.
func (a *agenda) advance(now int64, most int, due []*item) (_ []*item, more bool, next int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for range most {
		it := a.timers.due(now)
		if it == nil {
			return due, false, a.timers.next()
		}
		it.place = held
		due = append(due, it)
	}
	return due, true, a.timers.next()
}

// len returns the number of items, and how many of them are not due yet.
func (a *agenda) len() (all, waiting int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.items), len(a.timers)
}

// beginTurn marks the turn of an item's chain as taken. ok is false if the item is gone, or if
// another item of the chain is in flight, which is returned.
func (a *agenda) beginTurn(it *item) (other bellman.ID, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if it.gone {
		return other, false
	}
	return a.turns.begin(it)
}

// inTurn reports whether a task of a chain is in flight. If so, turns.freed is called when it
// lands.
func (a *agenda) inTurn(c chain) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.turns.await(c)
}

// later puts an item back into the timers for a while, without its content.
func (a *agenda) later(it *item, wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if it.gone {
		return
	}
	it.task = nil
	it.notBefore = a.clock.Now().Add(wait).UnixMilli() + 1
	a.wait(it)
}

// keeps reports whether a task may be added that was read after the given number of claims. If its
// shard was claimed after that, the loader reads the task again. The caller holds mu.
func (a *agenda) keeps(shard uint16, claims uint64, visibleAt int64) bool {
	owned := a.shards.has(shard)
	if owned && a.shards.claimedAfter(shard, claims) {
		a.miss(visibleAt)
		return false
	}
	return owned
}

// moment returns this moment, for commits whose tasks cannot leave the agenda meanwhile.
func (a *agenda) moment() *asOf {
	a.mu.Lock()
	defer a.mu.Unlock()
	return &asOf{claims: a.shards.claims, at: time.Now()}
}

// follow returns this moment, and records tasks that leave the agenda until unfollow.
func (a *agenda) follow() *asOf {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.departures.follow(a.shards.claims)
}

func (a *agenda) unfollow(since *asOf) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.departures.unfollow(since)
}
