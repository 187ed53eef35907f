package engine_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store/pebble"
)

// cpu returns the processor time used by this process.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

const backlog = 50_000

// benchmark starts an engine over the embedded store. Its handler accepts each attempt at once;
// done is closed after backlog attempts.
func benchmark(b *testing.B, dir string) (e *engine.Engine, done chan struct{}, stop func()) {
	b.Helper()
	store, err := pebble.Open(dir, pebble.Options{})
	if err != nil {
		b.Fatal(err)
	}
	done = make(chan struct{})
	var n atomic.Int64
	e, err = engine.New(engine.Options{Store: store, Logger: slog.New(slog.DiscardHandler), Queues: []engine.Queue{{
		Name: "q",
		Handler: bellman.HandlerFunc(func(context.Context, *bellman.Task, int) bellman.Verdict {
			if n.Add(1) == backlog {
				close(done)
			}
			return bellman.Verdict{Next: bellman.Succeed, Response: "success", Status: 200}
		}),
	}}})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	return e, done, func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	}
}

func fill(b *testing.B, e *engine.Engine, delay time.Duration) {
	b.Helper()
	const batch = 500
	body := make([]byte, 300)
	for range backlog / batch {
		tasks := make([]*bellman.Task, batch)
		for i := range tasks {
			tasks[i] = &bellman.Task{Queue: "q", Key: bellman.NewID().String(), MerchantNo: "M1", OrderNo: "O1",
				URL: "http://127.0.0.1:8080/notify", Endpoint: "http://127.0.0.1:8080", Body: body, Delay: delay}
		}
		for _, a := range e.Add(context.Background(), tasks...) {
			if a.Err != nil {
				b.Fatal(a.Err)
			}
		}
	}
}

// BenchmarkDrain measures tasks from stored and due to accepted and recorded. It covers the engine
// and the store, without a network.
func BenchmarkDrain(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		dir := b.TempDir()
		e, _, stop := benchmark(b, dir)
		begun := time.Now()
		fill(b, e, 3*time.Second)
		stop()
		<-time.After(time.Until(begun.Add(6 * time.Second))) // by then all tasks are due
		began, used := time.Now(), cpu()
		b.StartTimer()
		_, done, stop := benchmark(b, dir)
		<-done
		stop()
		b.ReportMetric(backlog/time.Since(began).Seconds(), "tasks/s")
		b.ReportMetric(float64((cpu()-used).Microseconds())/backlog, "cpu-µs/task")
	}
}

// BenchmarkEndToEnd measures tasks from creation in batches to accepted and recorded.
func BenchmarkEndToEnd(b *testing.B) {
	for b.Loop() {
		e, done, stop := benchmark(b, b.TempDir())
		began, used := time.Now(), cpu()
		fill(b, e, 0)
		<-done
		stop()
		b.ReportMetric(backlog/time.Since(began).Seconds(), "tasks/s")
		b.ReportMetric(float64((cpu()-used).Microseconds())/backlog, "cpu-µs/task")
	}
}
