package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// Tasks of one queue that have the same ordering key are a chain: each is attempted
// only after the one before it has ended. The store knows the order. Whoever owns a
// task asks for its turn just before an attempt; a task whose turn it is not is
// deferred, and brought back when the one before it ends (see passing.go).
//
// All tasks of a chain go to one shard, so that one node has them all, unless the
// limits of their queue put their endpoints elsewhere, or were changed. The store's
// order holds then too.

// A chain names the tasks of an ordering key.
type chain struct{ queue, key string }

func chainOf(t *bellman.Task) chain { return chain{t.Queue, t.OrderingKey} }

// How long a task waits before it asks again for its turn, although it is told when it
// comes: a fourth of how long it has waited already, within these.
const (
	minTurn = 30 * time.Second
	maxTurn = 5 * time.Minute
)

// waiting is what a task is deferred for.
type waiting struct {
	before bellman.ID // the first of its chain, as far as is known
}

// itsTurn reports whether an item may be attempted as far as the order of its chain
// goes. If not, what was to be done is done: the task was ended, for it is superseded,
// or deferred.
func (o *chains) itsTurn(it *item) bool {
	t := it.task
	turn, err := o.store.Chain(o.attempts, t.Queue, t.OrderingKey, t.ID, 1)
	if err == nil && !turn.Before(t.ID).IsZero() && turn.SupersededBy.IsZero() && t.Supersedes {
		if err = o.endBefore(o.attempts, t); err == nil {
			turn, err = o.store.Chain(o.attempts, t.Queue, t.OrderingKey, t.ID, 1)
		}
	}
	switch {
	case errors.Is(err, bellman.ErrNotFound): // it has ended, most probably
		o.await(it, nil, minTurn)
		return false
	case err != nil:
		if o.attempts.Err() == nil {
			o.log.Error("whose turn it is cannot be read", "task", t.ID, "queue", t.Queue, "err", err)
		}
		o.agenda.drop(true, it)
		return false
	case !turn.SupersededBy.IsZero():
		if ended, err := o.endSuperseded(o.attempts, chainOf(t), t.ID); !ended {
			if err != nil {
				o.log.Error("a superseded task cannot be ended", "task", t.ID, "queue", t.Queue, "err", err)
			}
			o.agenda.drop(true, it)
		}
		return false
	case !turn.Before(t.ID).IsZero():
		if t.Supersedes {
			o.agenda.inTurn(chainOf(t)) // what is in flight is superseded when it lands
		}
		o.awaitTurn(it, turn.Before(t.ID))
		return false
	}
	if t.Trigger != bellman.BySchedule { // perhaps it was pending again only after one behind it was attempted
		if wait := o.besides(t); wait > 0 {
			o.await(it, nil, wait)
			return false
		}
	}
	other, ok := o.agenda.beginTurn(it)
	if !ok && !other.IsZero() {
		o.awaitTurn(it, other)
	}
	return ok
}

// besides is how long another node may still need for an attempt of a task behind one,
// which is the first of its chain. Between them are only such as were sent again too.
func (o *chains) besides(t *bellman.Task) time.Duration {
	page, err := o.store.Chain(o.attempts, t.Queue, t.OrderingKey, bellman.ID{}, supersedePage)
	if err != nil {
		return 0
	}
	for _, id := range page.First {
		if id == t.ID {
			continue
		}
		next, err := o.store.Task(o.attempts, id)
		if err != nil || next.State != bellman.Pending {
			continue
		}
		if wait := o.leases.elsewhere(next, o.clock.now()); wait > 0 {
			return wait
		}
		if next.Attempts == 0 && next.Trigger == bellman.BySchedule {
			return 0 // nor were those behind it attempted
		}
	}
	return 0
}

// awaitTurn defers a task until it is told that its turn may have come.
func (o *chains) awaitTurn(it *item, before bellman.ID) {
	wait := min(max(o.clock.now().Sub(it.task.Due)/4, minTurn), maxTurn)
	wait += time.Duration(rand.Int64N(int64(wait / 2)))
	o.await(it, &waiting{before}, wait)
}

// await defers a task for a while. A schedule that has not begun begins when the
// turn comes, and ages count from there.
func (o *chains) await(it *item, waits *waiting, wait time.Duration) {
	if !o.agenda.defers(it) {
		return
	}
	t, now := it.task, o.clock.now()
	to := t.Status
	to.VisibleAt = roundUp(now.Add(wait))
	to.Updated = now
	beginAt(&to, now)
	o.deferrals.write(it, to, waits)
}

// beginAt makes a schedule of which nothing was attempted yet begin no earlier than now.
func beginAt(st *bellman.Status, now time.Time) {
	if st.Step == 0 && st.Attempts == 0 {
		st.Began = later(st.Began, now.Truncate(time.Millisecond))
	}
}

// dueInTurn is when a task's attempt was allowed to start: it is not late because it
// waited for its turn.
func dueInTurn(t *bellman.Task, now time.Time) time.Time {
	if t.OrderingKey != "" && t.Step == 0 && t.Attempts == 0 && !t.Began.After(now) {
		return later(t.Due, t.Began)
	}
	return t.Due
}

// beginTurn notes that an item is about to be attempted. It is not if it is out of the
// hand, or another of its chain is being attempted, which is returned then.
func (h *agenda) beginTurn(it *item) (other bellman.ID, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if it.gone {
		return other, false
	}
	c := chainOf(it.task)
	if by := h.attempted[c]; by != nil {
		by.awaited = true
		return by.ID, false
	}
	h.attempted[c], it.chain = it, &c
	return other, true
}

// endTurn notes that an item is not in flight any more, if it was. Call it with mu held.
func (h *agenda) endTurn(it *item) {
	if it.chain == nil || h.attempted[*it.chain] != it {
		return
	}
	delete(h.attempted, *it.chain)
	if it.awaited {
		h.freed(*it.chain)
	}
}

// inTurn reports whether a task of a chain is being attempted: then somebody is told
// when it lands.
func (h *agenda) inTurn(c chain) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	it := h.attempted[c]
	if it == nil {
		return false
	}
	it.awaited = true
	return true
}

// errKeep says that a task is to be left as it is.
var errKeep = errors.New("left as it is")

// otherClock is by how much the clocks of two nodes may differ, and more.
const otherClock = 2 * store.MaxSkew

// endSuperseded ends a task that a later one of its chain supersedes, unless it is
// being attempted, or may be by another node. One that had ended before an attempt was
// asked for by hand becomes again what it was.
func (o *chains) endSuperseded(ctx context.Context, c chain, id bellman.ID) (ended bool, err error) {
	_, err = o.admin.moveAlways(ctx, id, "supersede", func(change *store.Change, t *bellman.Task, now time.Time) error {
		away := !o.leases.holds(t.Shard) && !t.VisibleAt.After(now.Add(otherClock))
		if t.State.Ended() || o.leases.elsewhere(t, now) > 0 || away || o.agenda.flying(id) {
			return errKeep
		}
		turn, err := o.store.Chain(ctx, c.queue, c.key, id, 1)
		switch {
		case err != nil:
			return err
		case turn.SupersededBy.IsZero():
			return errKeep
		}
		if t.Before != nil && t.Before.State.Ended() { // it is asked for by hand once more: it stays what it was
			change.To = underlying(change.To)
			return nil
		}
		change.To = end(t.Status, bellman.Cancelled, bellman.ReasonSuperseded, now)
		return nil
	})
	if errors.Is(err, errKeep) || errors.Is(err, bellman.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// supersedePage is how many tasks are read at once that one supersedes.
const supersedePage = 100

// endBefore ends the tasks before one that supersedes them. Those that cannot be ended
// now it leaves.
func (o *chains) endBefore(ctx context.Context, t *bellman.Task) error {
	c := chainOf(t)
	for {
		page, err := o.store.Chain(ctx, c.queue, c.key, bellman.ID{}, supersedePage)
		if err != nil {
			return err
		}
		some := false
		for _, id := range page.First {
			if id == t.ID {
				return nil
			}
			ended, err := o.endSuperseded(ctx, c, id)
			if err != nil {
				return err
			}
			some = some || ended
		}
		if !some {
			return nil
		}
	}
}
