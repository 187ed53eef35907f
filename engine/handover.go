package engine

import (
	"errors"
	"time"

	"github.com/bellmanhq/bellman"
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

// handOver hands over the attempts in flight of a shard that was left.
func (e *Engine) handOver(shard uint16) {
	type handing struct {
		it   *item
		done chan error
	}
	var asked []handing
	now := e.clock.now()
	for _, it := range e.agenda.flights(shard) {
		t := *it.task
		limit := it.limit
		if e.life.stopping.Load() {
			limit = min(limit, e.options.StopTimeout)
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
		if e.committer.outcomes.Put(o) == nil {
			asked = append(asked, handing{it, o.done})
		}
	}
	for _, p := range asked {
		select {
		case err := <-p.done:
			if errors.Is(err, bellman.ErrConflict) { // somebody changed the task meanwhile
				e.agenda.mu.Lock()
				p.it.stays = true
				e.agenda.mu.Unlock()
			}
		case <-e.patience.Done():
		}
	}
}

// flights returns the attempts of a shard that was left and that can be handed over.
func (h *agenda) flights(shard uint16) (items []*item) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.leaving[shard] == nil {
		return nil
	}
	for _, it := range h.items {
		if it.Shard != shard || it.place != inFlight || it.deferral || it.handedOver || it.stays {
			continue
		}
		if !it.begun {
			continue // the attempt will not start, so the item lands soon
		}
		items = append(items, it)
	}
	return items
}

// stuck reports whether the shard was taken back because of an attempt that is still in flight.
func (h *agenda) stuck(shard uint16) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, it := range h.items {
		if it.Shard == shard && it.place == inFlight && it.stays && !it.handedOver {
			return true
		}
	}
	return false
}

// stick notes that a shard is taken back because of its attempts in flight.
func (h *agenda) stick(shard uint16) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, it := range h.items {
		if it.Shard == shard && it.place == inFlight && !it.deferral && !it.handedOver {
			it.stays = true
		}
	}
}

// elsewhere returns how long the former owner may still be making an attempt of a task that was
// handed over. VisibleAt was written by the former owner's clock. The duration from the handover to
// VisibleAt is the same by all clocks, and this node won the shard after the handover; so it waits
// at least that long from then on. If somebody moved the task to another due time meanwhile, only
// VisibleAt counts.
func (l *leases) elsewhere(t *bellman.Task, now time.Time) time.Duration {
	if t.Phase != bellman.HandedOver {
		return 0
	}
	left := t.VisibleAt.Sub(now)
	if since := l.heldSince(t.Shard); !since.IsZero() && t.VisibleAt.After(t.Due) {
		left = max(left, t.VisibleAt.Sub(t.Updated)-time.Since(since))
	}
	return max(left, 0)
}

// notYet reports whether a task must not be attempted before its VisibleAt.
func notYet(t *bellman.Task, now time.Time) bool {
	return (t.Phase == bellman.HandedOver || t.Phase == bellman.Quarantined) && t.VisibleAt.After(now)
}

// later puts an item back into the timers for a while, without its content.
func (h *agenda) later(it *item, wait time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if it.gone {
		return
	}
	it.task = nil
	it.notBefore = h.clock.now().Add(wait).UnixMilli() + 1
	h.wait(it)
}

// handOver marks an item in flight as handed over: its shard may move. The caller holds mu.
func (h *agenda) handOver(it *item) {
	if it.place == inFlight && !it.gone && !it.handedOver {
		h.landed(it.Shard)
	}
	it.handedOver = true
}
