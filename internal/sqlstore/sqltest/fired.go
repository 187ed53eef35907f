package sqltest

import (
	"context"
	"database/sql"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
)

// Fired lets an engine run on the store while callers add tasks in transactions
// of theirs, and tell it, or not, and returns how long after each commit the
// attempt began, in order.
func (c CallerTest) Fired(t *testing.T, n int, tell bool) (delays []time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	attempted := make(chan time.Time, n)
	handler := bellman.HandlerFunc(func(context.Context, *bellman.Task, int) bellman.Verdict {
		attempted <- time.Now()
		return bellman.Verdict{Next: bellman.Succeed}
	})
	e, err := engine.New(engine.Options{Store: c.Store, Logger: slog.New(slog.DiscardHandler),
		Queues: []engine.Queue{{Name: "tell", Handler: handler, Schedule: "0s"}}})
	must(t, err)
	running, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- e.Run(running) }()
	defer func() {
		stop()
		must(t, <-ended)
	}()
	must(t, e.Add(ctx, &bellman.Task{Queue: "tell"})[0].Err) // it runs
	<-attempted
	for i := range n {
		tx := c.Begin(t, sql.LevelDefault)
		task := &bellman.Task{Queue: "tell", Key: "fired/" + bellman.NewID().String()}
		_, err := tx.Add(ctx, e.Prepare(task)...)
		must(t, err)
		select {
		case <-attempted:
			t.Error("a task was attempted before its transaction was committed")
		case <-time.After(time.Duration(i%7) * 10 * time.Millisecond): // at any time of the engine's round
		}
		must(t, tx.Commit())
		committed := time.Now()
		if tell {
			e.Committed(task)
		}
		select {
		case at := <-attempted:
			delays = append(delays, at.Sub(committed))
		case <-ctx.Done():
			t.Fatalf("task %d was not attempted", i)
		}
	}
	slices.Sort(delays)
	return delays
}
