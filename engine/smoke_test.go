package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/pebble"
)

func TestSmoke(t *testing.T) {
	store, err := pebble.Open(t.TempDir(), pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var n atomic.Int64
	done := make(chan struct{}, 10)
	e, err := engine.New(engine.Options{Store: store, Queues: []engine.Queue{{Name: "q", Schedule: "0s, 100ms*3", Handler: bellman.HandlerFunc(func(ctx context.Context, t *bellman.Task, number int) bellman.Verdict {
		n.Add(1)
		if number < 3 {
			return bellman.Verdict{}
		}
		done <- struct{}{}
		return bellman.Verdict{Next: bellman.Succeed}
	})}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- e.Run(ctx) }()
	added := e.Add(ctx, &bellman.Task{Queue: "q", Body: []byte("x")})
	t.Log(added)
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Fatal("not done")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	task, err := store.Task(t.Context(), added[0].ID)
	t.Logf("%+v %v", task, err)
	as, err := store.Attempts(t.Context(), added[0].ID, 0, 10)
	for _, a := range as {
		t.Logf("%+v", a)
	}
	t.Log(err)
}

func BenchmarkDrain(b *testing.B) {
	store, err := pebble.Open(b.TempDir(), pebble.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	var n atomic.Int64
	done := make(chan struct{})
	total := int64(100_000)
	e, err := engine.New(engine.Options{Store: store, Queues: []engine.Queue{{Name: "q", Handler: bellman.HandlerFunc(func(ctx context.Context, t *bellman.Task, number int) bellman.Verdict {
		if n.Add(1) == total {
			close(done)
		}
		return bellman.Verdict{Next: bellman.Succeed}
	})}}})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error)
	go func() { ended <- e.Run(ctx) }()
	if err := e.PauseQueue(ctx, "q", bellman.By{}); err != nil {
		b.Fatal(err)
	}
	for i := 0; i < int(total); i += 500 {
		tasks := make([]*bellman.Task, 500)
		for j := range tasks {
			tasks[j] = &bellman.Task{Queue: "q", Body: make([]byte, 300)}
		}
		for _, a := range e.Add(ctx, tasks...) {
			if a.Err != nil {
				b.Fatal(a.Err)
			}
		}
	}
	b.ResetTimer()
	start := time.Now()
	if err := e.ResumeQueue(ctx, "q", bellman.By{}); err != nil {
		b.Fatal(err)
	}
	<-done
	b.ReportMetric(float64(total)/time.Since(start).Seconds(), "tasks/s")
	cancel()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
}
