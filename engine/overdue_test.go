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

// merchants is a receiver that pauses by merchant number.
type merchants struct{ *receiver }

func (merchants) Route(context.Context, *bellman.Task) (bellman.Route, error) {
	return bellman.Route{}, nil
}

// A task that waits for a paused queue, endpoint or merchant is not overdue, neither in the figures
// of the engine nor in those of its queue. This holds also for few tasks, which are not deferred.
func TestPausedIsNotOverdue(t *testing.T) {
	by := bellman.By{Who: "op", Reason: "maintenance"}
	for name, pause := range map[string]func(*engine.Engine, context.Context) error{
		"queue": func(e *engine.Engine, ctx context.Context) error { return e.PauseQueue(ctx, "q", by) },
		"endpoint": func(e *engine.Engine, ctx context.Context) error {
			return e.PauseEndpoint(ctx, "http://m.example:80", by)
		},
		"merchant": func(e *engine.Engine, ctx context.Context) error { return e.PauseMerchant(ctx, "M1", by) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, stop := run(t, memory.New(), engine.Queue{Name: "q", Handler: merchants{&receiver{answer: accept}}})
				defer stop()
				if err := pause(e, t.Context()); err != nil {
					t.Fatal(err)
				}
				for range 3 {
					add(t, e, &bellman.Task{Queue: "q", MerchantNo: "M1", URL: "http://m.example/", Endpoint: "http://m.example:80"})
				}
				for range 400 {
					time.Sleep(3 * time.Second)
					g := e.Gauges(t.Context())
					queues, err := e.Queues(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					q := queues[0]
					if !g.OldestOverdue.IsZero() || !q.OldestOverdue.IsZero() || q.Depth.Pending != 3 {
						t.Fatalf("OldestOverdue of the engine is %v, of the queue %v, with %d tasks pending; want none overdue and all pending", g.OldestOverdue, q.OldestOverdue, q.Depth.Pending)
					}
					if name != "merchant" && (g.Held != 3 || q.Held != 3) {
						t.Fatalf("Held of the engine is %d, of the queue %d; want 3", g.Held, q.Held)
					}
				}
			})
		})
	}
}
