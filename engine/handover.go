package engine

import (
	"context"
	"errors"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/clock"
	"github.com/bellmanhq/bellman/store"
)

// A shard can move before the slowest of its attempts has ended. Tasks that are in flight shortly
// after the shard was left are handed over: their VisibleAt moves beyond the end of their attempts,
// and their phase says why. The next owner leaves them alone until then. This node records their
// outcomes without a lease, by compare-and-set. If it dies before that, the tasks are attempted at
// VisibleAt.
const (
	drainQuick     = 100 * time.Millisecond // for attempts that end soon by themselves
	handOverMargin = 3 * time.Second        // for recording an outcome
)

// A handover ends this node's part in a shard that was left.
type handover struct {
	clock       *clock.Clock
	life        *life
	agenda      *agenda
	committer   *committer
	stopTimeout time.Duration // how long an attempt lasts at most during a stop
}

// drain waits until all attempts of a shard that was left have ended or were handed over. It
// returns false if ctx ends first.
func (h *handover) drain(ctx context.Context, shard uint16) bool {
	empty := h.agenda.empty(shard)
	quick := time.NewTicker(drainQuick)
	defer quick.Stop()
	for {
		select {
		case <-empty:
			return true
		case <-ctx.Done():
			select {
			case <-empty:
				return true
			default:
				return false
			}
		case <-quick.C:
			h.handOver(shard)
		}
	}
}

// handOver hands over the attempts in flight of a shard that was left.
func (h *handover) handOver(shard uint16) {
	type handing struct {
		it   *item
		done chan error
	}
	var asked []handing
	now := h.clock.Now()
	for _, it := range h.agenda.flights(shard) {
		t := *it.task
		limit := it.limit
		if h.life.stopping.Load() {
			limit = min(limit, h.stopTimeout)
		}
		to := t.Status
		to.VisibleAt = roundUp(now.Add(limit + handOverMargin))
		to.Phase = bellman.HandedOver
		to.Updated = now
		o := &op{
			change:    &store.Change{ID: t.ID, Version: t.Version, To: to},
			task:      &t,
			own:       true,
			handsOver: it,
			done:      make(chan error, 1),
		}
		if h.committer.outcomes.Put(o) == nil {
			asked = append(asked, handing{it, o.done})
		}
	}
	for _, p := range asked {
		select {
		case err := <-p.done:
			if errors.Is(err, bellman.ErrConflict) { // somebody changed the task meanwhile
				h.agenda.keepHere(p.it)
			}
		case <-h.life.patience.Done():
		}
	}
}

// elsewhere returns how long the former owner may still be making an attempt of a task that was
// handed over. VisibleAt was written by the former owner's clock. The duration from the handover to
// VisibleAt is the same by all clocks, and this node won the shard after the handover; so it waits
// at least that long from then on. If somebody moved the task to another due time meanwhile, only
// VisibleAt counts. heldSince returns when this node won a shard; zero if it does not hold it.
func elsewhere(heldSince func(shard uint16) time.Time, t *bellman.Task, now time.Time) time.Duration {
	if t.Phase != bellman.HandedOver {
		return 0
	}
	left := t.VisibleAt.Sub(now)
	if since := heldSince(t.Shard); !since.IsZero() && t.VisibleAt.After(t.Due) {
		left = max(left, t.VisibleAt.Sub(t.Updated)-time.Since(since))
	}
	return max(left, 0)
}

// notYet reports whether a task must not be attempted before its VisibleAt.
func notYet(t *bellman.Task, now time.Time) bool {
	return (t.Phase == bellman.HandedOver || t.Phase == bellman.Quarantined) && t.VisibleAt.After(now)
}
