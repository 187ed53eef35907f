package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
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

// A witness is a handler that refuses every task but its first, and whose attempt leaves a record.
type witness struct{ state bellman.State }

func (w *witness) Check(t *bellman.Task) error {
	if t.Key != "first" {
		return errors.New("refused")
	}
	return nil
}

func (w *witness) Attempt(context.Context, *bellman.Task, int) bellman.Verdict {
	return bellman.Verdict{Next: bellman.Succeed, Follow: []bellman.Task{
		{Queue: "q", Key: "record", Status: bellman.Status{State: w.state, Reason: "seen", Attempts: 7, Due: time.Now()}}}}
}

// A follow-up that has ended is added as it is, unchecked and never attempted. The caller of Add
// cannot do the same.
func TestFollowUpThatHasEnded(t *testing.T) {
	for state, want := range map[bellman.State]bool{bellman.Pending: false, bellman.Succeeded: true, bellman.Failed: true} {
		t.Run(state.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := memory.New()
				e, stop := run(t, s, engine.Queue{Name: "q", Handler: &witness{state}})
				defer stop()
				add(t, e, &bellman.Task{Queue: "q", Key: "first"})
				time.Sleep(time.Minute)
				id, err := store.Lookup(t.Context(), s, "q", "record")
				if (err == nil) != want {
					t.Fatalf("the record: %v; want it to exist: %t", err, want)
				}
				if want {
					if got := get(t, s, id); got.State != state || got.Reason != "seen" || got.Attempts != 0 || got.Finished.IsZero() {
						t.Errorf("%+v; want it as the handler left it", got.Status)
					}
				}
				own := &bellman.Task{Queue: "q", Key: "own", Status: bellman.Status{State: state}}
				if added := e.Add(t.Context(), own)[0]; added.Err == nil {
					t.Error("Add of a task that has ended was not checked")
				}
			})
		})
	}
}

// filler is a handler that fills in a task before it is accepted.
type filler struct {
	*receiver
	fill func(*bellman.Task)
}

func (f filler) Check(t *bellman.Task) error {
	f.fill(t)
	return nil
}

// What a handler fills in is validated like what a caller gives. Queue and Kind must stay, and a
// panic is the error of Add.
func TestCheckerIsChecked(t *testing.T) {
	for name, tt := range map[string]struct {
		fill  func(*bellman.Task)
		field string // of the error; empty: it names none
	}{
		"schedule": {func(t *bellman.Task) { t.Schedule = "soon" }, "schedule"},
		"repeat":   {func(t *bellman.Task) { t.Repeat = "sometimes" }, "repeat"},
		"max_age":  {func(t *bellman.Task) { t.MaxAge = -1 }, "max_age"},
		"timeout":  {func(t *bellman.Task) { t.Timeout = time.Nanosecond }, "timeout"},
		"resume":   {func(t *bellman.Task) { t.Origin = &bellman.Origin{Resume: &bellman.Resume{Attempts: -1}} }, "resume.attempts"},
		"queue":    {func(t *bellman.Task) { t.Queue = "other" }, ""},
		"kind":     {func(t *bellman.Task) { t.Kind = bellman.KindOrder }, ""},
		"panic":    {func(*bellman.Task) { panic("boom") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := filler{&receiver{answer: accept}, tt.fill}
				e, stop := run(t, memory.New(), engine.Queue{Name: "q", Handler: h}, engine.Queue{Name: "other", Handler: &receiver{answer: accept}})
				defer stop()
				err := e.Add(t.Context(), &bellman.Task{Queue: "q"})[0].Err
				invalid := new(bellman.Invalid)
				if errors.As(err, &invalid); err == nil || tt.field != "" != invalid.Has(tt.field) {
					t.Errorf("Add: %v; want an error of %q", err, tt.field)
				}
			})
		})
	}
}

// A schedule that a handler fills in is followed from the first attempt on.
func TestCheckerSetsSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		h := filler{&receiver{answer: accept}, func(t *bellman.Task) { t.Schedule = "1h" }}
		e, stop := run(t, memory.New(), engine.Queue{Name: "q", Handler: h})
		defer stop()
		id := add(t, e, &bellman.Task{Queue: "q"})
		if _, err := e.Wait(t.Context(), id); err != nil || time.Since(start) != time.Hour {
			t.Errorf("it ended after %v, %v; want 1h", time.Since(start), err)
		}
	})
}
