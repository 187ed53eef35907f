package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store/memory"
)

// A flood of new tasks closes the intake when it crosses Flow.High, not at the check a second
// later. This also holds if most of the tasks wait on disk. The intake opens again when they have
// been attempted.
func TestFloodShutsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const high = 6000 // more than one line holds in memory
		gate := make(chan struct{})
		q := engine.Queue{Name: "q", Handler: bellman.HandlerFunc(func(ctx context.Context, _ *bellman.Task, _ int) bellman.Verdict {
			select {
			case <-gate:
			case <-ctx.Done():
			}
			return bellman.Verdict{Next: bellman.Succeed}
		}), Timeout: 10 * time.Minute}
		e, stop := runWith(t, engine.Options{Store: memory.New(), Queues: []engine.Queue{q}, Flow: engine.Flow{High: high, Low: high / 2}})
		defer stop()
		time.Sleep(5*time.Second + 100*time.Millisecond)
		for taken := 0; e.Intake().Open; taken += 500 {
			tasks := make([]*bellman.Task, 500)
			for i := range tasks {
				tasks[i] = &bellman.Task{Queue: "q"}
			}
			for _, a := range e.Take(t.Context(), tasks...) {
				if a.Err != nil {
					t.Fatal(a.Err)
				}
			}
			time.Sleep(10 * time.Millisecond)
			if taken > 2*high {
				t.Fatalf("%d tasks wait, Flow.High is %d, and the intake is open; want it closed", taken, high)
			}
		}
		close(gate)
		time.Sleep(10 * time.Second)
		if i := e.Intake(); !i.Open {
			t.Errorf("Intake after all tasks were attempted: %+v; want it open", i)
		}
	})
}
