package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/commit"
	"github.com/bellmanhq/bellman/engine/internal/locks"
	"github.com/bellmanhq/bellman/store"
)

// When a task of a chain has ended, at whatever node that was committed, that node
// brings back the one whose turn it is then. What is missed, because a node died in
// between or the store failed, is found when that task looks again (minTurn).

// passers is how many chains are seen to at once.
const chainWorkers = 8

const chainTimeout = 10 * time.Second

// chains sees to the order of tasks with ordering keys: whose turn it is, and whose comes next.
type chains struct {
	store     store.Store
	log       *slog.Logger
	clock     *clock
	leases    *leases
	agenda    *agenda
	admin     *Admin
	deferrals *deferrals
	attempts  context.Context // ends when all attempts must
	patience  context.Context // ends when a stop waits no longer for the store
	work      *commit.Work    // a stop waits for it

	mu      locks.Mutex
	passing map[chain]passing // where the turn may pass to another task
	wake    chan struct{}     // one for each that can sleep
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

// A passing says what happened in a chain.
type passing struct {
	unless     bellman.ID // nothing is to be done while this is the first; zero: there is, whoever it is
	superseded bool       // there is a task that supersedes others
}

// push notes that something is to be done in a chain.
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

// take waits for something to do; false: there will be nothing more.
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

// close ends take, once nothing is left.
func (o *chains) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	close(o.wake)
}

// passOn notes what a flight of an ordering key means for the others of its chain. Call
// it with the hand's mutex held.
func (o *chains) passOn(f *flight) {
	switch {
	case f.task.OrderingKey == "":
	case f.change.To.State.Ended():
		o.push(chainOf(f.task), passing{})
	case f.waits != nil: // who it waits for may have ended before this was committed
		o.push(chainOf(f.task), passing{unless: f.waits.before})
	}
}

// passAll is a goroutine that sees to chains, until the engine has stopped.
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

// pass brings back the first task of a chain, if it was deferred.
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
		case t.Phase != bellman.Deferred, !t.VisibleAt.After(now), isShelf(t.VisibleAt.UnixMilli()), o.agenda.flying(t.ID): // it is on its way, or not due, or waits for its line
			return errKeep
		}
		change.To.Phase = bellman.Waiting
		change.To.VisibleAt = later(now, t.Due) // who moved its look may have had another clock
		beginAt(&change.To, now)
		return nil
	})
	if errors.Is(err, errKeep) || errors.Is(err, bellman.ErrNotFound) {
		return nil
	}
	return err
}

// endAllSuperseded ends what is superseded in a chain, as far as that can be done now.
func (o *chains) endAllSuperseded(ctx context.Context, c chain) error {
	for {
		page, err := o.store.Chain(ctx, c.queue, c.key, bellman.ID{}, supersedePage)
		if err != nil || page.SupersededBy.IsZero() { // of the first: then none is
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
