package poll_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/poll"
)

// A bank knows a refund once it was requested, and pays it out at the second query.
type bank struct{ queries int }

func (b *bank) Request(_ context.Context, o *order.Order) poll.RequestAnswer {
	fmt.Println("the bank takes", o.RefNo)
	return poll.RequestAnswer{Answer: order.Answer{Result: bellman.Accepted, Status: 200}, Reading: poll.RequestAccepted}
}

func (b *bank) Query(_ context.Context, o *order.Order) poll.Answer {
	b.queries++
	reading := poll.Waiting
	if b.queries == 2 {
		reading = poll.Done
	}
	return poll.Answer{Answer: order.Answer{Result: bellman.Accepted, Status: 200}, Reading: reading, Taken: poll.Taken{"amount": int64(990)}}
}

// A handler announces the request, sends it, and polls. An engine does what this loop does.
func Example() {
	now := time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)
	h, err := poll.New(&bank{}, poll.Rules{
		Request: true,
		Then:    order.Then{Default: []order.Recipient{{Queue: "merchant-notify", HasURL: true}}},
		Now:     func() time.Time { return now },
	})
	if err != nil {
		panic(err)
	}
	task := bellman.Task{Queue: "refunds", MerchantNo: "M1001", OrderNo: "20261120000002"}
	if err := h.Check(&task); err != nil {
		panic(err)
	}
	for n := 1; ; n++ {
		v := h.Attempt(context.Background(), &task, n)
		fmt.Println(strings.TrimSpace(fmt.Sprint(n, " ", v.Action, " ", v.Reading)))
		if task.Data = v.Data; v.Next == bellman.Succeed {
			fmt.Println(v.Reason, v.Follow[0].Event, string(v.Follow[0].Body))
			return
		}
		now = v.Due
	}
	// Output:
	// 1 announce
	// the bank takes 20261120000002-R1
	// 2 request accepted
	// 3 query PENDING
	// 4 query DONE
	// done poll.done {"amount":990,"decided_at":"2026-11-20T15:02:00.000Z","merchant_no":"M1001","order_no":"20261120000002","ref_no":"20261120000002-R1","state":"DONE"}
}
