package engine

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/agendacheck"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

type soleStore struct {
	*memory.Store
	sole bool
}

func (s soleStore) Use() store.Use { return store.Use{Exclusive: s.sole} }

// Gaps reports a task that the agenda has lost: with an exclusive store long before the task is
// due, with other stores once it is due.
func TestGaps(t *testing.T) {
	for _, sole := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			store := soleStore{memory.New(), sole}
			e, err := New(Options{Store: store, Logger: slog.New(slog.DiscardHandler),
				Queues: []Queue{{Name: "q", Handler: bellman.HandlerFunc(func(context.Context, *bellman.Task, int) bellman.Verdict {
					return bellman.Verdict{Next: bellman.Succeed}
				})}}})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- e.Run(ctx) }()
			time.Sleep(time.Second)
			task := &bellman.Task{Queue: "q", Delay: time.Minute}
			if a := e.Add(ctx, task)[0]; a.Err != nil {
				t.Fatal(a.Err)
			}
			time.Sleep(time.Second + 300*time.Millisecond) // between two sweeps
			var w agendacheck.Watch
			if gaps := w.Look(ctx, e, store, 10, 0); len(gaps) > 0 {
				t.Errorf("sole %t: gaps %v before the agenda lost a task; want none", sole, gaps)
			}
			forget := func() {
				e.agenda.mu.Lock()
				defer e.agenda.mu.Unlock()
				e.agenda.remove(e.agenda.items[task.ID])
			}
			forget()
			if gaps := w.Look(ctx, e, store, 10, 0); len(gaps) > 0 != sole || sole && gaps[0].ID != task.ID {
				t.Errorf("sole %t: gaps %v for a lost task that is due in a minute; want it reported: %t", sole, gaps, sole)
			}
			if gaps := w.Look(ctx, e, store, 10, time.Second); len(gaps) > 0 {
				t.Errorf("sole %t: gaps %v count as lasting a second at the first look; want none", sole, gaps)
			}
			time.Sleep(time.Until(task.Due) + 100*time.Millisecond)
			if gaps := w.Look(ctx, e, store, 10, time.Second); len(gaps) > 0 != sole {
				t.Errorf("sole %t: lasting gaps %v after the due time; want some: %t", sole, gaps, sole)
			}
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}
