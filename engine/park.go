package engine

import (
	"time"

	"github.com/bellmanhq/bellman"
)

// A shard is not kept from its next owner until the slowest of its attempts has
// ended. Tasks that are in flight a moment after the shard was left are parked:
// their looks are moved, on disk, to when the attempts must have ended, and their
// triggers say that an attempt was announced. The next owner leaves them alone
// until then, and this node records the outcomes although
// it has no lease any more, by compare-and-set. If it dies before that, the tasks
// are attempted at their looks.
const (
	drainQuick = 100 * time.Millisecond // for attempts that end soon by themselves
	parkMargin = 3 * time.Second        // for recording an outcome
)

// park parks what is in flight of a shard that was left. Suspects are waited for, as
// nobody but this node must have them, and what was asked for by hand, as its
// trigger is needed.
func (e *Engine) park(shard uint16) {
	var asked []chan error
	now := e.clock.now()
	for _, it := range e.hand.flights(shard) {
		t := *it.task
		limit := it.limit
		if e.stopping.Load() {
			limit = min(limit, e.options.StopTimeout)
		}
		to := t.Status
		to.Look = roundUp(now.Add(limit + parkMargin))
		to.Trigger = bellman.ByTakeover
		to.Updated = now
		o := &op{
			change: &bellman.Change{ID: t.ID, Version: t.Version, To: to},
			task:   &t,
			own:    true,
			park:   it,
			done:   make(chan error, 1),
		}
		if e.lane.put(o) == nil {
			asked = append(asked, o.done)
		}
	}
	for _, done := range asked {
		<-done // whatever became of it, the attempt is not waited for less
	}
}

// flights returns what is being attempted of a shard.
func (h *hand) flights(shard uint16) (items []*item) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.leaving[shard] == nil {
		return nil
	}
	for _, it := range h.items {
		if it.Shard == shard && it.place == inFlight && !it.aside && !it.suspect && !it.parked && it.task.Trigger == bellman.BySchedule {
			items = append(items, it)
		}
	}
	return items
}

// announced reports whether another node is making an attempt of this task, and has
// until its look to record it.
func announced(t *bellman.Task, now time.Time) bool {
	return t.Trigger == bellman.ByTakeover && t.Look.After(now)
}

// park notes that an item in flight is parked: its shard may go. Call it with mu
// held.
func (h *hand) park(it *item) {
	if it.place == inFlight && !it.gone && !it.parked {
		h.landed(it.Shard)
	}
	it.parked = true
}
