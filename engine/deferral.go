package engine

import (
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/clock"
	"github.com/bellmanhq/bellman/store"
)

// Tasks that wait long for their line are deferred (shelf.go). So a merchant with a million overdue
// tasks fills neither the memory nor the pages of the loader.
const (
	longWait  = 2 * time.Second        // a longer wait defers a task
	shortWait = 250 * time.Millisecond // … while other tasks wait behind it in the loader

	fullAtLeast  = 500 * time.Millisecond // how long a line must have no room before its tasks are deferred
	maxDeferring = 256                    // concurrent deferrals; attempts share the commits with them
)

// deferrals move due tasks of blocked lines out of the way of others.
type deferrals struct {
	clock     *clock.Clock
	agenda    *agenda
	announcer *announcer
	committer *committer
	most      int // Limits.Uncommitted
}

// count returns how many tasks are being deferred.
func (d *deferrals) count() int { return int(d.committer.deferrals.Load()) }

// heldUp reports whether the store is behind with outcomes.
func (d *deferrals) heldUp() bool { return d.committer.outcomes.Waiting() >= d.most/2 }

// put moves a due task, whose content is in memory, to a shelf. Its due time does not change.
func (d *deferrals) put(on shelf, it *item) {
	if shelf(it.VisibleAt) == on {
		d.agenda.reload(it) // it is on that shelf already
		return
	}
	if !d.agenda.defers(it) {
		return
	}
	to := it.task.Status
	to.VisibleAt, to.Updated = on.time(), d.clock.Now()
	d.write(it, to, bellman.ID{})
}

// write commits the new status of a task that is not attempted now. The caller has taken the task
// out of its line with agenda.defers. behind is the first task of its chain, if the task waits for
// its turn; otherwise zero. An announced attempt that its last owner never recorded is logged with
// it, unless the task moves to another shard: then the next owner logs it.
func (d *deferrals) write(it *item, to bellman.Status, behind bellman.ID) {
	t := it.task
	f := &flight{item: it, task: t, deferral: true, behind: behind}
	f.change = store.Change{ID: t.ID, Version: t.Version, To: to, Of: t}
	if to.Shard == t.Shard {
		if t.InDoubt() {
			if f.change.Attempt = d.announcer.lostAttempt(t); f.change.Attempt != nil {
				f.change.To.Attempts++
			}
		}
		f.change.To.Phase = bellman.Deferred
	}
	d.committer.deferrals.Add(1)
	d.committer.keep(f)
}
