package engine

import (
	"context"
	"errors"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

const chainTimeout = 10 * time.Second

// passAll is a worker. It runs until the engine has stopped.
func (o *chains) passAll() {
	for {
		c, p, ok := o.take()
		if !ok {
			return
		}
		ctx, cancel := context.WithTimeout(o.patience, chainTimeout)
		if err := o.pass(ctx, c, p); err != nil && o.patience.Err() == nil && !errors.Is(err, bellman.ErrClosed) {
			o.log.Warn("the next task of an ordering key is brought back later", "queue", c.queue, "ordering_key", c.key, "err", err)
		}
		cancel()
		o.work.Finish(1)
	}
}

// pass brings back the first task of a chain, if it is deferred.
func (o *chains) pass(ctx context.Context, c chain, p passing) error {
	if p.superseded {
		if err := o.endAllSuperseded(ctx, c, bellman.ID{}); err != nil {
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
