package server

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/migrate"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// A server is cut off from its database, and a move takes it for dead. It adds a task before, a
// task while the move waits for it, and a task when it is back. The move copies the first two.
// Nobody would ever attempt the third, so the server must not say that it was added.
func TestAddAfterMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, to := memory.New(), memory.New()
		s := &unmoved{Store: from, refuse: func(ctx context.Context) error { return migrate.Refuse(ctx, from) }}
		add := func() error {
			now := time.Now().UTC()
			task := &bellman.Task{ID: bellman.NewID(), Queue: "q", Status: bellman.Status{Version: 1, Began: now, Due: now, VisibleAt: now, Updated: now}}
			return s.Commit(t.Context(), &store.Batch{Adds: []store.Add{{Task: task}}})
		}
		node := store.Node{Name: "n"}
		if err := s.Join(t.Context(), node, store.LeaseTTL); err != nil {
			t.Fatal(err)
		}
		if err := add(); err != nil {
			t.Errorf("Commit() before the move = %v", err)
		}
		waited := false
		err := migrate.Run(t.Context(), migrate.Options{From: from, To: to, Report: func(p migrate.Progress) {
			if len(p.Wait) > 0 && !waited {
				waited = true
				if err := add(); err != nil {
					t.Errorf("Commit() while the move waits for this server = %v", err)
				}
			}
		}})
		if err != nil || !waited {
			t.Fatalf("Run() = %v, waited for the server: %t; want a move that waits", err, waited)
		}
		c, err := migrate.Counted(t.Context(), to, nil)
		if err != nil || c.Pending != 2 {
			t.Errorf("the move copied %d tasks, %v; want 2", c.Pending, err)
		}
		if err := add(); !errors.Is(err, bellman.ErrUnknown) {
			t.Errorf("Commit() after the move = %v; want ErrUnknown", err)
		}
		s.refuse = func(context.Context) error { return bellman.ErrUnreachable }
		if err := add(); !errors.Is(err, bellman.ErrUnknown) || errors.Is(err, bellman.ErrUnreachable) {
			t.Errorf("Commit() = %v if the mark cannot be read; want ErrUnknown alone, because the task was written", err)
		}
		s.refuse = func(ctx context.Context) error { return migrate.Refuse(ctx, from) }
		if err := s.Beat(t.Context(), node.Name); !errors.Is(err, bellman.ErrFenced) {
			t.Errorf("Beat() = %v; want ErrFenced", err)
		}
		if err := s.Join(t.Context(), store.Node{Name: "again"}, store.LeaseTTL); !errors.Is(err, bellman.ErrClosed) {
			t.Errorf("Join() = %v; want ErrClosed", err)
		}
	})
}
