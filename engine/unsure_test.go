package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/memory"
)

// An unsure store writes the first outcome of an attempt and does not say so; before
// anybody can look, another writer has moved the task's due time.
type unsure struct {
	*memory.Store
	done bool
	due  time.Time
}

func (s *unsure) Commit(ctx context.Context, b *bellman.Batch) error {
	err := s.Store.Commit(ctx, b)
	if err != nil || s.done || len(b.Changes) != 1 || b.Changes[0].Attempt == nil {
		return err
	}
	s.done = true
	t, err := s.Task(ctx, b.Changes[0].ID)
	if err != nil {
		return err
	}
	to := t.Status
	to.Due, to.Look = s.due, s.due
	other := &bellman.Batch{Changes: []bellman.Change{{ID: t.ID, Version: t.Version, To: to}}}
	if err := s.Store.Commit(ctx, other); err != nil {
		return err
	}
	return errors.Join(bellman.ErrUnknown, other.Changes[0].Err)
}

// An attempt that was recorded although its commit did not say so stands in the log once, also
// if its task was changed before that could be found out; and the change stands.
func TestRecordedAfterAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &unsure{Store: memory.New(), due: time.Now().Add(time.Hour).UTC()}
		r := &receiver{answer: refuse}
		e, stop := run(t, store, engine.Queue{Name: "q", Handler: r, Schedule: "0s, 30s, 1d"})
		defer stop()
		id := add(t, e, &bellman.Task{Queue: "q"})
		time.Sleep(time.Minute)
		if log := attempts(t, store, id); len(log) != 1 || len(r.times()) != 1 {
			t.Errorf("%d attempts in the log, of %d; want 1 of 1", len(log), len(r.times()))
		}
		if task := get(t, store, id); !task.Due.Equal(store.due) {
			t.Errorf("due %v; want %v, to which it was moved", task.Due, store.due)
		}
		time.Sleep(2 * time.Hour)
		if log := attempts(t, store, id); len(log) != 2 {
			t.Errorf("%d attempts in the log when it was due again; want 2", len(log))
		}
	})
}
