package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store/memory"
)

// A queue has a delay for tasks that do not say when they are due. Example: a queue that closes
// orders half an hour after they were added.
func TestQueueDelay(t *testing.T) {
	const half = 30 * time.Minute
	tests := []struct {
		name    string
		first   time.Duration // first item of the schedule
		delay   time.Duration // of the task
		startAt time.Duration // start time, after now; 0: none
		want    time.Duration
	}{
		{"the queue's", 0, 0, 0, half},
		{"the queue's, before the schedule's first item", 5 * time.Second, 0, 0, half + 5*time.Second},
		{"its own", 0, time.Minute, 0, time.Minute},
		{"its own, later than the queue's", 0, time.Hour, 0, time.Hour},
		{"now", 0, -1, 0, 0},
		{"at a time", 0, 0, 10 * time.Second, 10 * time.Second},
		{"at a time that is over", 0, 0, -time.Hour, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memory.New()
				r := &receiver{answer: accept}
				e, stop := run(t, store, engine.Queue{Name: "close", Handler: r, Schedule: tt.first.String(), Delay: half})
				defer stop()
				start := time.Now()
				task := bellman.Task{Queue: "close", Delay: tt.delay}
				if tt.startAt != 0 {
					task.StartAt = start.Add(tt.startAt)
				}
				id := add(t, e, &task)
				time.Sleep(max(2*time.Hour/fewer, tt.want+time.Minute))
				if got := r.times(); len(got) != 1 || got[0].Sub(start) != tt.want {
					t.Errorf("%d attempts, the first at %v; want one at %v", len(got), at(got, 0, start), tt.want)
				}
				if began := get(t, store, id).Began.Sub(start); began != tt.want-tt.first {
					t.Errorf("the schedule began after %v; want %v", began, tt.want-tt.first)
				}
			})
		})
	}
}

// A queue's delay also applies to the follow-ups of a verdict.
func TestQueueDelayOfFollowUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		look := &receiver{answer: accept}
		pay := &receiver{answer: always(bellman.Verdict{Next: bellman.Succeed, Follow: []bellman.Task{{Queue: "look"}}})}
		e, stop := run(t, memory.New(),
			engine.Queue{Name: "pay", Handler: pay},
			engine.Queue{Name: "look", Handler: look, Delay: 10 * time.Minute})
		defer stop()
		start := time.Now()
		add(t, e, &bellman.Task{Queue: "pay"})
		time.Sleep(time.Hour)
		if got := look.times(); len(got) != 1 || got[0].Sub(start) != 10*time.Minute {
			t.Errorf("%d attempts of the follow-up, the first at %v; want one at 10m", len(got), at(got, 0, start))
		}
	})
}

// A queue with an impossible delay is rejected.
func TestQueueDelayRefused(t *testing.T) {
	for _, delay := range []time.Duration{-time.Second, 11 * 365 * 24 * time.Hour} {
		_, err := engine.New(engine.Options{Store: memory.New(),
			Queues: []engine.Queue{{Name: "q", Handler: &receiver{answer: accept}, Delay: delay}}})
		if err == nil {
			t.Errorf("New() with a queue delay of %v: no error", delay)
		}
	}
}
