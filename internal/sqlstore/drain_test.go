package sqlstore_test

import (
	"context"
	"flag"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
)

var drained = flag.Int("drained", 10_000, "tasks that an engine works through")

// TestStatementsPerTask lets an engine attempt stored tasks. One statement must serve many tasks.
func TestStatementsPerTask(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		perTask, perSecond := drain(t, d.driver(t), *drained)
		t.Logf("%.3f statements a task, %.0f tasks a second", perTask, perSecond)
		if perTask > 0.1 {
			t.Errorf("%.3f statements a task, want at most 0.1", perTask)
		}
	})
}

// drain lets an engine attempt n tasks that are stored and due, with a handler that does nothing.
// It returns the statements per task, without the three a second that an engine sends even if it
// has nothing to do, and the outcomes recorded per second.
func drain(tb testing.TB, d sqlstore.Driver, n int) (perTask, perSecond float64) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
	defer cancel()
	r := sqltest.Record(d)
	s, err := sqlstore.New(ctx, r)
	if err != nil {
		tb.Fatal(err)
	}
	for i := 0; i < n; i += 500 {
		b := sqltest.Adds(i, 500, time.Now())
		for j := range b.Adds {
			b.Adds[j].Task.Schedule = "0s"
			b.Adds[j].Task.Trigger = bellman.BySchedule
		}
		if err := s.Commit(ctx, b); err != nil {
			tb.Fatal(err)
		}
	}
	var made atomic.Int64
	handler := bellman.HandlerFunc(func(context.Context, *bellman.Task, int) bellman.Verdict {
		made.Add(1)
		return bellman.Verdict{Next: bellman.Succeed}
	})
	log := new(troubles)
	e, err := engine.New(engine.Options{Store: s, Logger: slog.New(log), Queues: []engine.Queue{{Name: "merchant-notify", Handler: handler, Schedule: "0s"}}})
	if err != nil {
		tb.Fatal(err)
	}
	before, began := r.Sent(), time.Now()
	running, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- e.Run(running) }()
	for ctx.Err() == nil {
		// This read goes to the store itself, so that the recorder does not count it.
		depths, err := depths(ctx, d)
		if err != nil {
			tb.Fatal(err)
		}
		if depths == int64(n) {
			break
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	took, sent := time.Since(began), r.Sent()-before
	stop()
	if err := <-ended; err != nil {
		tb.Error(err)
	}
	if made.Load() < int64(n) || made.Load() > int64(n) && log.n.Load() == 0 || ctx.Err() != nil {
		tb.Errorf("%d attempts were made, want %d; %v", made.Load(), n, ctx.Err())
	}
	return (float64(sent) - 3*took.Seconds()) / float64(n), float64(n) / took.Seconds()
}

// depths returns how many tasks have succeeded.
func depths(ctx context.Context, d sqlstore.Driver) (n int64, err error) {
	err = d.Read(ctx, &sqlstore.Statement{Name: "count", Text: `SELECT CAST(COALESCE(SUM(tasks), 0) AS {number}) FROM bellman_depth WHERE state = 1`,
		Each: func(r sqlstore.Row) error { return r.Scan(&n) }})
	return n, err
}
