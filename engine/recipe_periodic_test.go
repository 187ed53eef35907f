package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store/memory"
)

// A lone handler counts how many of its attempts overlap.
type lone struct {
	receiver
	took   time.Duration // duration of each attempt
	inside atomic.Int32
	most   atomic.Int32
}

func (h *lone) Attempt(ctx context.Context, t *bellman.Task, number int) bellman.Verdict {
	n := h.inside.Add(1)
	defer h.inside.Add(-1)
	h.most.Store(max(h.most.Load(), n))
	v := h.receiver.Attempt(ctx, t, number)
	time.Sleep(h.took)
	return v
}

// Every kind of repetition, with rounds shorter and longer than the period. Each round begins at
// the right time and after the previous round has ended.
func TestPeriodic(t *testing.T) {
	const min = time.Minute
	tests := []struct {
		name     string
		repeat   string
		schedule string
		took     time.Duration
		answer   func(*bellman.Task, int) bellman.Verdict
		starts   []time.Duration // the first starts, after midnight
	}{
		{"a gap", "10m", "0s", min, accept, []time.Duration{0, 10 * min, 20 * min, 30 * min}},
		{"a gap, slower than that", "10m", "0s", 25 * min, accept, []time.Duration{0, 25 * min, 50 * min, 75 * min}},
		{"cron", "cron */10 * * * *", "0s", min, accept, []time.Duration{0, 10 * min, 20 * min, 30 * min}},
		{"cron, slower than that: at once, and not once for each time missed", "cron */10 * * * *", "0s", 25 * min, accept,
			[]time.Duration{0, 25 * min, 50 * min, 75 * min}},
		{"cron in Shanghai, eight hours ahead", "cron 30 9 * * * Asia/Shanghai", "0s", min, accept,
			[]time.Duration{0, 90 * min, 24*60*min + 90*min}},
		{"a schedule without end", "", "0s, 5m*", min, refuse, []time.Duration{0, 5 * min, 10 * min, 15 * min}},
		{"a schedule without end, slower than that", "", "0s, 5m*", 7 * min, refuse, []time.Duration{0, 7 * min, 14 * min, 21 * min}},
		{"rounds that fail", "10m", "0s, 1m", 0, refuse, []time.Duration{0, min, 11 * min, 12 * min, 22 * min, 23 * min}},
		{"rounds that panic", "10m", "0s", 0, func(*bellman.Task, int) bellman.Verdict { panic("boom") },
			[]time.Duration{0, 10 * min, 20 * min}},
	}
	for _, tt := range tests {
		if n := len(tt.starts); fewer > 1 && tt.starts[n-1] > 24*time.Hour {
			tt.starts = tt.starts[:n-1]
		}
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &lone{receiver: receiver{answer: tt.answer}, took: tt.took}
				e, stop := run(t, memory.New(), engine.Queue{Name: "q", Handler: h, Timeout: 10 * min})
				defer stop()
				midnight := time.Now()
				if midnight.UTC() != midnight.UTC().Truncate(24*time.Hour) {
					t.Fatalf("the bubble begins at %v; want midnight", midnight)
				}
				add(t, e, &bellman.Task{Queue: "q", Schedule: tt.schedule, Repeat: tt.repeat})
				last := tt.starts[len(tt.starts)-1]
				time.Sleep(last + time.Second)
				got := h.times()
				for i, want := range tt.starts {
					if i >= len(got) || got[i].Sub(midnight) != want {
						t.Fatalf("round %d began at %s; want %v", i+1, at(got, i, midnight), want)
					}
				}
				if len(got) != len(tt.starts) {
					t.Errorf("%d rounds in %v; want %d", len(got), last, len(tt.starts))
				}
				if most := h.most.Load(); most != 1 {
					t.Errorf("%d rounds overlapped; want one at a time", most)
				}
			})
		})
	}
}

// People change a periodic task during a round, or its node stops and starts. Two rounds of the
// task never overlap.
func TestPeriodicByHand(t *testing.T) {
	tests := []struct {
		name string
		do   func(e *engine.Engine, id bellman.ID) error
	}{
		{"resent", func(e *engine.Engine, id bellman.ID) error {
			_, err := e.Resend(context.Background(), id, engine.ResendOnce, by)
			return err
		}},
		{"restarted", func(e *engine.Engine, id bellman.ID) error {
			_, err := e.Resend(context.Background(), id, engine.ResendRestart, by)
			return err
		}},
		{"moved to now", func(e *engine.Engine, id bellman.ID) error {
			_, err := e.Reschedule(context.Background(), id, time.Now(), by)
			return err
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memory.New()
				h := &lone{receiver: receiver{answer: accept}, took: 90 * time.Second}
				q := engine.Queue{Name: "q", Handler: h, Timeout: 10 * time.Minute}
				e, stop := run(t, store, q)
				id := add(t, e, &bellman.Task{Queue: "q", Repeat: "5m"})
				for range 5 {
					for h.inside.Load() == 0 {
						time.Sleep(time.Second)
					}
					time.Sleep(31 * time.Second) // in the middle of a round, and not when a round begins or ends
					if err := tt.do(e, id); err != nil {
						t.Fatal(err)
					}
					time.Sleep(4 * time.Minute)
				}
				stop()
				before := len(h.times())
				e, stop = run(t, store, q)
				defer stop()
				time.Sleep(21*time.Minute + 30*time.Second)
				if most := h.most.Load(); most != 1 {
					t.Errorf("%d rounds overlapped; want one at a time", most)
				}
				if n := len(h.times()) - before; n < 4 || n > 5 {
					t.Errorf("%d rounds in the 21m30s after the last change; want one each 5m", n)
				}
				if _, err := e.Cancel(t.Context(), id, by); err != nil {
					t.Fatal(err)
				}
				before = len(h.times())
				time.Sleep(20 * time.Minute)
				if n := len(h.times()) - before; n != 0 {
					t.Errorf("%d rounds after the cancel; want none", n)
				}
			})
		})
	}
}

// A periodic task is cancelled, and a person sends it once more. That is one attempt, whether it is
// accepted or not: the rounds do not begin again.
func TestPeriodicResentAfterCancel(t *testing.T) {
	for name, answer := range map[string]func(*bellman.Task, int) bellman.Verdict{"accepted": accept, "refused": refuse} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &receiver{answer: answer}
				e, stop := run(t, memory.New(), engine.Queue{Name: "q", Handler: r})
				defer stop()
				id := add(t, e, &bellman.Task{Queue: "q", Repeat: "5m", Delay: time.Hour})
				if _, err := e.Cancel(t.Context(), id, by); err != nil {
					t.Fatal(err)
				}
				if _, err := e.Resend(t.Context(), id, engine.ResendOnce, by); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Hour)
				if n := len(r.times()); n != 1 {
					t.Errorf("%d attempts within an hour; want one", n)
				}
			})
		})
	}
}
