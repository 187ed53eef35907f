package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// AddWith adds tasks and writes documents in one transaction of their own: all of it,
// or nothing. It is not refused for being overloaded. A task whose key is there
// already counts as added. The error is an *[bellman.Invalid] of the first task that
// is wrong, ErrConflict if a document is no longer what its Was says, or the store's;
// after ErrUnknown all of it may be written, or nothing.
func (e *Engine) AddWith(ctx context.Context, docs []store.Doc, tasks ...*bellman.Task) error {
	if err := e.life.running(ctx); err != nil {
		return err
	}
	now := e.clock.now()
	adds := make([]store.Add, len(tasks))
	for i, t := range tasks {
		add, err := e.rules.accept(t, now)
		if err != nil {
			return err
		}
		adds[i] = add
	}
	// Not through a lane, where a document that is another by now would fail what
	// others asked for in the same transaction.
	b := batch{Batch: store.Batch{Adds: adds, Docs: docs}, since: e.hand.follow()}
	defer e.hand.unfollow(b.since)
	if err := e.store.Commit(ctx, &b.Batch); err != nil {
		if errors.Is(err, bellman.ErrUnknown) {
			e.committer.lookFor(unsure([]*op{{adds: adds}}))
		}
		return fmt.Errorf("add tasks with documents: %w", err)
	}
	e.committer.committed(&b, []*op{{adds: adds}})
	for i := range adds {
		if errors.Is(adds[i].Err, bellman.ErrFull) {
			return fmt.Errorf("add tasks with documents: %w", adds[i].Err)
		}
	}
	return nil
}
