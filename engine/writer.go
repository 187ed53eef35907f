package engine

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/cluster"
	"github.com/bellmanhq/bellman/engine/internal/commit"
	"github.com/bellmanhq/bellman/store"
)

const (
	maxBatch = 512 // rows of one transaction, unless the store or Limits.Batch says otherwise

	// gatherServer is how long outcomes gather before a commit on a database server, when one node
	// has all shards. A node with fewer shards waits longer, up to gatherMost, so that its
	// transactions are as large: the load of a database depends on the transactions of all nodes.
	gatherServer = 20 * time.Millisecond
	gatherMost   = 100 * time.Millisecond
)

// An op is an indivisible part of a transaction: the tasks of one request, the outcome of one
// attempt, or one change by a caller. See [commit.Op].
type op struct {
	adds      []store.Add
	flight    *flight       // the outcome of an attempt, or a deferred task
	change    *store.Change // by a caller
	task      *bellman.Task // the task of change
	own       bool          // the change needs the lease of the task's shard
	handsOver *item         // the item that change hands over
	docs      []store.Doc
	audits    []store.Audit
	done      chan error // receives the result; nil: nobody waits
}

func (o *op) Weight() int { return max(len(o.adds), 1) }

func (o *op) Happened() bool { return o.flight != nil }

func (o *op) OnlyAdds() bool { return len(o.adds) > 0 && len(o.docs)+len(o.audits) == 0 }

// Presses reports whether a caller, a follow-up or the next attempt waits for o.
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

// A writer writes the groups of one lane. See [commit.Host].
type writer struct {
	*committer
	parallel bool // another lane writes concurrently, so the loader may see a row before its commit is answered
	batch    batch
}

// A batch is a reused store.Batch.
type batch struct {
	store.Batch
	weight int
	since  *asOf // when it was sent
}

func (b *batch) build(ops []*op, leases *cluster.Member) {
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
	b.Leases = leases.Leases(b.Leases[:0], shardsOf(ops))
}

// shardsOf yields the shards under whose leases ops are written: those of their tasks. Its second
// value says that the op must not be written without the lease. Such a shard may have been lost
// since recordable: the store rejects the batch then, and the ops are sorted again.
func shardsOf(ops []*op) iter.Seq2[uint16, bool] {
	return func(yield func(uint16, bool) bool) {
		for _, o := range ops {
			if f := o.flight; f != nil && !(yield(f.task.Shard, !f.item.handedOver) && yield(f.change.To.Shard, false)) {
				return
			}
			if o.change != nil && !yield(o.change.To.Shard, o.own) {
				return
			}
		}
	}
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
	found := w.leases.Fenced(ctx, w.batch.Leases)
	if !found {
		w.log.Error("commit fenced off, and which shards were lost cannot be read")
	}
	return found
}

// Settle claims the shards of the batch again. Under a new epoch the old transaction is either
// visible or impossible.
func (w *writer) Settle(ctx context.Context, ops []*op) ([]*op, error) {
	if err := w.leases.Reclaim(ctx, w.batch.Leases); err != nil {
		w.log.Error("shards cannot be claimed", "err", err)
		return nil, err
	}
	w.lookFor(unsure(ops))
	outcomes := slices.DeleteFunc(slices.Clone(ops), func(o *op) bool { return !o.Happened() })
	return w.sort(ctx, w.recordable(outcomes)), nil
}

// probeKind is the kind of the document by which Probe tells a store that accepts nothing from a
// store that rejects one row.
const probeKind = "probe"

func (w *writer) Probe(ctx context.Context) error {
	at := w.clock.Now().UTC().Format(`"` + time.RFC3339Nano + `"`)
	return w.store.Commit(ctx, &store.Batch{Docs: []store.Doc{{Kind: probeKind, Name: probeKind, Value: []byte(at)}}})
}

// Health stops new attempts while a lane cannot write, and starts them again.
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
