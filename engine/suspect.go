package engine

import (
	"context"
	"time"

	"github.com/bellmanhq/bellman"
)

// A task that was due when its last owner died may be what killed it: a handler
// that takes all memory, an answer that crashes a parser. Nothing on disk tells
// it from the others, for firing writes nothing. So an attempt of a suspect is
// announced on disk first, in its trigger. One found announced at the next
// take-over was in flight at a death: that attempt is logged as unknown, and
// after a few in a row the task is left alone for longer and longer.
const (
	maxDeaths   = 3
	firstParked = 10 * time.Minute
	lastParked  = 24 * time.Hour
)

// suspected announces the attempt of a suspect. It is false when the task must
// not be attempted now.
func (e *Engine) suspected(it *item) bool {
	ctx := e.attempts
	t := *it.task
	change := bellman.Change{ID: t.ID, Version: t.Version, To: t.Status}
	parked := false
	if t.Trigger == bellman.ByTakeover {
		change.Attempt = e.lostAttempt(&t)
		change.To.Attempts++
		if deaths := e.deaths(ctx, &t) + 1; deaths >= maxDeaths {
			parked = true
			wait := min(firstParked<<min(deaths-maxDeaths, 10), lastParked)
			change.To.Look = roundUp(e.clock.now().Add(wait))
			change.To.Trigger = bellman.BySchedule
			e.log.Warn("task set aside: its attempts keep ending with the death of the node", "task", t.ID, "queue", t.Queue, "deaths", deaths, "wait", wait)
		}
	}
	if !parked {
		change.To.Trigger = bellman.ByTakeover
		change.To.Look = t.Due // and not when it was to come back from being set aside: it would look parked until then
	}
	change.To.Updated = e.clock.now()
	if err := e.lane.do(ctx, &op{change: &change, task: &t, own: true}); err != nil {
		e.hand.drop(true, it)
		return false
	}
	if parked {
		e.hand.drop(true, it)
		return false
	}
	e.hand.mu.Lock()
	defer e.hand.mu.Unlock()
	it.task, it.Version = &t, t.Version
	return true
}

// lostAttempt is the attempt that was announced of a task and never recorded.
func (e *Engine) lostAttempt(t *bellman.Task) *bellman.Attempt {
	return &bellman.Attempt{
		Number:  int(t.Attempts) + 1,
		Trigger: bellman.ByTakeover,
		Due:     t.Due,
		Started: t.Updated,
		Result:  bellman.Unknown,
		Error:   "the node that made this attempt died before it could record the outcome",
		Node:    e.leases.base,
	}
}

// deaths counts the unknown attempts at the end of a task's log.
func (e *Engine) deaths(ctx context.Context, t *bellman.Task) int {
	log, err := e.store.Attempts(ctx, t.ID, max(int(t.Attempts)-20, 0), 20)
	if err != nil {
		return 0
	}
	n := 0
	for i := len(log) - 1; i >= 0 && log[i].Result == bellman.Unknown; i-- {
		n++
	}
	return n
}
