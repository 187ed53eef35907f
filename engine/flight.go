package engine

import (
	"iter"
	"log/slog"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/cluster"
	"github.com/bellmanhq/bellman/store"
)

// A flight is one attempt and its outcome, until that is committed. A deferral is a flight without
// an attempt.
type flight struct {
	item     *item
	seen     *bellman.Task // the task when the attempt began
	task     *bellman.Task // the task as last known
	route    bellman.Route
	routed   bool // it is an attempt to the task's merchant
	attempt  bellman.Attempt
	verdict  bellman.Verdict
	follow   []store.Add // follow-ups of the verdict, if it counts
	cut      bool        // interrupted by a stop: there is no verdict
	merged   bool        // task was read after the attempt, and change is relative to it
	deferral bool        // no attempt: the task is deferred
	behind   bellman.ID  // the first task of its chain, if this one is deferred until its turn; otherwise zero
	change   store.Change
	span     bellman.Span   // of the attempt; nil: no tracing
	trace    *bellman.Trace // of the span, for follow-ups
}

// endSpan ends the span when the new status of the task is known.
func (f *flight) endSpan() {
	if f.span != nil {
		f.span.End(&f.attempt, &f.change.To)
		f.span = nil
	}
}

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
	c := o.change
	if o.flight != nil {
		c = &o.flight.change
	}
	if c == nil {
		return n
	}
	for i := range c.Follow {
		n += len(c.Follow[i].Task.Body)
	}
	return n + len(c.To.Data)
}

func (o *op) Done(err error) {
	if o.done != nil {
		o.done <- err
	}
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

// shardsOf yields the shards of the tasks that ops change. Adds and documents need no lease. The
// second value is true if the op must not be written without the shard's lease. If such a lease was
// lost since recordable checked it, the store rejects the batch, and recordable checks the ops
// again.
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

// traceID is the log attribute with a task's trace id; empty if the task has no trace.
func traceID(t *bellman.Task) slog.Attr {
	if t.Trace() == nil {
		return slog.Attr{}
	}
	return slog.String("trace_id", t.Trace().TraceID())
}

// truncate returns the first n characters of s.
func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

const (
	maxBatch = 512 // rows of one transaction, unless the store or Limits.Batch says otherwise

	// gatherServer is how long outcomes gather before a commit on a database server, when one node
	// has all shards. A node with fewer shards waits longer, up to gatherMost, so that its
	// transactions are as large: the load of a database depends on the transactions of all nodes.
	gatherServer = 20 * time.Millisecond
	gatherMost   = 100 * time.Millisecond
)
