package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store/memory"
)

// SetQueues may add a queue just after an attempt did not find it. The queue does not stay paused.
func TestQueueIsConfiguredMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		accept := bellman.HandlerFunc(func(context.Context, *bellman.Task, int) bellman.Verdict {
			return bellman.Verdict{Next: bellman.Succeed}
		})
		e, err := New(Options{Store: memory.New(), Queues: []Queue{{Name: "q", Handler: accept}}})
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
		e.Add(ctx, &bellman.Task{Queue: "q"})
		time.Sleep(time.Second)
		e.unknownQueues.hold("q") // as an attempt does that read the queues before SetQueues
		added := e.Add(ctx, &bellman.Task{Queue: "q"})
		time.Sleep(time.Second)
		if task, err := e.store.Task(ctx, added[0].ID); err != nil || task.State != bellman.Succeeded {
			t.Errorf("the task is %v, %v; want it succeeded", task.State, err)
		}
	})
}
