package pebble

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
)

// On a nearly full disk an engine rejects new tasks, attempts existing ones, accepts operators'
// actions, and is ready.
func TestEngineOnFullDisk(t *testing.T) {
	q := newQuota(64<<20, true)
	o := small(q)
	o.ReserveBytes = 32 << 20
	s, err := Open("data", o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var made atomic.Int64
	e, err := engine.New(engine.Options{Store: s, Logger: slog.New(slog.DiscardHandler), Queues: []engine.Queue{{
		Name: "q", Schedule: "20ms*9000",
		Handler: bellman.HandlerFunc(func(context.Context, *bellman.Task, int) bellman.Verdict {
			made.Add(1)
			return bellman.Verdict{}
		}),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	goes, waits := e.Add(ctx, &bellman.Task{Queue: "q"})[0], e.Add(ctx, &bellman.Task{Queue: "q", Delay: time.Hour})[0]
	if goes.Err != nil || waits.Err != nil {
		t.Fatal(goes.Err, waits.Err)
	}
	q.grow(-40 << 20)
	s.disk.checked.Store(0)
	before := made.Load()
	by := bellman.By{Who: "test"}
	refused := 0
	for deadline := time.Now().Add(5 * time.Minute); made.Load() < before+20; {
		if a := e.Add(ctx, &bellman.Task{Queue: "q"})[0]; errors.Is(a.Err, bellman.ErrFull) {
			refused++
		} else {
			t.Fatalf("Add() = %v on a full disk; want ErrFull", a.Err)
		}
		if err := e.Ready(ctx); err != nil {
			t.Fatalf("Ready() = %v; want nil", err)
		}
		if err := e.PauseQueue(ctx, "q", by); err != nil {
			t.Fatalf("PauseQueue() = %v", err)
		}
		if err := e.ResumeQueue(ctx, "q", by); err != nil {
			t.Fatalf("ResumeQueue() = %v", err)
		}
		if time.Now().After(deadline) {
			t.Fatal("no attempt was made while the disk is nearly full; want existing tasks attempted")
		}
	}
	if _, err := e.Cancel(ctx, waits.ID, by); err != nil || refused == 0 {
		t.Errorf("Cancel() = %v, after %d creates were rejected", err, refused)
	}
	q.grow(40 << 20)
	s.disk.checked.Store(0)
	if a := e.Add(ctx, &bellman.Task{Queue: "q"})[0]; a.Err != nil {
		t.Errorf("Add() = %v with room again", a.Err)
	}
}
