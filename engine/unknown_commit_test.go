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

// An unsure store writes the first outcome of an attempt and returns an error. Before anybody can
// look, another writer has changed the task's due time.
type unsure struct {
	*memory.Store
	done bool
	due  time.Time
}

func (s *unsure) Commit(ctx context.Context, b *store.Batch) error {
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
	to.Due, to.VisibleAt = s.due, s.due
	other := &store.Batch{Changes: []store.Change{{ID: t.ID, Version: t.Version, To: to}}}
	if err := s.Store.Commit(ctx, other); err != nil {
		return err
	}
	return errors.Join(bellman.ErrUnknown, other.Changes[0].Err)
}

// An attempt was recorded although its commit returned an error, and its task was changed before
// the engine could find out. The attempt is in the log once, and the change stands.
func TestRecordedDespiteError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &unsure{Store: memory.New(), due: time.Now().Add(time.Hour).UTC()}
		r := &receiver{answer: refuse}
		e, stop := run(t, store, engine.Queue{Name: "q", Handler: r, Schedule: "0s, 30s, 1d"})
		defer stop()
		id := add(t, e, &bellman.Task{Queue: "q"})
		time.Sleep(time.Minute)
		if log := attempts(t, store, id); len(log) != 1 || len(r.times()) != 1 {
			t.Errorf("%d attempts in the log, %d made; want 1 and 1", len(log), len(r.times()))
		}
		if task := get(t, store, id); !task.Due.Equal(store.due) {
			t.Errorf("due at %v; want %v, the time set by the other writer", task.Due, store.due)
		}
		time.Sleep(2 * time.Hour)
		if log := attempts(t, store, id); len(log) != 2 {
			t.Errorf("%d attempts in the log after the new due time; want 2", len(log))
		}
	})
}

// A mute store is exclusive. It writes the next commit and returns ErrUnknown.
type mute struct {
	*memory.Store
	next bool
}

func (s *mute) Use() store.Use { return store.Use{Exclusive: true} }

func (s *mute) Commit(ctx context.Context, b *store.Batch) error {
	err := s.Store.Commit(ctx, b)
	if s.next && err == nil {
		s.next = false
		return bellman.ErrUnknown
	}
	return err
}

// A task was added or rescheduled although the commit returned an error. It is attempted when it is
// due. With an exclusive store no sweep would find it within a second, because nobody else writes
// to such a store.
func TestAddedDespiteError(t *testing.T) {
	for name, ask := range map[string]func(e *engine.Engine, old bellman.ID, due time.Time) error{
		"add": func(e *engine.Engine, _ bellman.ID, due time.Time) error {
			return e.Add(context.Background(), &bellman.Task{Queue: "q", StartAt: due})[0].Err
		},
		"add with a document": func(e *engine.Engine, _ bellman.ID, due time.Time) error {
			doc := store.Doc{Kind: "k", Name: "n", Value: []byte("{}")}
			return e.AddWith(context.Background(), []store.Doc{doc}, &bellman.Task{Queue: "q", StartAt: due})
		},
		"reschedule": func(e *engine.Engine, old bellman.ID, due time.Time) error {
			_, err := e.Reschedule(context.Background(), old, due, bellman.By{})
			return err
		},
	} {
		for _, wait := range []time.Duration{0, 3 * time.Second} {
			synctest.Test(t, func(t *testing.T) {
				store := &mute{Store: memory.New()}
				r := &receiver{answer: accept}
				e, stop := run(t, store, engine.Queue{Name: "q", Handler: r, Schedule: "0s"})
				defer stop()
				old := add(t, e, &bellman.Task{Queue: "q", Delay: time.Hour})
				time.Sleep(10 * time.Second)
				store.next = true
				due := time.Now().Add(wait)
				if err := ask(e, old, due); !errors.Is(err, bellman.ErrUnknown) {
					t.Fatalf("%s: %v; want ErrUnknown", name, err)
				}
				time.Sleep(20 * time.Second)
				if seen := r.times(); len(seen) != 1 || seen[0].Sub(due) > 100*time.Millisecond {
					t.Errorf("%s, due after %v: attempts at %v; want one at %v", name, wait, seen, due)
				}
			})
		}
	}
}
