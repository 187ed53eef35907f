package engine

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/dispatch"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// Somebody pauses a queue while SetQueues adds it and many others, which tasks have waited for. The
// pause stands.
func TestPauseDuringSetQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		accept := bellman.HandlerFunc(func(context.Context, *bellman.Task, int) bellman.Verdict {
			return bellman.Verdict{Next: bellman.Succeed}
		})
		one := []Queue{{Name: "p", Handler: accept}}
		all := one
		for i := range 500 {
			all = append(all, Queue{Name: fmt.Sprint("q", i), Handler: accept})
		}
		e, err := New(Options{Store: memory.New(), Logger: slog.New(slog.DiscardHandler), Queues: all})
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
		e.Add(ctx, &bellman.Task{Queue: "q7"}) // opens the line
		synctest.Wait()
		line := uint64(store.LineOf("q7", ""))
		for i := range 40 {
			e.SetQueues(one)
			for _, q := range all[1:] {
				e.unknownQueues.hold(q.Name)
			}
			var both sync.WaitGroup
			both.Go(func() { e.SetQueues(all) })
			both.Go(func() {
				for e.PauseQueue(ctx, "q7", bellman.By{}) != nil { // until the queue is there
				}
			})
			both.Wait()
			if wait := e.dispatch.Wait(e.clock.Now().UnixNano(), line); wait != dispatch.Forever {
				t.Fatalf("round %d: the queue is paused, and its tasks wait for %v", i, wait)
			}
			if err := e.ResumeQueue(ctx, "q7", bellman.By{}); err != nil {
				t.Fatal(err)
			}
		}
	})
}
