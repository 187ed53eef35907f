package engine

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/memory"
)

// While the wall clock is set an hour ahead or back, the gaps between attempts
// stay what the schedule says, but for a tenth of the pace.
func TestWallClockStep(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			var off atomic.Int64
			seen := make(chan time.Time, 10)
			e, err := build(Options{
				Store:  memory.New(),
				Logger: slog.New(slog.DiscardHandler),
				Queues: []Queue{{Name: "q", Schedule: "0s, 15s, 15s, 30s, 3m, 10m", Handler: bellman.HandlerFunc(
					func(context.Context, *bellman.Task, int) bellman.Verdict {
						seen <- time.Now()
						return bellman.Verdict{}
					})}},
				StopTimeout: time.Second,
				Flow:        Flow{High: 1000},
			}, func() time.Time { return time.Now().Add(time.Duration(off.Load())) })
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- e.Run(ctx) }()
			if a := e.Add(ctx, &bellman.Task{Queue: "q"})[0]; a.Err != nil {
				t.Fatal(a.Err)
			}
			last := <-seen
			for i, gap := range []time.Duration{15 * time.Second, 15 * time.Second, 30 * time.Second, 3 * time.Minute, 10 * time.Minute} {
				if i == 1 {
					off.Store(int64(step))
				}
				next := <-seen
				if got := next.Sub(last); got < gap*9/10 || got > gap*10/9+2*time.Millisecond {
					t.Errorf("step %v: gap %d was %v; want %v, at a pace that differs by a tenth", step, i+1, got, gap)
				}
				last = next
			}
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}
