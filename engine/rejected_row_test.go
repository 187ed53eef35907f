package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// A picky store fails each batch that contains the outcome of one particular task.
type picky struct {
	*memory.Store
	key string
}

func (s *picky) Commit(ctx context.Context, b *store.Batch) error {
	for i := range b.Changes {
		if of := b.Changes[i].Of; of != nil && of.Key == s.key {
			return errors.New("a row that cannot be written")
		}
	}
	return s.Store.Commit(ctx, b)
}

// An outcome that the store always rejects delays only its own task.
func TestRowThatAlwaysFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &picky{Store: memory.New(), key: "poison"}
		r := &receiver{answer: accept}
		e, stop := run(t, store, engine.Queue{Name: "q", Handler: r})
		defer stop()
		var ids []bellman.ID
		for i := range 100 {
			task := &bellman.Task{Queue: "q", Delay: time.Second}
			if i == 42 {
				task.Key = "poison"
			}
			if id := add(t, e, task); i != 42 {
				ids = append(ids, id)
			}
		}
		time.Sleep(10 * time.Second)
		for _, id := range ids {
			if task := get(t, store, id); task.State != bellman.Succeeded {
				t.Errorf("another task is %v; want succeeded, although one outcome cannot be written", task.State)
			}
		}
		if err := e.Ready(t.Context()); err != nil {
			t.Errorf("Ready: %v", err)
		}
		if a := e.Add(t.Context(), &bellman.Task{Queue: "q"})[0]; a.Err != nil {
			t.Errorf("Add: %v", a.Err)
		}
		time.Sleep(10 * time.Minute)
		if n := len(r.times()); n != 101 {
			t.Errorf("%d attempts; want 101, because the attempt that cannot be recorded is not repeated", n)
		}
	})
}
