package engine

import (
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// What has to wait long for its line is deferred (shelf.go), so that a merchant with a million
// overdue tasks does not fill the memory, nor the page that the loader reads.
const (
	longWait  = 2 * time.Second        // is deferred
	shortWait = 250 * time.Millisecond // is deferred when others wait behind it

	fullAtLeast  = 500 * time.Millisecond // a line has no room for so long before its tasks are deferred
	maxDeferring = 256                    // tasks that are being deferred at once: what is attempted shares its commits with them
)

// deferrals put due tasks out of the way of others.
type deferrals struct {
	clock     *clock
	agenda    *agenda
	announcer *announcer
	committer *committer
	most      int // outcomes that wait for the store at once
}

// count is how many tasks are being deferred.
func (d *deferrals) count() int { return int(d.committer.deferrals.Load()) }

// heldUp reports whether the store is behind with what attempts came to.
func (d *deferrals) heldUp() bool { return d.committer.outcomes.Waiting() >= d.most/2 }

// put puts a due task, whose content is in memory, on a shelf. Its due time stays what the schedule said.
func (d *deferrals) put(on shelf, it *item) {
	if shelf(it.VisibleAt) == on {
		d.agenda.drop(true, it) // it stands there
		return
	}
	if !d.agenda.defers(it) {
		return
	}
	to := it.task.Status
	to.VisibleAt, to.Updated = on.time(), d.clock.now()
	d.write(it, to, nil)
}

// write writes what becomes of a task that is not attempted now, and was taken out of
// its line (hand.defers). An attempt of it that was announced before its last owner died
// is logged. Of one
// that goes to another shard its next owner logs it.
func (d *deferrals) write(it *item, to bellman.Status, waits *waiting) {
	t := it.task
	f := &flight{item: it, task: t, deferral: true, waits: waits}
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
