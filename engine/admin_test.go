package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store/memory"
)

var by = bellman.By{Who: "ops", Reason: "merchant called"}

func triggers(log []bellman.Attempt) (all []bellman.Trigger) {
	for _, a := range log {
		all = append(all, a.Trigger)
	}
	return all
}

// A resend without restart makes one attempt now, from any state. If the attempt is not accepted,
// the task keeps its former state.
func TestResendOnce(t *testing.T) {
	tests := []struct {
		name          string
		before, after bellman.State
		answers       []bellman.Verdict // to each attempt in turn; the last one repeats
	}{
		{"failed, refused again", bellman.Failed, bellman.Failed, []bellman.Verdict{{}}},
		{"failed, then accepted", bellman.Failed, bellman.Succeeded, []bellman.Verdict{{}, {}, {Next: bellman.Succeed}}},
		{"succeeded, then refused", bellman.Succeeded, bellman.Succeeded, []bellman.Verdict{{Next: bellman.Succeed}, {}}},
		{"succeeded, then given up", bellman.Succeeded, bellman.Succeeded, []bellman.Verdict{{Next: bellman.Succeed}, {Next: bellman.GiveUp}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memory.New()
				r := &receiver{answer: func(_ *bellman.Task, n int) bellman.Verdict {
					return tt.answers[min(n, len(tt.answers))-1]
				}}
				e, stop := run(t, store, engine.Queue{Name: "q", Handler: r, Schedule: "0s, 1s"})
				defer stop()
				id := add(t, e, &bellman.Task{Queue: "q"})
				time.Sleep(time.Minute)
				was := get(t, store, id)
				if was.State != tt.before {
					t.Fatalf("before the resend: %v; want %v", was.State, tt.before)
				}
				asked := time.Now()
				if _, err := e.Resend(t.Context(), id, engine.ResendOnce, by); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Minute)
				task := get(t, store, id)
				if task.State != tt.after || task.Attempts != was.Attempts+1 || task.Step != was.Step && tt.after == tt.before {
					t.Errorf("after the resend: %v, attempt %d, step %d; want %v, %d, %d", task.State, task.Attempts, task.Step, tt.after, was.Attempts+1, was.Step)
				}
				log := attempts(t, store, id)
				if last := log[len(log)-1]; last.Trigger != bellman.ByHand || !last.Started.Equal(asked) {
					t.Errorf("the resend's attempt: %+v; want one triggered by hand, on time", last)
				}
			})
		})
	}
}

// A resend of a pending task adds one attempt and does not move its schedule.
func TestResendOncePending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		r := &receiver{answer: refuse}
		e, stop := run(t, store, engine.Queue{Name: "q", Handler: r, Schedule: "0s, 10s, 10s"})
		defer stop()
		start := time.Now()
		id := add(t, e, &bellman.Task{Queue: "q"})
		time.Sleep(4 * time.Second)
		if _, err := e.Resend(t.Context(), id, engine.ResendOnce, by); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		want := []time.Duration{0, 4 * time.Second, 10 * time.Second, 20 * time.Second}
		got := r.times()
		for i := range want {
			if i >= len(got) || got[i].Sub(start) != want[i] {
				t.Errorf("attempt %d at %v; want %v", i+1, at(got, i, start), want[i])
			}
		}
		if got := triggers(attempts(t, store, id)); !slices.Equal(got, []bellman.Trigger{0, bellman.ByHand, 0, 0}) {
			t.Errorf("triggers %v; want the second to be by hand", got)
		}
	})
}

// A resend with restart runs the whole schedule again.
func TestResendRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		r := &receiver{answer: refuse}
		e, stop := run(t, store, engine.Queue{Name: "q", Handler: r, Schedule: "0s, 10s, 10s"})
		defer stop()
		id := add(t, e, &bellman.Task{Queue: "q"})
		time.Sleep(time.Minute)
		if _, err := e.Resend(t.Context(), id, engine.ResendRestart, by); err != nil {
			t.Fatal(err)
		}
		again := time.Now()
		time.Sleep(time.Minute)
		want := []time.Duration{0, 10 * time.Second, 20 * time.Second}
		got := r.times()
		for i := range want {
			if i+3 >= len(got) || got[i+3].Sub(again) != want[i] {
				t.Errorf("attempt %d at %v; want %v after the restart", i+4, at(got, i+3, again), want[i])
			}
		}
		if task := get(t, store, id); task.State != bellman.Failed || task.Attempts != 6 {
			t.Errorf("%v after %d attempts; want failed after 6", task.State, task.Attempts)
		}
		audits, err := store.Audits(t.Context(), time.Time{}, 10)
		if err != nil || len(audits) != 1 || audits[0].Who != "ops" || audits[0].Action != "restart" || audits[0].Target != id.String() || audits[0].Reason != by.Reason {
			t.Errorf("audits %+v, %v; want the one restart", audits, err)
		}
	})
}

// A cancel or completion during an attempt stands. The late answer is only written to the log.
func TestCancelInFlight(t *testing.T) {
	tests := []struct {
		name   string
		do     func(*testing.T, *engine.Engine, bellman.ID) error
		state  bellman.State
		reason string
	}{
		{"cancel", func(t *testing.T, e *engine.Engine, id bellman.ID) error {
			_, err := e.Cancel(t.Context(), id, by)
			return err
		}, bellman.Cancelled, "cancelled"},
		{"complete", func(t *testing.T, e *engine.Engine, id bellman.ID) error {
			_, err := e.Complete(t.Context(), id, bellman.Completion{Outcome: "PAID"}, bellman.By{Reason: "callback"})
			return err
		}, bellman.Succeeded, "callback"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memory.New()
				r := &receiver{answer: func(*bellman.Task, int) bellman.Verdict {
					time.Sleep(3 * time.Second)
					return bellman.Verdict{Next: bellman.GiveUp, Response: "late"}
				}}
				e, stop := run(t, store, engine.Queue{Name: "q", Handler: r})
				defer stop()
				id := add(t, e, &bellman.Task{Queue: "q"})
				time.Sleep(time.Second)
				if err := tt.do(t, e, id); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Minute)
				task := get(t, store, id)
				if task.State != tt.state || task.Reason != tt.reason {
					t.Errorf("%v, %q; want %v, %q", task.State, task.Reason, tt.state, tt.reason)
				}
				if log := attempts(t, store, id); len(log) != 1 || log[0].Response != "late" {
					t.Errorf("log %+v; want the late answer", log)
				}
				if _, err := e.Cancel(t.Context(), id, by); !errors.Is(err, bellman.ErrConflict) {
					t.Errorf("Cancel of an ended task: %v; want ErrConflict", err)
				}
			})
		})
	}
}

// A manual attempt of a task that had ended is cancelled before or while it is made. The task is as
// it was before the request.
func TestCancelOfResend(t *testing.T) {
	for _, first := range []bellman.Verdict{{Next: bellman.Succeed}, {Next: bellman.GiveUp}} {
		for _, inFlight := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v, in flight %t", first.Next, inFlight), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := memory.New()
					r := &receiver{answer: func(_ *bellman.Task, n int) bellman.Verdict {
						if n == 1 {
							return first
						}
						time.Sleep(3 * time.Second)
						return bellman.Verdict{Next: bellman.GiveUp}
					}}
					var ends atomic.Int32
					e, stop := run(t, store, engine.Queue{Name: "q", Handler: r, Ended: func(*bellman.Task) []bellman.Task { ends.Add(1); return nil }})
					defer stop()
					id := add(t, e, &bellman.Task{Queue: "q"})
					time.Sleep(time.Minute)
					was := get(t, store, id)
					if !inFlight {
						if err := e.PauseQueue(t.Context(), "q", by); err != nil {
							t.Fatal(err)
						}
					}
					if _, err := e.Resend(t.Context(), id, engine.ResendOnce, by); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Second)
					if _, err := e.Cancel(t.Context(), id, by); err != nil {
						t.Fatal(err)
					}
					if !inFlight {
						if err := e.ResumeQueue(t.Context(), "q", by); err != nil {
							t.Fatal(err)
						}
					}
					time.Sleep(time.Minute)
					if task := get(t, store, id); task.State != was.State || task.Reason != was.Reason || !task.Finished.Equal(was.Finished) || task.Before != nil {
						t.Errorf("after the cancel: %+v; want the end that it had: %+v", task.Status, was.Status)
					}
					attempts := map[bool]int{false: 1, true: 2}[inFlight]
					if got := len(r.times()); got != attempts || ends.Load() != 1 {
						t.Errorf("%d attempts, told of %d ends; want %d and 1", got, ends.Load(), attempts)
					}
				})
			})
		}
	}
}

func TestCancelWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		r := &receiver{answer: accept}
		e, stop := run(t, store, engine.Queue{Name: "q", Handler: r})
		defer stop()
		id := add(t, e, &bellman.Task{Queue: "q", Delay: 30 * time.Minute})
		time.Sleep(29 * time.Minute) // long enough for the task to be loaded into memory
		if _, err := e.Cancel(t.Context(), id, by); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if n := len(r.times()); n != 0 {
			t.Errorf("%d attempts of a cancelled task; want none", n)
		}
	})
}

func TestReschedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{answer: accept}
		e, stop := run(t, memory.New(), engine.Queue{Name: "q", Handler: r})
		defer stop()
		start := time.Now()
		sooner := add(t, e, &bellman.Task{Queue: "q", Delay: time.Hour})
		later := add(t, e, &bellman.Task{Queue: "q", Delay: time.Minute})
		if _, err := e.Reschedule(t.Context(), sooner, start.Add(10*time.Second), by); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Reschedule(t.Context(), later, start.Add(2*time.Hour), by); err != nil {
			t.Fatal(err)
		}
		wrong := add(t, e, &bellman.Task{Queue: "q", Delay: 24 * time.Hour})
		for due, want := range map[time.Time]string{
			start.Add(-61 * time.Second):                "1999-12-31T23:58:59Z lies in the past: want a time that is still to come",
			start.Add(3651 * 24 * time.Hour):            "is more than ten years ahead",
			time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC): "9999-01-01T00:00:00Z is more",
			time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC):    "0001-01-01T00:00:00Z lies in the past: want a time that is still to come",
		} {
			var invalid *bellman.Invalid
			if _, err := e.Reschedule(t.Context(), wrong, due, by); !errors.As(err, &invalid) || invalid.Fields[0].Field != "due" || !strings.Contains(invalid.Fields[0].Problem, want) {
				t.Errorf("Reschedule to %v: %v; want an error of the field due with %q", due, err, want)
			}
		}
		time.Sleep(3 * time.Hour)
		got := r.times()
		if len(got) != 2 || got[0].Sub(start) != 10*time.Second || got[1].Sub(start) != 2*time.Hour {
			t.Errorf("attempts at %v, %v; want 10s and 2h, and none of the task that was not rescheduled", at(got, 0, start), at(got, 1, start))
		}
		if _, err := e.Reschedule(t.Context(), wrong, time.Now().Add(-time.Minute), by); err != nil { // a time that was now when somebody typed it
			t.Fatal(err)
		}
		synctest.Wait()
		if got := r.times(); len(got) != 3 || !got[2].Equal(time.Now()) {
			t.Errorf("Reschedule to a minute ago: %d attempts; want one more, at once", len(got))
		}
	})
}

// Many changes of one task at once are all made, although all but one of those that read the same
// version lose.
func TestManyChangesOfOneTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 200
		store := memory.New()
		e, stop := run(t, store, engine.Queue{Name: "q", Handler: &receiver{answer: accept}})
		defer stop()
		id := add(t, e, &bellman.Task{Queue: "q", Delay: 24 * time.Hour})
		var lost atomic.Int64
		var changing sync.WaitGroup
		for i := range many {
			changing.Go(func() {
				if _, err := e.Reschedule(t.Context(), id, time.Now().Add(time.Duration(i+1)*time.Hour), by); err != nil {
					t.Log(err)
					lost.Add(1)
				}
			})
		}
		changing.Wait()
		if task := get(t, store, id); lost.Load() > 0 || task.Version != many+1 {
			t.Errorf("of %d changes %d were not made, and the task has version %d; want all made", many, lost.Load(), task.Version)
		}
	})
}

// A paused queue accepts tasks and does not attempt them. When the queue is resumed, all of them
// are attempted, also after a restart.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		r := &receiver{answer: accept}
		q := engine.Queue{Name: "q", Handler: r}
		o := engine.Options{Store: store, Limits: sized, Queues: []engine.Queue{q}}
		e, stop := runWith(t, o)
		if err := e.PauseQueue(t.Context(), "q", by); err != nil {
			t.Fatal(err)
		}
		const n = 2500 / fewer // more than a line holds in memory
		for range n {
			add(t, e, &bellman.Task{Queue: "q"})
		}
		time.Sleep(10 * time.Minute)
		stop()
		e, stop = runWith(t, o)
		defer stop()
		time.Sleep(10 * time.Minute)
		if got := len(r.times()); got != 0 {
			t.Fatalf("%d attempts while paused", got)
		}
		resumed := time.Now()
		if err := e.ResumeQueue(t.Context(), "q", by); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Minute / fewer)
		got := r.times()
		if len(got) != n {
			t.Fatalf("%d attempts after the resume; want %d", len(got), n)
		}
		if last := slices.MaxFunc(got, time.Time.Compare); last.Sub(resumed) > 5*time.Second {
			t.Errorf("the last attempt came %v after the resume; want 5s at most", last.Sub(resumed))
		}
	})
}

// After the wall clock was set back by an hour, the engine's own clock stays ahead of it for a long
// time. A due time that is in the future by the wall clock is accepted.
func TestRescheduleByTheWallClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var off atomic.Int64
		wall := func() time.Time { return time.Now().Add(time.Duration(off.Load())) }
		e, err := engine.New(engine.Options{
			Store: memory.New(), Queues: []engine.Queue{{Name: "q", Handler: &receiver{answer: accept}}}, Node: "n", Logger: slog.New(slog.DiscardHandler), Wall: wall,
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- e.Run(ctx) }()
		id, other := add(t, e, &bellman.Task{Queue: "q", Delay: 24 * time.Hour}), add(t, e, &bellman.Task{Queue: "q", Delay: 24 * time.Hour})
		off.Store(int64(-time.Hour))
		if _, err := e.Reschedule(t.Context(), id, wall().Add(10*time.Minute), by); err != nil {
			t.Errorf("Reschedule to ten minutes from now, by the wall clock: %v", err)
		}
		var invalid *bellman.Invalid
		if _, err := e.Reschedule(t.Context(), other, wall().Add(-10*time.Minute), by); !errors.As(err, &invalid) {
			t.Errorf("Reschedule to a time that is past by both clocks: %v; want an error", err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
