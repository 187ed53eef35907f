package engine_test

import (
	"context"
	"fmt"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// A fixed delay: each message comes out after the delay, always.
func Example_staticDelay() {
	e, stop := start(memory.New(), engine.Queue{
		Name: "messages",
		Handler: bellman.HandlerFunc(func(_ context.Context, t *bellman.Task, _ int) bellman.Verdict {
			fmt.Printf("%s\n", t.Body)
			return bellman.Verdict{Next: bellman.Succeed}
		}),
	})
	defer stop()

	ids := accepted(e.Add(ctx,
		&bellman.Task{Queue: "messages", Body: []byte("how was it?"), Delay: 30 * time.Millisecond}, // 7 * 24 * time.Hour
		&bellman.Task{Queue: "messages", Body: []byte("it is on its way"), Delay: 10 * time.Millisecond},
	))
	for _, id := range ids {
		must(e.Wait(ctx, id))
	}
	// Unordered output:
	// it is on its way
	// how was it?
}

// A resettable delay: the alarm fires only if no heartbeat has postponed it.
func Example_noHeartbeat() {
	db := memory.New()
	e, stop := start(db, engine.Queue{
		Name: "alarms",
		Handler: bellman.HandlerFunc(func(_ context.Context, t *bellman.Task, _ int) bellman.Verdict {
			fmt.Println(t.Key, "is silent")
			return bellman.Verdict{Next: bellman.Succeed, Reason: "silent"}
		}),
	})
	defer stop()
	ids := accepted(e.Add(ctx, &bellman.Task{Queue: "alarms", Key: "terminal 7", Delay: time.Minute}))

	heartbeat := func(terminal string, next time.Duration) (alarm time.Time) {
		alarm = time.Now().Add(next)
		id := must(store.Lookup(ctx, db, "alarms", terminal))
		must(e.Reschedule(ctx, id, alarm, bellman.By{Reason: "heartbeat"}))
		return alarm
	}
	heartbeat("terminal 7", time.Minute)
	heartbeat("terminal 7", time.Minute)
	last := heartbeat("terminal 7", 20*time.Millisecond) // the last heartbeat

	task := must(e.Wait(ctx, ids[0]))
	fmt.Println(task.Reason, "too early:", task.Finished.Before(last))
	// Output:
	// terminal 7 is silent
	// silent too early: false
}

// A rejected notification is repeated one full period later; an accepted one is not.
func Example_notifyFailed() {
	const period = 20 * time.Millisecond // 300 * time.Second
	db := memory.New()
	e, stop := start(db, engine.Queue{
		Name:     "merchant-notify",
		Schedule: "0s, 20ms*; max 24h", // "0s, 300s*; max 24h"
		Handler: bellman.HandlerFunc(func(_ context.Context, _ *bellman.Task, number int) bellman.Verdict {
			if number < 3 {
				return bellman.Verdict{Result: bellman.Refused, Error: "the merchant is busy"}
			}
			return bellman.Verdict{Next: bellman.Succeed, Result: bellman.Accepted}
		}),
	})
	defer stop()

	ids := accepted(e.Add(ctx, &bellman.Task{Queue: "merchant-notify", Key: "A1/paid", OrderNo: "A1"}))
	must(e.Wait(ctx, ids[0]))
	var before time.Time
	for _, a := range must(db.Attempts(ctx, ids[0], 0, 100)) {
		fmt.Println(a.Number, a.Result, "too early:", a.Started.Sub(before) < period)
		before = a.Started
	}
	// Output:
	// 1 refused too early: false
	// 2 refused too early: false
	// 3 accepted too early: false
}

// Reconciliation each morning: the channel's bill shows what the platform missed. Each difference
// becomes a task of its own, in the same transaction.
func Example_reconcile() {
	table := placed("A1", "A2")
	bill := func(context.Context) []string { return []string{"A1"} } // paid, says the channel
	db := memory.New()
	e, stop := start(db,
		engine.Queue{Name: "bills", Handler: bellman.HandlerFunc(func(ctx context.Context, _ *bellman.Task, _ int) bellman.Verdict {
			v := bellman.Verdict{Next: bellman.Succeed}
			for _, no := range bill(ctx) {
				v.Follow = append(v.Follow, bellman.Task{Queue: "settle", Key: no + "/bill", OrderNo: no})
			}
			return v
		})},
		engine.Queue{Name: "settle", Handler: bellman.HandlerFunc(func(_ context.Context, t *bellman.Task, _ int) bellman.Verdict {
			return bellman.Verdict{Next: bellman.Succeed, Reason: table.move(t.OrderNo, "paid")}
		})},
	)
	defer stop()

	events, cancel := e.Subscribe(100)
	defer cancel()
	ids := accepted(e.Add(ctx, &bellman.Task{Queue: "bills", Key: "daily", Repeat: "cron 0 10 * * * Asia/Shanghai"}))
	for ev := range events {
		if ev.Task.Queue == "settle" && ev.Task.State.Ended() {
			fmt.Println(ev.Task.OrderNo, ev.Task.Reason)
			break
		}
	}
	daily := must(db.Task(ctx, ids[0]))
	shanghai := must(time.LoadLocation("Asia/Shanghai"))
	fmt.Println("next at", daily.Due.In(shanghai).Format("15:04"))
	// Output:
	// A1 paid
	// next at 10:00
}
