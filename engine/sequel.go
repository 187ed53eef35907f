package engine

import (
	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// sequel adds to a change what the task's queue says follows from its end, if the
// change ends it: t is the task as it is, a the attempt that ends it, nil if none does. An attempt asked for by hand that leaves the task as it had ended is no end,
// and neither is the end of a round of a task that repeats.
func (r *recorder) sequel(c *store.Change, t *bellman.Task, a *bellman.Attempt, under *bellman.Trace) {
	q, _ := r.rules.queue(t.Queue)
	if q.Ended == nil {
		return
	}
	was, is := beneath(t.Status), beneath(c.To)
	if !is.State.Ended() || is.State == was.State {
		return
	}
	ended := *t
	ended.Status = is
	if a != nil {
		ended.Last = a
	}
	c.Follow = append(c.Follow[:len(c.Follow):len(c.Follow)], r.follow(t, q.Ended(&ended), a, under)...)
}
