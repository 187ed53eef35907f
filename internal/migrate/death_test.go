package migrate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// The last node of the source died, so an attempt may have been in flight. The next attempt is
// announced, whether the move has ended, was interrupted and continued, or was given up. Without a
// death it is an attempt as usual.
func TestDeathBeforeMove(t *testing.T) {
	for _, died := range []bool{true, false} {
		for _, course := range []string{"moved", "continued", "given up"} {
			t.Run(fmt.Sprintf("died %t, %s", died, course), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					from, to := memory.New(), memory.New()
					now := time.Now().UTC()
					task := &bellman.Task{ID: bellman.NewID(), Queue: "q", Schedule: "0s, 1h", Timeout: time.Minute,
						Status: bellman.Status{Version: 1, Shard: 5, Began: now, Due: now, VisibleAt: now, Updated: now}}
					lead(t, from, died, task)
					next := to
					if course != "moved" { // somebody interrupts the first run after it has claimed the source
						ctx, interrupt := context.WithCancel(t.Context())
						o := Options{From: from, To: to, Report: func(p Progress) {
							if p.Phase == "moving" {
								interrupt()
							}
						}}
						if err := Run(ctx, o); !errors.Is(err, context.Canceled) {
							t.Fatalf("Run() = %v, want that it was interrupted", err)
						}
					}
					if course == "given up" {
						if err := Abandon(t.Context(), from); err != nil {
							t.Fatal(err)
						}
						next = from
					} else if err := Run(t.Context(), Options{From: from, To: to}); err != nil {
						t.Fatal(err)
					}
					if got := announced(t, next); got != died {
						t.Errorf("the next attempt is announced: %t, want %t", got, died)
					}
				})
			})
		}
	}
}

// lead owns all shards of a store, adds a task, and dies or stops.
func lead(t *testing.T, s store.Store, dies bool, task *bellman.Task) {
	t.Helper()
	h, err := hold(t.Context(), s, "n", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(t.Context(), &store.Batch{Leases: h.leases[:1], Adds: []store.Add{{Task: task}}}); err != nil {
		t.Fatal(err)
	}
	if dies {
		h.stop(nil)
		h.beats.Wait()
		return
	}
	if err := h.leave(); err != nil {
		t.Fatal(err)
	}
}

// announced runs an engine until its first attempt, and reports whether that attempt was announced.
func announced(t *testing.T, s store.Store) bool {
	t.Helper()
	attempts := make(chan bool, 1)
	e, err := engine.New(engine.Options{Store: s, Logger: slog.New(slog.DiscardHandler), Queues: []engine.Queue{{Name: "q", Handler: bellman.HandlerFunc(
		func(_ context.Context, task *bellman.Task, _ int) bellman.Verdict {
			attempts <- task.InDoubt()
			return bellman.Verdict{Next: bellman.Succeed}
		})}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	select {
	case is := <-attempts:
		return is
	case <-time.After(time.Hour):
		t.Fatal("no attempt in an hour")
		return false
	}
}
