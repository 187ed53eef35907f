package engine

import (
	"context"
	"fmt"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// Try returns what Add would return for these tasks, and adds nothing. It fills them in except for
// their ids, validates them, and looks up their keys. It does not return ErrOverloaded. If two of
// the tasks have one key, the second is Existing and its result has no id.
func (e *Engine) Try(ctx context.Context, tasks ...*bellman.Task) []bellman.Added {
	out := make([]bellman.Added, len(tasks))
	if err := e.life.running(ctx); err != nil {
		for i := range out {
			out[i].Err = err
		}
		return out
	}
	type named struct{ queue, key string }
	taken := make(map[named]bellman.Digest)
	now := e.clock.Now()
	for i, t := range tasks {
		add, err := e.rules.accept(t, now)
		if err == nil {
			*t = *add.Task
			t.ID = bellman.ID{} // nobody has it
		}
		if err != nil || t.Key == "" {
			out[i].Err = err
			continue
		}
		name := named{t.Queue, t.Key}
		digest, there := taken[name]
		if !there {
			out[i].ID, digest, there, err = e.holder(ctx, t)
		}
		switch {
		case err != nil:
			out[i].Err = err
		case !there:
			taken[name] = add.Digest
		case digest == add.Digest:
			out[i].Existing = true
		default:
			out[i].Err = bellman.ErrKeyTaken
		}
	}
	return out
}

// holder returns the stored task that has the key of t.
func (e *Engine) holder(ctx context.Context, t *bellman.Task) (id bellman.ID, digest bellman.Digest, there bool, err error) {
	found, err := e.store.Find(ctx, []store.Key{{Queue: t.Queue, Key: t.Key}})
	if err != nil {
		return id, digest, false, fmt.Errorf("look for the key of a task: %w", err)
	}
	return found[0].ID, found[0].Digest, !found[0].ID.IsZero(), nil
}
