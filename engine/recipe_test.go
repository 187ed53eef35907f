package engine_test

import (
	"context"
	"log"
	"log/slog"
	"sync"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
)

// Shared code of the recipes in docs/recipes.md.

// ctx stands for the context of the caller.
var ctx = context.Background()

// start runs an engine in the background; stop finishes what is in flight.
func start(store store.Store, queues ...engine.Queue) (e *engine.Engine, stop func()) {
	e, err := engine.New(engine.Options{Store: store, Queues: queues, Logger: slog.New(slog.DiscardHandler)})
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

// must stands for the error handling of a real program.
func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// accepted returns the ids of added tasks. The tasks are on disk.
func accepted(added []bellman.Added) (ids []bellman.ID) {
	for _, a := range added {
		ids = append(ids, must(a.ID, a.Err))
	}
	return ids
}

// orders stands for the platform's own table.
type orders struct {
	mu     sync.Mutex
	status map[string]string // by order number: unpaid, paid or closed
	locked int               // goods that unpaid orders hold
}

func placed(numbers ...string) *orders {
	o := &orders{status: make(map[string]string)}
	o.place(numbers...)
	return o
}

func (o *orders) place(numbers ...string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, no := range numbers {
		o.status[no] = "unpaid"
		o.locked++
	}
}

// unpaid is SELECT no FROM orders WHERE status = 'unpaid' AND ends <= now().
func (o *orders) unpaid() (numbers []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for no, status := range o.status {
		if status == "unpaid" {
			numbers = append(numbers, no)
		}
	}
	return numbers
}

// move is UPDATE orders SET status = to WHERE no = ? AND status = 'unpaid', with the dependent
// changes in the same transaction. It returns the status afterwards.
func (o *orders) move(no, to string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.status[no] == "unpaid" {
		o.status[no] = to
		o.locked--
	}
	return o.status[no]
}

// close closes an order if it is still unpaid.
func (o *orders) close(_ context.Context, t *bellman.Task, _ int) bellman.Verdict {
	return bellman.Verdict{Next: bellman.Succeed, Reason: o.move(t.OrderNo, "closed")}
}
