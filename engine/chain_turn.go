package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// Tasks of one queue with the same ordering key are a chain: each is attempted only after the one
// before it has ended. The store keeps the order. The owner of a task asks the store for its turn
// just before the attempt. If another task comes first, the task is deferred, and it is brought
// back when that task ends (chain.go).
//
// All tasks of a chain are in one shard, so one node has them all, unless limits put their
// endpoints elsewhere. The store's order holds in any case.

// How long a deferred task waits before it asks for its turn by itself: a quarter of its waiting
// time so far, within these bounds.
const (
	minTurn = 30 * time.Second
	maxTurn = 5 * time.Minute
)

// itsTurn reports whether the order of its chain allows an item to be attempted. If not, it defers
// the task, or ends it if it is superseded.
func (o *chains) itsTurn(it *item) bool {
	t := it.task
	turn, err := o.store.Chain(o.attempts, t.Queue, t.OrderingKey, t.ID, 1)
	if err == nil && !turn.Before(t.ID).IsZero() && turn.SupersededBy.IsZero() && t.Supersedes {
		if err = o.endAllSuperseded(o.attempts, chainOf(t), t.ID); err == nil {
			turn, err = o.store.Chain(o.attempts, t.Queue, t.OrderingKey, t.ID, 1)
		}
	}
	switch {
	case errors.Is(err, bellman.ErrNotFound): // it has probably ended
		o.await(it, bellman.ID{}, minTurn)
		return false
	case err != nil:
		if o.attempts.Err() == nil {
			o.log.Error("the order of tasks cannot be read", "task", t.ID, "queue", t.Queue, "err", err)
		}
		o.agenda.reload(it)
		return false
	case !turn.SupersededBy.IsZero():
		if ended, err := o.endSuperseded(o.attempts, chainOf(t), t.ID); !ended {
			if err != nil {
				o.log.Error("a superseded task cannot be ended", "task", t.ID, "queue", t.Queue, "err", err)
			}
			o.agenda.reload(it)
		}
		return false
	case !turn.Before(t.ID).IsZero():
		if t.Supersedes {
			o.agenda.inTurn(chainOf(t)) // the task in flight is superseded when it lands
		}
		o.awaitTurn(it, turn.Before(t.ID))
		return false
	}
	if t.Trigger != bellman.BySchedule { // a later task may have been attempted while this one was not pending
		if wait := o.besides(t); wait > 0 {
			o.await(it, bellman.ID{}, wait)
			return false
		}
	}
	other, ok := o.agenda.beginTurn(it)
	if !ok && !other.IsZero() {
		o.awaitTurn(it, other)
	}
	return ok
}

// besides returns how long the former owner may still be attempting a later task of the chain, or
// minTurn if the store does not say. t is the first of its chain.
func (o *chains) besides(t *bellman.Task) time.Duration {
	page, err := o.store.Chain(o.attempts, t.Queue, t.OrderingKey, bellman.ID{}, supersedePage)
	if err != nil {
		return minTurn
	}
	for _, id := range page.First {
		if id == t.ID {
			continue
		}
		next, err := o.store.Task(o.attempts, id)
		switch {
		case unread(err):
			return minTurn
		case err != nil || next.State != bellman.Pending:
			continue
		}
		if wait := elsewhere(o.leases.HeldSince, next, o.clock.Now()); wait > 0 {
			return wait
		}
		if next.Attempts == 0 && next.Trigger == bellman.BySchedule {
			return 0 // neither this one nor those after it were attempted
		}
	}
	return 0
}

// awaitTurn defers a task until its turn may have come.
func (o *chains) awaitTurn(it *item, before bellman.ID) {
	wait := min(max(o.clock.Now().Sub(it.task.Due)/4, minTurn), maxTurn)
	wait += time.Duration(rand.Int64N(int64(wait / 2)))
	o.await(it, before, wait)
}

// await defers a task for a while. before is the first task of its chain, if that is the reason. A
// schedule that has not begun starts when the turn comes, and the task's age counts from there.
func (o *chains) await(it *item, before bellman.ID, wait time.Duration) {
	if !o.agenda.defers(it) {
		return
	}
	t, now := it.task, o.clock.Now()
	to := t.Status
	to.VisibleAt = roundUp(now.Add(wait))
	to.Updated = now
	beginAt(&to, now)
	o.deferrals.write(it, to, before)
}

// errKeep means that a task does not change.
var errKeep = errors.New("left as it is")

// endSuperseded ends a task that a later task supersedes, unless it is in flight here or may be in
// flight elsewhere. If the task had ended before a manual attempt was requested, it returns to that
// state.
func (o *chains) endSuperseded(ctx context.Context, c chain, id bellman.ID) (ended bool, err error) {
	_, err = o.admin.moveAlways(ctx, id, "supersede", func(change *store.Change, t *bellman.Task, now time.Time) error {
		away := !o.leases.Holds(t.Shard) && !t.VisibleAt.After(now.Add(otherClock))
		if t.State.Ended() || elsewhere(o.leases.HeldSince, t, now) > 0 || away || o.agenda.flying(id) {
			return errKeep
		}
		turn, err := o.store.Chain(ctx, c.queue, c.key, id, 1)
		switch {
		case err != nil:
			return err
		case turn.SupersededBy.IsZero():
			return errKeep
		}
		if t.Before != nil && t.Before.State.Ended() { // a manual attempt is pending: drop it
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

// supersedePage is the number of superseded tasks in one read.
const supersedePage = 100

// endAllSuperseded ends the superseded tasks of a chain up to a task, except those that cannot be
// ended now. The zero ID means all of them.
func (o *chains) endAllSuperseded(ctx context.Context, c chain, upTo bellman.ID) error {
	for {
		page, err := o.store.Chain(ctx, c.queue, c.key, bellman.ID{}, supersedePage)
		if err != nil || page.SupersededBy.IsZero() { // then no task is superseded
			return err
		}
		some := false
		for _, id := range page.First {
			if id == upTo {
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
