package bellman_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/store/memory"
)

// A channel has the platform's orders. One of its orders is paid at the third query, and one is
// never paid.
type channel struct{ looks, closed atomic.Int64 }

func (c *channel) Query(_ context.Context, o *order.Order) order.QueryAnswer {
	a := order.QueryAnswer{Answer: order.Answer{Result: bellman.Accepted, Status: 200}, Reading: order.Pending}
	switch {
	case o.OrderNo == "A1" && c.looks.Add(1) >= 3:
		a.Reading, a.Taken = order.Paid, map[string]any{"amount": 100}
	case o.OrderNo == "A2" && c.closed.Load() > 0:
		a.Reading = order.Closed
	}
	return a
}

func (c *channel) Close(context.Context, *order.Order) order.CloseAnswer {
	c.closed.Add(1)
	return order.CloseAnswer{Answer: order.Answer{Result: bellman.Accepted, Status: 204}, Reading: order.CloseDone}
}

// bellman watches the order: it queries the channel until the order is paid, closes it at the
// channel if nobody pays, and notifies the merchant.
func Example_orderWatch() {
	watch, err := order.New(&channel{}, order.Rules{
		Expires:     100 * time.Millisecond, // 30 * time.Minute
		Confirm:     "0s, 10ms",             // "0s, 5s, 25s": queries after a close
		LateWatch:   -1,                     // 15 * time.Minute: queries for a late payment
		OnExhausted: order.OnExhaustedClose,
		Then:        order.Then{Default: []order.Recipient{{Queue: "merchant-notify", HasURL: true}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	told := make(chan bool, 2)
	e, err := engine.New(engine.Options{
		Store:  memory.New(),
		Logger: slog.New(slog.DiscardHandler),
		Queues: []engine.Queue{
			{Name: "wechat-orders", Kind: bellman.KindOrder, Handler: watch, Schedule: "10ms, 10ms*"}, // "order_poll"
			{Name: "merchant-notify", Handler: bellman.HandlerFunc(func(_ context.Context, t *bellman.Task, _ int) bellman.Verdict {
				fmt.Println("told:", t.OrderNo, t.Event)
				told <- true
				return bellman.Verdict{Next: bellman.Succeed}
			})},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan error)
	go func() { ran <- e.Run(ctx) }()

	for _, added := range e.Add(ctx,
		&bellman.Task{Queue: "wechat-orders", MerchantNo: "M1", OrderNo: "A1"},
		&bellman.Task{Queue: "wechat-orders", MerchantNo: "M1", OrderNo: "A2"},
	) {
		task, err := e.Wait(ctx, added.ID)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(task.OrderNo, task.Reason)
		<-told
	}
	stop()
	if err := <-ran; err != nil {
		log.Fatal(err)
	}
	// Unordered output:
	// A1 paid
	// told: A1 order.paid
	// A2 closed
	// told: A2 order.closed
}
