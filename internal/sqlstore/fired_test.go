package sqlstore_test

import (
	"context"
	"database/sql"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store/mysql"
)

// TestHintsMakeAttemptsSooner adds tasks beside an engine that gets a hint of each commit, and
// beside one that only polls every second. The first one attempts them sooner.
func TestHintsMakeAttemptsSooner(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		for _, callers := range d.callers {
			url := d.empty(t)
			callerTest{Store: d.with(t, url, mysql.Options{}), Begin: callers(t, url)}.firedSooner(t)
			return
		}
	})
}

func (c callerTest) firedSooner(t *testing.T) {
	alone := c.fired(t, 8, false)
	t.Logf("without hints: attempted after %v to %v, half of them within %v", alone[0], alone[7], alone[4])
	// A busy machine may be late for any task, so one round of several is enough.
	for try := 1; ; try++ {
		told := c.fired(t, 20, true)
		t.Logf("with hints: attempted after %v to %v, half of them within %v", told[0], told[19], told[10])
		if told[10] < alone[4]/2 {
			return
		}
		if try == 10 {
			t.Fatalf("half of the tasks were attempted within %v of a commit with a hint, and within %v without; want less than half of that", told[10], alone[4])
		}
	}
}

// fired runs an engine on the store while callers add tasks in their own transactions, with or
// without a hint to the engine. It returns how long after each commit the attempt began, in
// ascending order.
func (c callerTest) fired(t *testing.T, n int, tell bool) (delays []time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
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
	must(t, e.Add(ctx, &bellman.Task{Queue: "tell"})[0].Err) // the engine is running now
	<-attempted
	for i := range n {
		tx := c.Begin(t, sql.LevelDefault)
		task := &bellman.Task{Queue: "tell", Key: "fired/" + bellman.NewID().String()}
		_, err := tx.Add(ctx, e.Prepare(task)...)
		must(t, err)
		select {
		case <-attempted:
			t.Error("a task was attempted before its transaction was committed")
		case <-time.After(time.Duration(i%7) * 10 * time.Millisecond): // so that commits fall on any moment of the engine's polling
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
