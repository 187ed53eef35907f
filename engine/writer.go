package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/commit"
	"github.com/bellmanhq/bellman/store"
)

const (
	maxBatch = 512 // rows in one transaction, unless the store or Limits.Batch says otherwise

	// gatherServer is how long outcomes gather for stores that are servers, where one node has all
	// shards. A node that has a part of them gathers for longer, to have as many: a database has as many
	// transactions of all nodes as of one. gatherMost is the most that it may become.
	gatherServer = 20 * time.Millisecond
	gatherMost   = 100 * time.Millisecond
)

// An op is a part of a transaction that belongs together: one request's tasks,
// the outcome of one attempt, or one change by hand. See [commit.Op].
type op struct {
	adds      []store.Add
	flight    *flight       // the outcome of an attempt, or a deferred task
	change    *store.Change // by hand
	task      *bellman.Task // that change is of
	own       bool          // the change is made only while the task's shard is this node's
	handsOver *item         // that change parks
	docs      []store.Doc
	audits    []store.Audit
	done      chan error // told the outcome; nil: nobody waits
}

func (o *op) Weight() int { return max(len(o.adds), 1) }

func (o *op) Happened() bool { return o.flight != nil }

func (o *op) OnlyAdds() bool { return len(o.adds) > 0 && len(o.docs)+len(o.audits) == 0 }

// Presses reports whether somebody waits for what o does: who asked for it, or what
// follows from an attempt.
func (o *op) Presses() bool {
	f := o.flight
	if f == nil {
		return true
	}
	to := &f.change.To
	soon := !to.State.Ended() && to.VisibleAt.Sub(to.Updated) < 2*gatherMost
	return soon || len(f.change.Follow) > 0 || f.task.OrderingKey != "" || f.item.urgent
}

func (o *op) Bytes() (n int) {
	for i := range o.adds {
		n += len(o.adds[i].Task.Body)
	}
	return n
}

func (o *op) Done(err error) {
	if o.done != nil {
		o.done <- err
	}
}

// A writer writes what is in one lane. See [commit.Host].
type writer struct {
	*committer
	parallel bool // others write to the store meanwhile, and the loader may be quicker than the answer
	batch    batch
}

// A batch is a store.Batch under construction, kept for its memory.
type batch struct {
	store.Batch
	weight int
	since  *asOf // when it was sent
}

func (b *batch) build(ops []*op, leases *leases) {
	clear(b.Adds)
	clear(b.Changes)
	b.Adds, b.Changes, b.Docs, b.Audits = b.Adds[:0], b.Changes[:0], b.Docs[:0], b.Audits[:0]
	b.weight = 0
	for _, o := range ops {
		b.weight += o.Weight()
		b.Adds = append(b.Adds, o.adds...)
		if o.flight != nil {
			o.flight.change.Ordering = o.flight.task.Ordering()
			b.Changes = append(b.Changes, o.flight.change)
		}
		if o.change != nil {
			o.change.Ordering = o.task.Ordering()
			b.Changes = append(b.Changes, *o.change)
		}
		b.Docs = append(b.Docs, o.docs...)
		b.Audits = append(b.Audits, o.audits...)
	}
	b.Leases = leases.of(ops, b.Leases[:0])
}

func (w *writer) Admit(ops []*op) []*op { return w.recordable(ops) }

func (w *writer) Write(ctx context.Context, ops []*op) error {
	b := &w.batch
	b.build(ops, w.leases)
	if w.parallel {
		b.since = w.agenda.follow()
		defer w.agenda.unfollow(b.since)
	} else {
		b.since = w.agenda.taken()
	}
	began := time.Now()
	if err := w.store.Commit(ctx, &b.Batch); err != nil {
		if !errors.Is(err, bellman.ErrFenced) {
			w.log.Error("commit failed", "operations", len(ops), "err", err)
		}
		return err
	}
	w.watch.committed(b.weight, time.Since(began))
	w.committed(b, ops)
	return nil
}

func (w *writer) Fenced(ctx context.Context) bool {
	found := w.leases.fenced(ctx, w.batch.Leases)
	if !found {
		w.log.Error("commit fenced off, and which shards were lost cannot be read")
	}
	return found
}

// Settle claims the shards of the batch anew: under a new epoch the old transaction is either there or can
// never be.
func (w *writer) Settle(ctx context.Context, ops []*op) ([]*op, error) {
	if err := w.leases.reclaim(ctx, w.batch.Leases); err != nil {
		w.log.Error("shards cannot be claimed", "err", err)
		return nil, err
	}
	w.lookFor(unsure(ops))
	outcomes := slices.DeleteFunc(slices.Clone(ops), func(o *op) bool { return !o.Happened() })
	return w.sort(ctx, w.recordable(outcomes)), nil
}

// probeKind is that of the document that tells a store that takes nothing from one that refuses a row.
const probeKind = "probe"

func (w *writer) Probe(ctx context.Context) error {
	at := w.clock.now().UTC().Format(`"` + time.RFC3339Nano + `"`)
	return w.store.Commit(ctx, &store.Batch{Docs: []store.Doc{{Kind: probeKind, Name: probeKind, Value: []byte(at)}}})
}

// Health starts and ends the time in which nothing is taken in, and, where outcomes cannot be written,
// nothing is attempted.
func (w *writer) Health(error) {
	w.runner.writable(!w.outcomes.Ill() && !w.asked.Ill())
}

func (w *writer) Moved() { w.runner.goOn() }

func (w *writer) GiveUp(ops []*op) {
	if len(ops) > 0 {
		w.log.Error("outcomes of attempts are not recorded: the store takes nothing and the node stops; the attempts are made again", "attempts", len(ops))
	}
}

func (w *writer) Apart(o *op, err error, wait time.Duration) {
	w.log.Error("the store does not take the outcome of an attempt, and takes others; it is tried again, and the task is not attempted meanwhile",
		"task", o.flight.task.ID, traceID(o.flight.task), "attempt", o.flight.attempt.Number, "wait", wait, "err", err)
}

var _ commit.Host[*op] = (*writer)(nil)
