package engine

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/dispatch"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

var accept = bellman.HandlerFunc(func(context.Context, *bellman.Task, int) bellman.Verdict {
	return bellman.Verdict{Next: bellman.Succeed}
})

// running is an engine with these queues, which runs until stop.
func running(t *testing.T, queues []Queue) (e *Engine, stop func()) {
	t.Helper()
	e, err := New(Options{Store: memory.New(), Logger: slog.New(slog.DiscardHandler), Queues: queues})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	return e, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// SetQueues may add a queue just after an attempt did not find it. The queue does not stay paused.
func TestQueueIsConfiguredMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, stop := running(t, []Queue{{Name: "q", Handler: accept}})
		defer stop()
		e.Add(t.Context(), &bellman.Task{Queue: "q"})
		time.Sleep(time.Second)
		e.unknownQueues.hold("q") // as an attempt does that read the queues before SetQueues
		added := e.Add(t.Context(), &bellman.Task{Queue: "q"})
		time.Sleep(time.Second)
		if task, err := e.store.Task(t.Context(), added[0].ID); err != nil || task.State != bellman.Succeeded {
			t.Errorf("the task is %v, %v; want it succeeded", task.State, err)
		}
	})
}

// Somebody pauses a queue while SetQueues adds it and many others, which tasks have waited for. The
// pause stands.
func TestPauseDuringSetQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := []Queue{{Name: "p", Handler: accept}}
		all := one
		for i := range 500 {
			all = append(all, Queue{Name: fmt.Sprint("q", i), Handler: accept})
		}
		e, stop := running(t, all)
		defer stop()
		e.Add(t.Context(), &bellman.Task{Queue: "q7"}) // opens the line
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
				for e.PauseQueue(t.Context(), "q7", bellman.By{}) != nil { // until the queue is there
				}
			})
			both.Wait()
			if wait := e.dispatch.Wait(e.clock.Now().UnixNano(), line); wait != dispatch.Forever {
				t.Fatalf("round %d: the queue is paused, and its tasks wait for %v", i, wait)
			}
			if err := e.ResumeQueue(t.Context(), "q7", bellman.By{}); err != nil {
				t.Fatal(err)
			}
		}
	})
}
