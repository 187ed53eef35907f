package engine_test

import (
	"context"
	"fmt"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store/memory"
)

// A refund's notification never overtakes that of its payment.
func Example_eventsInOrder() {
	merchant := make(chan string, 10)
	e, stop := start(memory.New(), engine.Queue{
		Name:     "notices",
		Schedule: "0s, 10ms, 20ms",
		Handler: bellman.HandlerFunc(func(_ context.Context, t *bellman.Task, number int) bellman.Verdict {
			merchant <- fmt.Sprint(t.Event, ", attempt ", number)
			if t.Event == "paid" && number < 3 {
				return bellman.Verdict{Error: "the merchant is down"} // again; the refund waits
			}
			return bellman.Verdict{Next: bellman.Succeed}
		}),
	})
	defer stop()

	for _, event := range []string{"paid", "refunded"} {
		accepted(e.Add(ctx, &bellman.Task{Queue: "notices", Event: event, OrderingKey: "M1001/A1"}))
	}
	for range 4 {
		fmt.Println(<-merchant)
	}
	// Output:
	// paid, attempt 1
	// paid, attempt 2
	// paid, attempt 3
	// refunded, attempt 1
}
