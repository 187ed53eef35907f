package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store/memory"
)

// hurried is a handler that sets the latest time of a task's first attempt.
type hurried struct {
	*receiver
	latest time.Time
}

func (h *hurried) Check(t *bellman.Task) error {
	t.Due = h.latest
	return nil
}

// A handler may set the latest time of the first attempt. A time that the caller left in the task's
// status has no effect.
func TestCheckerSetsLatestStart(t *testing.T) {
	tests := []struct {
		name   string
		latest time.Duration // after now
		want   time.Duration
	}{
		{"sooner than the schedule", time.Minute, time.Minute},
		{"later than the schedule", 2 * time.Hour, time.Hour},
		{"over", -time.Minute, 0},
		{"half a millisecond", time.Second + 500*time.Microsecond, time.Second + time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				h := &hurried{&receiver{answer: accept}, start.Add(tt.latest)}
				e, stop := run(t, memory.New(), engine.Queue{Name: "q", Handler: h, Schedule: "1h"})
				defer stop()
				add(t, e, &bellman.Task{Queue: "q", Status: bellman.Status{Due: start.Add(time.Second), Attempts: 7}})
				time.Sleep(max(3*time.Hour/fewer, tt.want+time.Minute))
				if got := h.times(); len(got) != 1 || got[0].Sub(start) != tt.want {
					t.Errorf("%d attempts, the first at %v; want one at %v", len(got), at(got, 0, start), tt.want)
				}
			})
		})
	}
}
