package engine_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/order"
)

// A slowChannel knows no payment and takes two seconds for each reverse. It remembers which orders
// were queried, and when each was reversed.
type slowChannel struct {
	mu       sync.Mutex
	asked    map[string]bool
	reversed map[string]time.Time
}

func (c *slowChannel) Query(_ context.Context, o *order.Order) order.QueryAnswer {
	time.Sleep(100 * time.Millisecond)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked[o.OrderNo] = true
	return order.QueryAnswer{Reading: order.Pending, Answer: order.Answer{Result: bellman.Accepted, Status: 200}}
}

func (c *slowChannel) Close(context.Context, *order.Order) order.CloseAnswer {
	return order.CloseAnswer{}
}

func (c *slowChannel) Reverse(_ context.Context, o *order.Order) order.CloseAnswer {
	c.mu.Lock()
	c.reversed[o.OrderNo] = time.Now()
	c.mu.Unlock()
	time.Sleep(2 * time.Second)
	return order.CloseAnswer{Reading: order.CloseDone, Answer: order.Answer{Result: bellman.Accepted, Status: 200}}
}

// An order is decided at one node while its reverse waits for the account's pace at another. The
// reverse does not start more than two seconds later, however hints get lost. It would undo a
// payment of which the merchant was notified.
func TestNoReverseAfterDecision(t *testing.T) {
	lossy(t, func(t *testing.T, c *crew) {
		channel := &slowChannel{asked: make(map[string]bool), reversed: make(map[string]time.Time)}
		queue := func() engine.Queue {
			h, err := order.New(channel, order.Rules{OnExhausted: order.OnExhaustedReverse, MinReverseAge: -1, Endpoint: "account", Alert: func(*bellman.Task, order.Alert) []bellman.Task { return nil }})
			if err != nil {
				t.Fatal(err)
			}
			return engine.Queue{Name: "q", Handler: h, Timeout: time.Minute, Concurrency: 1, Schedule: "1s"}
		}
		a, b := c.start("a", queue()), c.start("b", queue())
		defer a.stop()
		defer b.stop()
		time.Sleep(20 * time.Second)
		const orders = 40
		ids := make([]bellman.ID, orders)
		for i := range ids {
			ids[i] = add(t, a.Engine, &bellman.Task{Queue: "q", MerchantNo: "M1", OrderNo: fmt.Sprint(i), Key: fmt.Sprint(i), Body: []byte("{}")})
		}
		time.Sleep(30 * time.Second) // most were queried and wait for their reverse
		decided := make(map[string]time.Time)
		waited := 0
		for i, id := range ids {
			no := fmt.Sprint(i)
			if _, err := []*member{a, b}[i%2].Complete(t.Context(), id, bellman.Completion{Outcome: "PAID"}, by); err == nil {
				decided[no] = time.Now()
			}
			channel.mu.Lock()
			if _, reversed := channel.reversed[no]; channel.asked[no] && !reversed {
				waited++
			}
			channel.mu.Unlock()
		}
		time.Sleep(30 * time.Minute / fewer)
		late := 0
		for no, at := range decided {
			if began, reversed := channel.reversed[no]; reversed && began.Sub(at) > sentWithin {
				late++
			}
		}
		if late > 0 || waited < 5 {
			t.Errorf("%d of %d orders were reversed more than %v after they were decided, and %d of those decided waited for a reverse; want none, and at least 5", late, len(decided), sentWithin, waited)
		}
	})
}
