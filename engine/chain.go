package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/clock"
	"github.com/bellmanhq/bellman/engine/internal/cluster"
	"github.com/bellmanhq/bellman/engine/internal/commit"
	"github.com/bellmanhq/bellman/engine/internal/locks"
	"github.com/bellmanhq/bellman/store"
)

// The node that commits the end of a task brings back the next task of its chain. If the node dies
// in between, or the store fails, the next task looks for itself after a while (minTurn).

// chainWorkers is the number of chains that are handled concurrently.
const chainWorkers = 8

const chainTimeout = 10 * time.Second

// chains keeps the order of tasks with ordering keys.
type chains struct {
	store     store.Store
	log       *slog.Logger
	clock     *clock.Clock
	leases    *cluster.Member
	agenda    *agenda
	admin     *Admin
	deferrals *deferrals
	attempts  context.Context // ends when all attempts must end
	patience  context.Context // ends when a stop gives up waiting for the store
	work      *commit.Work    // a stop waits for it

	mu      locks.Mutex
	passing map[chain]passing // chains in which the turn may pass to another task
	wake    chan struct{}     // one element for each worker
	closed  bool
}

func newChains(e *Engine, d *deferrals) *chains {
	o := &chains{
		store:     e.store,
		log:       e.log,
		clock:     e.clock,
		leases:    e.leases,
		agenda:    e.agenda,
		admin:     e.Admin,
		deferrals: d,
		attempts:  e.runner.attempts,
		patience:  e.patience,
		work:      &e.committer.todo,
		passing:   make(map[chain]passing),
		wake:      make(chan struct{}, chainWorkers),
	}
	locks.Name(&o.mu, "chains")
	return o
}

// A passing describes what happened in a chain.
type passing struct {
	unless     bellman.ID // nothing to do while this task is the first; zero: always something to do
	superseded bool       // a task supersedes others
}

// push queues a chain for the workers.
func (o *chains) push(c chain, p passing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	if old, ok := o.passing[c]; ok {
		if old.unless != p.unless {
			p.unless = bellman.ID{}
		}
		p.superseded = p.superseded || old.superseded
	} else {
		o.work.Expect()
	}
	o.passing[c] = p
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// take waits for a chain. ok is false after close.
func (o *chains) take() (c chain, p passing, ok bool) {
	for {
		o.mu.Lock()
		for c, p = range o.passing {
			delete(o.passing, c)
			o.mu.Unlock()
			return c, p, true
		}
		closed := o.closed
		o.mu.Unlock()
		if closed {
			return c, p, false
		}
		<-o.wake
	}
}

// close ends take when the queue is empty.
func (o *chains) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	close(o.wake)
}

// passOn queues the chain of a flight if the turn may pass. The caller holds the agenda's mutex.
func (o *chains) passOn(f *flight) {
	switch {
	case f.task.OrderingKey == "":
	case f.change.To.State.Ended():
		o.push(chainOf(f.task), passing{})
	case f.waits != nil: // that task may have ended before this deferral was committed
		o.push(chainOf(f.task), passing{unless: f.waits.before})
	}
}

// passAll is a worker. It runs until the engine has stopped.
func (o *chains) passAll() {
	for {
		c, p, ok := o.take()
		if !ok {
			return
		}
		ctx, cancel := context.WithTimeout(o.patience, chainTimeout)
		if err := o.pass(ctx, c, p); err != nil && o.patience.Err() == nil && !errors.Is(err, bellman.ErrClosed) {
			o.log.Warn("a task whose turn has come is told later", "queue", c.queue, "ordering_key", c.key, "err", err)
		}
		cancel()
		o.work.Finish(1)
	}
}

// pass brings back the first task of a chain, if it is deferred.
func (o *chains) pass(ctx context.Context, c chain, p passing) error {
	if p.superseded {
		if err := o.endAllSuperseded(ctx, c); err != nil {
			return err
		}
	}
	if o.agenda.inTurn(c) {
		return nil
	}
	first, err := o.store.Chain(ctx, c.queue, c.key, bellman.ID{}, 1)
	if err != nil || len(first.First) == 0 || first.First[0] == p.unless {
		return err
	}
	_, err = o.admin.moveAlways(ctx, first.First[0], "bring back", func(change *store.Change, t *bellman.Task, now time.Time) error {
		switch {
		case t.Phase != bellman.Deferred, !t.VisibleAt.After(now), isShelf(t.VisibleAt.UnixMilli()), o.agenda.flying(t.ID): // it is on its way, not due, or waits for its line
			return errKeep
		}
		change.To.Phase = bellman.Waiting
		change.To.VisibleAt = later(now, t.Due) // the node that deferred it may have another clock
		beginAt(&change.To, now)
		return nil
	})
	if errors.Is(err, errKeep) || errors.Is(err, bellman.ErrNotFound) {
		return nil
	}
	return err
}

// endAllSuperseded ends the superseded tasks of a chain, as far as possible now.
func (o *chains) endAllSuperseded(ctx context.Context, c chain) error {
	for {
		page, err := o.store.Chain(ctx, c.queue, c.key, bellman.ID{}, supersedePage)
		if err != nil || page.SupersededBy.IsZero() { // then no task is superseded
			return err
		}
		some := false
		for _, id := range page.First {
			ended, err := o.endSuperseded(ctx, c, id)
			if err != nil {
				return err
			}
			some = some || ended
		}
		if !some {
			return nil
		}
	}
}
