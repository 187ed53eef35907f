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

// A writer writes the groups of one lane. See [commit.Host].
type writer struct {
	*committer
	parallel bool // another lane writes concurrently, so the loader may see a row before its commit is answered
	batch    batch
}

func (w *writer) Admit(ops []*op) []*op { return w.recordable(ops) }

func (w *writer) Write(ctx context.Context, ops []*op) error {
	b := &w.batch
	b.build(ops, w.leases)
	if w.parallel {
		b.since = w.agenda.follow()
		defer w.agenda.unfollow(b.since)
	} else {
		b.since = w.agenda.moment()
	}
	began := time.Now()
	if err := w.store.Commit(ctx, &b.Batch); err != nil {
		full := errors.Is(err, bellman.ErrFull)
		if full {
			w.room(w.clock.Now().UnixMilli(), err)
		}
		// Each request to a full store would fill the log, which may be on the same disk.
		if !errors.Is(err, bellman.ErrFenced) && !(full && onlyAdds(ops)) {
			w.log.Error("commit failed", "operations", len(ops), "err", err)
		}
		return err
	}
	w.watch.committed(b.weight, time.Since(began))
	w.committed(b, ops)
	return nil
}

func onlyAdds(ops []*op) bool {
	return !slices.ContainsFunc(ops, func(o *op) bool { return !o.OnlyAdds() })
}

func (w *writer) Fenced(ctx context.Context) bool {
	found := w.leases.Fenced(ctx, w.batch.Leases)
	if !found {
		w.log.Error("a commit was fenced off, and the lost shards cannot be read")
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
	w.readAgainFrom(unsure(ops))
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
	w.after.writable(!w.outcomes.Ill() && !w.asked.Ill())
}

func (w *writer) Moved() { w.after.goOn() }

func (w *writer) GiveUp(ops []*op) {
	for _, o := range ops {
		w.giveUp(o.flight)
	}
	if len(ops) > 0 {
		w.log.Error("outcomes of attempts are not recorded: the store rejects writes and the node stops; the attempts are repeated", "attempts", len(ops))
	}
}

func (w *writer) Apart(o *op, err error, wait time.Duration) {
	w.log.Error("the store rejects the outcome of one attempt and accepts others; it is retried, and the task is not attempted meanwhile",
		"task", o.flight.task.ID, traceID(o.flight.task), "attempt", o.flight.attempt.Number, "wait", wait, "err", err)
}

var _ commit.Host[*op] = (*writer)(nil)

// init makes the lanes. A store that belongs to this process alone has one, because each of its
// transactions is one wait for the disk.
func (c *committer) init(lane commit.Options) {
	if c.leases.Sole() {
		c.outcomes = commit.New(&writer{committer: c}, &c.todo, lane)
		c.asked = c.outcomes
		return
	}
	c.asked = commit.New(&writer{committer: c, parallel: true}, &c.todo, lane)
	lane.Gather = gatherServer
	c.outcomes = commit.New(&writer{committer: c}, &c.todo, lane)
}
