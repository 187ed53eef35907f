// Orders at a channel that is Go code: bellman asks it until an order is paid, closes
// what nobody pays, and tells the merchant.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/pebble"
)

func main() {
	second := flag.Duration("second", 100*time.Millisecond, "how long a second of the story takes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *second); err != nil {
		log.Fatal(err)
	}
}

// A wallet is the channel: an account where orders are placed. Yours would ask a
// database, a bank's socket or a device.
type wallet struct {
	mu    sync.Mutex
	began time.Time
	paid  map[string]time.Duration // when somebody pays, by order
	shut  map[string]bool
	unit  time.Duration
}

// Query says how an order stands. What it does not say in so many words decides
// nothing.
func (w *wallet) Query(_ context.Context, o *order.Order) order.QueryAnswer {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := order.QueryAnswer{Answer: order.Answer{Result: bellman.Accepted}, Reading: order.Pending}
	at, pays := w.paid[o.OrderNo]
	switch {
	case pays && time.Since(w.began) >= at:
		a.Reading, a.Taken = order.Paid, map[string]any{"amount": 100}
	case w.shut[o.OrderNo]:
		a.Reading = order.Closed
	}
	fmt.Printf("%4.0f s  asked about %s: %v\n", float64(time.Since(w.began))/float64(w.unit), o.OrderNo, a.Reading)
	return a
}

// Close takes no more payment for an order. It is called only right after a Query
// that said that nobody paid.
func (w *wallet) Close(_ context.Context, o *order.Order) order.CloseAnswer {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shut[o.OrderNo] = true
	fmt.Printf("%4.0f s  closed %s\n", float64(time.Since(w.began))/float64(w.unit), o.OrderNo)
	return order.CloseAnswer{Answer: order.Answer{Result: bellman.Accepted}, Reading: order.CloseDone}
}

func run(ctx context.Context, second time.Duration) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	dir, err := os.MkdirTemp("", "bellman-example")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	db, err := pebble.Open(dir+"/data", pebble.Options{})
	if err != nil {
		return err
	}
	defer db.Close()

	w := &wallet{began: time.Now(), unit: second, shut: map[string]bool{}, paid: map[string]time.Duration{"A1": 7 * second}}
	watch, err := order.New(w, order.Rules{
		Expires:     20 * second,
		Confirm:     fmt.Sprintf("0s, %v", 2*second), // queries after a close, for a payment in the same moment
		LateWatch:   -1,                              // 15m is the default: queries for a payment that comes late
		OnExhausted: order.OnExhaustedClose,
		Then:        order.Then{Queue: "merchant-notify", HasURL: true},
	})
	if err != nil {
		return err
	}
	e, err := engine.New(engine.Options{Store: db, Logger: slog.New(slog.DiscardHandler), Queues: []engine.Queue{
		{Name: "wallet-orders", Kind: bellman.KindOrder, Handler: watch, Schedule: fmt.Sprintf("%v*", 3*second)},
		{Name: "merchant-notify", Handler: bellman.HandlerFunc(func(_ context.Context, t *bellman.Task, _ int) bellman.Verdict {
			fmt.Printf("%4.0f s  the merchant of %s is told: %s\n", float64(time.Since(w.began))/float64(second), t.OrderNo, t.Event)
			return bellman.Verdict{Next: bellman.Succeed}
		})},
	}})
	if err != nil {
		return err
	}
	ran := make(chan error, 1)
	go func() { ran <- e.Run(ctx) }()

	for _, added := range e.Add(ctx,
		&bellman.Task{Queue: "wallet-orders", MerchantNo: "M1", OrderNo: "A1"}, // somebody pays it after 7 s
		&bellman.Task{Queue: "wallet-orders", MerchantNo: "M1", OrderNo: "A2"}, // nobody does
	) {
		if added.Err != nil {
			return added.Err
		}
		decided, err := e.Wait(ctx, added.ID)
		if err != nil {
			return err
		}
		id, err := store.Lookup(ctx, db, "merchant-notify", order.TellKey("wallet-orders", decided.Key, "decided"))
		if err != nil {
			return err // the notification is there as soon as the order is decided: it is the same transaction
		}
		if _, err := e.Wait(ctx, id); err != nil {
			return err
		}
	}
	stop()
	return <-ran
}
