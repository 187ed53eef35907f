package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store/memory"
	"github.com/bellmanhq/bellman/store/pebble"
)

// The handler is a Go function, on the embedded store. An added task survives every crash and is
// attempted until the function accepts it.
func Example() {
	dir, err := os.MkdirTemp("", "bellman")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	store, err := pebble.Open(dir+"/data", pebble.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	tell := func(ctx context.Context, t *bellman.Task, number int) bellman.Verdict {
		fmt.Printf("attempt %d: %s\n", number, t.Body)
		if number < 2 {
			return bellman.Verdict{Error: "the merchant is busy"} // again, when the schedule says
		}
		return bellman.Verdict{Next: bellman.Succeed}
	}
	e, err := engine.New(engine.Options{
		Store:  store,
		Queues: []engine.Queue{{Name: "paid", Handler: bellman.HandlerFunc(tell), Schedule: "0s, 50ms, 15s, 30s"}},
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan error)
	go func() { ran <- e.Run(ctx) }() // start it first: Add waits until Run is running

	added := e.Add(ctx, &bellman.Task{Queue: "paid", Key: "M1001/20261120000001/paid", Body: []byte("order 20261120000001 is paid")})
	if err := added[0].Err; err != nil {
		log.Fatal(err)
	}
	task, err := e.Wait(ctx, added[0].ID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(task.State, "after", task.Attempts, "attempts")

	stop() // finishes what is in flight
	if err := <-ran; err != nil {
		log.Fatal(err)
	}
	// Output:
	// attempt 1: order 20261120000001 is paid
	// attempt 2: order 20261120000001 is paid
	// succeeded after 2 attempts
}

// Add a task and wait for its end, for as long as the caller has time. If the caller stops waiting,
// the task goes on.
func ExampleEngine_Wait() {
	e, stop := exampleEngine(func(_ context.Context, t *bellman.Task, _ int) bellman.Verdict {
		return bellman.Verdict{Next: bellman.Succeed, Reason: "paid"}
	})
	defer stop()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	added := e.Add(ctx, &bellman.Task{Queue: "orders", OrderNo: "20261120000001"})
	if err := added[0].Err; err != nil {
		log.Fatal(err)
	}
	task, err := e.Wait(ctx, added[0].ID)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		fmt.Println("still", task.State)
	case err != nil:
		log.Fatal(err)
	default:
		fmt.Println(task.State, task.Reason)
	}
	// Output: succeeded paid
}

// The task has a schedule of its own: three attempts, then it has failed. An invalid schedule is an
// error for the caller, not a failing task.
func ExampleEngine_Add_schedule() {
	e, stop := exampleEngine(func(context.Context, *bellman.Task, int) bellman.Verdict {
		return bellman.Verdict{Error: "not yet"}
	})
	defer stop()

	ctx := context.Background()
	added := e.Add(ctx,
		&bellman.Task{Queue: "orders", Schedule: "0s, 10ms, 20ms"},
		&bellman.Task{Queue: "orders", Schedule: "0s, soon"},
	)
	task, err := e.Wait(ctx, added[0].ID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(task.State, task.Reason, task.Attempts)

	if invalid, is := errors.AsType[*bellman.Invalid](added[1].Err); is {
		fmt.Println("wrong:", invalid.Fields[0].Field)
	}
	// Output:
	// failed attempts_used_up 3
	// wrong: schedule
}

// exampleEngine runs an engine with the queue "orders" on a store in memory.
func exampleEngine(f bellman.HandlerFunc) (*engine.Engine, func()) {
	e, err := engine.New(engine.Options{
		Store:  memory.New(),
		Queues: []engine.Queue{{Name: "orders", Handler: f}},
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error)
	go func() { ran <- e.Run(ctx) }()
	return e, func() {
		cancel()
		if err := <-ran; err != nil {
			log.Fatal(err)
		}
	}
}
