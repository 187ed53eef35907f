package engine_test

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store/pebble"
)

// One endpoint gets more new tasks than its line holds. The tasks that found no room are loaded at
// once, not by a sweep a minute later. This needs a real clock, so it runs outside a bubble.
func TestOverflow(t *testing.T) {
	store, err := pebble.Open(t.TempDir(), pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	const n, batch = 40_000 / fewer, 1000 / fewer
	work := make([]byte, 64<<10)
	var made atomic.Int64
	all := make(chan struct{})
	e, err := engine.New(engine.Options{Store: store, Limits: sized, Logger: slog.New(slog.DiscardHandler), Queues: []engine.Queue{{
		Name: "q",
		Handler: bellman.HandlerFunc(func(context.Context, *bellman.Task, int) bellman.Verdict {
			sha256.Sum256(work) // slower than the tasks arrive
			if made.Add(1) == n {
				close(all)
			}
			return bellman.Verdict{Next: bellman.Succeed}
		}),
		EndpointConcurrency: 2,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	for range n / batch {
		tasks := make([]*bellman.Task, batch)
		for i := range tasks {
			tasks[i] = &bellman.Task{Queue: "q", Endpoint: "one"}
		}
		for _, a := range e.Add(ctx, tasks...) {
			if a.Err != nil {
				t.Fatal(a.Err)
			}
		}
	}
	// A machine may be slow, but attempts go on all the time.
	for look, before := time.NewTicker(50*time.Second), int64(0); made.Load() < n; {
		select {
		case <-all:
		case <-look.C:
			now := made.Load()
			if now == before {
				t.Fatalf("%d of %d tasks were attempted, and none in the last 50s; want all, without waiting for the sweep each minute", now, n)
			}
			before = now
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
