package engine

import (
	"context"

	"github.com/bellmanhq/bellman"
)

// A notifier is a store that tells what callers added to it in transactions of
// their own, when those commit. It blocks until ctx ends, and may miss some.
type notifier interface {
	Hints(ctx context.Context, f func(bellman.Hint)) error
}

// listen is the goroutine that hears what a store tells. What it does not tell is
// found by looking, every second.
func (e *Engine) listen(ctx context.Context) error {
	s, ok := e.store.(notifier)
	if !ok {
		return nil
	}
	if err := s.Hints(ctx, e.Hinted); err != nil && ctx.Err() == nil {
		e.log.Warn("the store does not tell of tasks that callers add; they are found within a second", "err", err)
	}
	return nil
}

// Committed tells the engine, and those of other nodes, that tasks which a store's
// AddTx added are committed now. It need not be called, and where the store itself
// tells it does nothing new; without either the tasks are attempted up to a second
// late.
func (e *Engine) Committed(tasks ...*bellman.Task) {
	var own bellman.Hint
	others := make(map[uint16]stretch)
	e.hand.mu.Lock()
	for _, t := range tasks {
		if e.hand.owns(t.Shard) {
			look := t.Look.UnixMilli()
			own = own.Join(bellman.Hint{Added: []uint16{t.Shard}, Since: look, Until: look})
		}
		e.note(others, &t.Status)
	}
	e.hand.mu.Unlock()
	if len(own.Added) > 0 {
		e.Hinted(own)
	}
	e.tellOwners(others)
}
