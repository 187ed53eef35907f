package engine

import (
	"errors"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// A shard is not kept from its next owner until the slowest of its attempts has
// ended. Tasks that are in flight a moment after the shard was left are parked:
// their looks are moved, on disk, to when the attempts must have ended, and their
// phase says why. The next owner leaves them alone
// until then, and this node records the outcomes although
// it has no lease any more, by compare-and-set. If it dies before that, the tasks
// are attempted at their looks.
const (
	drainQuick     = 100 * time.Millisecond // for attempts that end soon by themselves
	handOverMargin = 3 * time.Second        // for recording an outcome
)

// park parks what is in flight of a shard that was left.
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

// flights returns the attempts of a shard that was left which can be parked.
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
			continue // it will not be: it lands soon
		}
		items = append(items, it)
	}
	return items
}

// stuck reports whether an attempt of a shard is in flight for which it had to be taken back.
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

// stick notes that a shard that was left is taken back for what is in flight of it.
func (h *agenda) stick(shard uint16) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, it := range h.items {
		if it.Shard == shard && it.place == inFlight && !it.deferral && !it.handedOver {
			it.stays = true
		}
	}
}

// elsewhere is for how long another node may still be making an attempt of a parked task. When that ends was written by
// the other's clock. How long it takes from when the task was parked is the same by all clocks, and this node cannot
// have had the shard before. One that somebody has moved to another due time meanwhile is due then.
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

// notYet reports whether this task is not to be attempted before its look, whatever else there is time for.
func notYet(t *bellman.Task, now time.Time) bool {
	return (t.Phase == bellman.HandedOver || t.Phase == bellman.Quarantined) && t.VisibleAt.After(now)
}

// later takes an item out of its line to wait for a while, without its content.
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

// park notes that an item in flight is parked: its shard may go. Call it with mu
// held.
func (h *agenda) handOver(it *item) {
	if it.place == inFlight && !it.gone && !it.handedOver {
		h.landed(it.Shard)
	}
	it.handedOver = true
}
