package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
	"github.com/bellmanhq/bellman/store/pebble"
)

// A timer for each order: half an hour after it was placed, an unpaid order is closed.
func Example_closeAfterDelay() {
	table := placed("A1", "A2")
	e, stop := start(memory.New(), engine.Queue{
		Name:     "order-timeout",
		Delay:    30 * time.Millisecond, // 30 * time.Minute
		Schedule: "0s, 10s*",            // goes on when the table does not answer
		Handler:  bellman.HandlerFunc(table.close),
	})
	defer stop()

	table.move("A1", "paid")
	ids := accepted(e.Add(ctx,
		&bellman.Task{Queue: "order-timeout", Key: "A1", OrderNo: "A1"}, // due when the queue says
		&bellman.Task{Queue: "order-timeout", Key: "A2", OrderNo: "A2", StartAt: time.Now().Add(10 * time.Millisecond)},
	))
	for _, id := range ids {
		task := must(e.Wait(ctx, id))
		fmt.Println(task.OrderNo, task.Reason)
	}
	fmt.Println("goods locked:", table.locked)
	// Output:
	// A1 paid
	// A2 closed
	// goods locked: 0
}

// Ten thousand orders expire at the same moment.
func Example_closeMany() {
	const n = 10_000
	due := time.Now().Add(200 * time.Millisecond)
	var closed, early atomic.Int64
	done := make(chan bool)
	e, stop := start(memory.New(), engine.Queue{
		Name: "order-timeout",
		Handler: bellman.HandlerFunc(func(context.Context, *bellman.Task, int) bellman.Verdict {
			if time.Now().Before(due) {
				early.Add(1)
			}
			if closed.Add(1) == n {
				close(done)
			}
			return bellman.Verdict{Next: bellman.Succeed}
		}),
	})
	defer stop()

	batch := make([]*bellman.Task, n)
	for i := range batch {
		batch[i] = &bellman.Task{Queue: "order-timeout", Key: fmt.Sprint("A", i), StartAt: due}
	}
	accepted(e.Add(ctx, batch...))
	<-done
	fmt.Println(closed.Load(), "closed,", early.Load(), "early")
	// Output: 10000 closed, 0 early
}

// A delay queue that survives a restart: orders come out in the order in which they expire, with
// one consumer or many.
func Example_closeAfterRestart() {
	dir := must(os.MkdirTemp("", "bellman"))
	defer os.RemoveAll(dir)
	table := placed("A1", "A2", "A3")
	queue := engine.Queue{
		Name:        "order-timeout",
		Concurrency: 1, // consumers
		Handler: bellman.HandlerFunc(func(ctx context.Context, t *bellman.Task, number int) bellman.Verdict {
			defer fmt.Println("closing", t.OrderNo)
			return table.close(ctx, t, number)
		}),
	}

	db := must(pebble.Open(dir+"/data", pebble.Options{}))
	e, stop := start(db, queue)
	ids := accepted(e.Add(ctx,
		&bellman.Task{Queue: "order-timeout", Key: "A1", OrderNo: "A1", Delay: 320 * time.Millisecond},
		&bellman.Task{Queue: "order-timeout", Key: "A2", OrderNo: "A2", Delay: 300 * time.Millisecond},
		&bellman.Task{Queue: "order-timeout", Key: "A3", OrderNo: "A3", Delay: 340 * time.Millisecond},
	))
	stop()
	db.Close()

	db = must(pebble.Open(dir+"/data", pebble.Options{}))
	defer db.Close()
	e, stop = start(db, queue)
	defer stop()
	for _, id := range ids {
		must(e.Wait(ctx, id))
	}
	fmt.Println("goods locked:", table.locked)
	// Output:
	// closing A2
	// closing A1
	// closing A3
	// goods locked: 0
}

// The platform's own table is scanned periodically, and two scans never overlap.
func Example_closeByScan() {
	table := placed("A1")
	closed := make(chan string)
	e, stop := start(memory.New(), engine.Queue{
		Name: "scans",
		Handler: bellman.HandlerFunc(func(context.Context, *bellman.Task, int) bellman.Verdict {
			for _, no := range table.unpaid() {
				if table.move(no, "closed") == "closed" {
					closed <- no
				}
			}
			return bellman.Verdict{Next: bellman.Succeed}
		}),
	})
	defer stop()

	var scan bellman.ID
	for server := range 2 { // each server asks for the scan at its start; there is only one task
		added := e.Add(ctx, &bellman.Task{Queue: "scans", Key: "close", Repeat: "10ms"}) // "10m", or "cron */10 * * * *"
		scan = added[0].ID
		fmt.Println("server", server, "found it there:", added[0].Existing)
	}
	fmt.Println("closed", <-closed)
	table.place("A2")
	fmt.Println("closed", <-closed)
	fmt.Println(must(e.Cancel(ctx, scan, bellman.By{Reason: "enough"})).State)
	// Output:
	// server 0 found it there: false
	// server 1 found it there: true
	// closed A1
	// closed A2
	// cancelled
}

// An order is closed when it is read: whoever reads an expired order settles it first, and then
// reads the result.
func Example_closeOnRead() {
	table := placed("A1")
	e, stop := start(memory.New(), engine.Queue{Name: "order-timeout", Delay: time.Hour, Handler: bellman.HandlerFunc(table.close)})
	defer stop()
	ids := accepted(e.Add(ctx, &bellman.Task{Queue: "order-timeout", Key: "A1", OrderNo: "A1"}))

	show := func(no string) string {
		if table.status[no] == "unpaid" { // AND ends <= now()
			if err := must(e.Settle(ctx, by, ids[0]))[0].Err; err != nil {
				return "unknown for the moment"
			}
		}
		return table.status[no] // as it is now, not as it was read before
	}
	fmt.Println(show("A1"))
	// Output: closed
}

// A paid order needs no timeout: its task is cancelled.
func Example_cancelWhenPaid() {
	table := placed("A1")
	db := memory.New()
	e, stop := start(db, engine.Queue{Name: "order-timeout", Delay: 30 * time.Minute, Handler: bellman.HandlerFunc(table.close)})
	defer stop()
	accepted(e.Add(ctx, &bellman.Task{Queue: "order-timeout", Key: "A1", OrderNo: "A1"}))

	paid := func(no string) error {
		if table.move(no, "paid") != "paid" {
			return fmt.Errorf("order %s was closed: give the money back", no)
		}
		id := must(store.Lookup(ctx, db, "order-timeout", no))
		_, err := e.Cancel(ctx, id, bellman.By{Reason: "paid"})
		if errors.Is(err, bellman.ErrConflict) {
			return nil // it has fired in the meantime and found the order paid
		}
		return err
	}
	fmt.Println(paid("A1"))
	task := must(db.Task(ctx, must(store.Lookup(ctx, db, "order-timeout", "A1"))))
	fmt.Println(task.State, "after", task.Attempts, "attempts")
	// Output:
	// <nil>
	// cancelled after 0 attempts
}
