package engine_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// A littered store takes time for each second of the past that Due reads, like PostgreSQL while a
// long transaction keeps the entries of ended tasks.
type littered struct {
	*memory.Store
	perSecond time.Duration
	whole     atomic.Int64 // reads of all shards from the beginning
	read      atomic.Int64 // seconds of the past that were read otherwise
}

// answers is how long the store works on a read at most.
const answers = 15 * time.Second

func (s *littered) Due(ctx context.Context, shards []uint16, from store.Position, to int64, limit int, buf []store.Entry) ([]store.Entry, error) {
	const age = 600 // seconds, of the oldest entry
	if now := time.Now().UnixMilli(); from.VisibleAt <= now {
		seconds := min((now-from.VisibleAt)/1000, age)
		switch {
		case len(shards) < 64:
		case from.VisibleAt == 0:
			s.whole.Add(1)
		default:
			s.read.Add(seconds)
		}
		took := time.Duration(seconds) * s.perSecond * time.Duration(len(shards)) / 64
		select {
		case <-time.After(min(took, answers)):
		case <-ctx.Done():
			return buf, ctx.Err()
		}
		if took > answers {
			return buf, errors.New("the read took too long")
		}
	}
	return s.Store.Due(ctx, shards, from, to, limit, buf)
}

// Where reads of the past are slow, sweeps read little of it again and again. They still find every
// task that another writer added.
func TestSweepsOfLitteredStore(t *testing.T) {
	tests := []struct {
		name      string
		perSecond time.Duration
		whole     int64 // most reads from the beginning in an hour
		seconds   int64 // most seconds of the past that are read otherwise, each second
		late      time.Duration
	}{
		{"quick", 0, 62 + 60, 32, time.Minute + time.Second},
		{"slow", 5 * time.Millisecond, 14, 12, 10*time.Minute + 5*time.Second},
		{"too slow for one read", 50 * time.Millisecond, 10, 12, 10*time.Minute + 45*time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &littered{Store: memory.New(), perSecond: tt.perSecond}
				var ended atomic.Int64
				q := engine.Queue{Name: "q", Handler: bellman.HandlerFunc(func(context.Context, *bellman.Task, int) bellman.Verdict {
					ended.Store(time.Now().UnixMilli())
					return bellman.Verdict{Next: bellman.Succeed}
				})}
				e, err := engine.New(engine.Options{Store: s, Queues: []engine.Queue{q}, Node: "n", Logger: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				stopped := make(chan error, 1)
				go func() { stopped <- e.Run(ctx) }()
				defer func() {
					stop()
					if err := <-stopped; err != nil {
						t.Error(err)
					}
				}()
				rules, err := engine.NewRules(q)
				if err != nil {
					t.Fatal(err)
				}
				// addLate commits a task that was visible before, as a transaction does that took
				// so long.
				addLate := func(before, most time.Duration) {
					t.Helper()
					adds := rules.Prepare(&bellman.Task{Queue: "q"})
					adds[0].Task.Shard = 0
					adds[0].Task.Due = time.Now().Add(-before)
					adds[0].Task.VisibleAt = adds[0].Task.Due
					began := time.Now().UnixMilli()
					ended.Store(0)
					if err := s.Commit(t.Context(), &store.Batch{Adds: adds}); err != nil {
						t.Fatal(err)
					}
					for ended.Load() == 0 && time.Now().UnixMilli()-began < time.Hour.Milliseconds() {
						time.Sleep(100 * time.Millisecond)
					}
					if late := time.Duration(ended.Load()-began) * time.Millisecond; ended.Load() == 0 || late > most {
						t.Errorf("a task that became visible %v before its commit was attempted %v after it; want at most %v", before, late, most)
					}
				}
				time.Sleep(10 * time.Minute)
				whole, read := s.whole.Load(), s.read.Load()
				for range 60 {
					time.Sleep(time.Minute)
					e.Gauges(t.Context())
				}
				if n := s.whole.Load() - whole; n > tt.whole {
					t.Errorf("%d reads from the beginning in an hour; want at most %d", n, tt.whole)
				}
				if n := (s.read.Load() - read) / 3600; n > tt.seconds {
					t.Errorf("%d seconds of the past were read each second; want at most %d", n, tt.seconds)
				}
				addLate(time.Second, 1100*time.Millisecond)
				addLate(20*time.Second, 7*time.Second)
				addLate(time.Hour, tt.late)
			})
		})
	}
}
