package engine

import (
	"context"
	"fmt"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// Try returns what Add would return for these tasks, and adds nothing. It fills them in except for
// their ids, validates them, and looks up their keys and aliases. It does not return ErrOverloaded.
// If two of the tasks have one key, the second is Existing and its result has no id.
func (e *Engine) Try(ctx context.Context, tasks ...*bellman.Task) []bellman.Added {
	out := make([]bellman.Added, len(tasks))
	if err := e.life.running(ctx); err != nil {
		for i := range out {
			out[i].Err = err
		}
		return out
	}
	taken := make(map[store.Key]bellman.Digest)
	now := e.clock.Now()
	for i, t := range tasks {
		add, err := e.rules.accept(t, now)
		if err != nil {
			out[i].Err = err
			continue
		}
		*t = *add.Task
		t.ID = bellman.ID{} // nobody has it
		out[i] = e.try(ctx, &add, taken)
	}
	return out
}

// try returns what Add would return for one task. taken has the keys and aliases of the tasks
// before it, and gets those of this task.
func (e *Engine) try(ctx context.Context, add *store.Add, taken map[store.Key]bellman.Digest) bellman.Added {
	key, alias := store.Key{Queue: add.Task.Queue, Key: add.Task.Key}, store.Key{Key: add.Task.Alias()}
	if key.Key == "" && alias.Key == "" {
		return bellman.Added{}
	}
	found, err := e.store.Find(ctx, []store.Key{key, alias})
	if err != nil {
		return bellman.Added{Err: fmt.Errorf("look for the key of a task: %w", err)}
	}
	there := func(name store.Key, f *store.Found) bool {
		digest, is := taken[name]
		if is {
			f.Digest = digest
		}
		return is || !f.ID.IsZero()
	}
	switch {
	case there(key, &found[0]) && found[0].Digest == add.Digest:
		return bellman.Added{ID: found[0].ID, Existing: true}
	case there(key, &found[0]):
		return bellman.Added{ID: found[0].ID, Err: bellman.ErrKeyTaken}
	case there(alias, &found[1]):
		return bellman.Added{ID: found[1].ID, Err: bellman.ErrAliasTaken}
	}
	for _, name := range [...]store.Key{key, alias} {
		if name.Key != "" {
			taken[name] = add.Digest
		}
	}
	return bellman.Added{}
}
