package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/bellmanhq/bellman"
)

// Try says what Add would make of tasks now, and adds nothing: it fills them in but
// for their ids, finds what is wrong with them, and which of their keys are there. It
// does not refuse tasks for being overloaded. A key that is twice among them is there
// for the second; then its Added has no id.
func (e *Engine) Try(ctx context.Context, tasks ...*bellman.Task) []bellman.Added {
	out := make([]bellman.Added, len(tasks))
	if err := e.running(ctx); err != nil {
		for i := range out {
			out[i].Err = err
		}
		return out
	}
	type named struct{ queue, key string }
	taken := make(map[named]bellman.Digest)
	now := e.clock.now()
	for i, t := range tasks {
		add, err := e.accept(t, now)
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

// holder is the task in the store that has the key of t, if there is one.
func (e *Engine) holder(ctx context.Context, t *bellman.Task) (id bellman.ID, digest bellman.Digest, there bool, err error) {
	id, err = e.store.Lookup(ctx, t.Queue, t.Key)
	if errors.Is(err, bellman.ErrNotFound) {
		return id, digest, false, nil
	}
	if err != nil {
		return id, digest, false, fmt.Errorf("look for the key of a task: %w", err)
	}
	digests, err := e.store.Digests(ctx, []*bellman.Task{{ID: id, Queue: t.Queue, Key: t.Key}})
	if err != nil {
		return id, digest, false, fmt.Errorf("read what the task with the key said: %w", err)
	}
	return id, digests[0], digests[0] != bellman.Digest{}, nil // zero: it is gone meanwhile
}
