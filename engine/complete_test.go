package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store/memory"
)

var errNonsense = &bellman.Invalid{Fields: []bellman.FieldError{{Field: "outcome", Problem: "is not a word of this channel"}}}

// asking returns a handler that queries a channel, which answers after a second, and that
// understands the outcomes of callbacks. The task's data is the last outcome.
func asking(answer func(*bellman.Task, int) bellman.Verdict) life {
	return life{
		attempt: func(t *bellman.Task, n int) bellman.Verdict {
			time.Sleep(time.Second)
			return answer(t, n)
		},
		complete: func(t *bellman.Task, outcome string) (bellman.Verdict, error) {
			switch outcome {
			case "PAID":
				if t.State.Ended() {
					return bellman.Verdict{Data: []byte("late"), Follow: follow(t, "late")}, nil
				}
				return bellman.Verdict{Next: bellman.Succeed, Reason: "paid", Data: []byte("paid"), Follow: follow(t, "paid")}, nil
			case "CLOSED":
				return bellman.Verdict{Next: bellman.GiveUp, Data: []byte("closed")}, nil
			case "PAYING":
				return bellman.Verdict{Data: []byte("paying"), Due: time.Now().Add(5 * time.Second)}, nil
			}
			return bellman.Verdict{}, errNonsense
		},
	}
}

func follow(t *bellman.Task, what string) []bellman.Task {
	return []bellman.Task{{Queue: "notify", Key: t.Key + "/" + what, Delay: time.Hour}}
}

// Complete asks a handler that is a Completer what follows from an outcome, in whatever state the
// task is. The change, its follow-ups and the audit record are one transaction. The schedule is 10
// s and 10 s; the channel gives no answer.
func TestComplete(t *testing.T) {
	paid, unpaid := bellman.Verdict{Next: bellman.Succeed, Reason: "paid", Data: []byte("paid")}, bellman.Verdict{}
	tests := []struct {
		name    string
		answer  bellman.Verdict
		before  func(*engine.Engine, context.Context, bellman.ID) error
		at      time.Duration
		outcome string
		err     error

		state   bellman.State // the final state
		reason  string
		data    string
		follows string        // name of the follow-up, "paid" or "late"; empty: none
		next    time.Duration // time of the next attempt; 0: none
	}{
		{"waiting", unpaid, nil, 5 * time.Second, "PAID", nil, bellman.Succeeded, "paid", "paid", "paid", 0},
		{"waiting, closed", unpaid, nil, 5 * time.Second, "CLOSED", nil, bellman.Failed, "callback", "closed", "", 0},
		{"waiting, and due", unpaid, nil, 2 * time.Second, "PAYING", nil, bellman.Failed, "attempts_used_up", "paying", "", 7 * time.Second},
		{"waiting, nonsense", unpaid, nil, 5 * time.Second, "?", errNonsense, bellman.Failed, "attempts_used_up", "", "", 10 * time.Second},
		{"in flight", unpaid, nil, 10500 * time.Millisecond, "PAID", nil, bellman.Succeeded, "paid", "paid", "paid", 0},
		{"in flight, decided otherwise", bellman.Verdict{Next: bellman.GiveUp, Data: []byte("lost")}, nil, 10500 * time.Millisecond, "PAID", nil, bellman.Succeeded, "paid", "paid", "paid", 0},
		{"in flight, and due", paid, nil, 10500 * time.Millisecond, "PAYING", nil, bellman.Succeeded, "paid", "paid", "", 15500 * time.Millisecond},
		{"ended", paid, nil, time.Minute, "PAID", nil, bellman.Succeeded, "paid", "late", "late", 0},
		{"ended, closed", paid, nil, time.Minute, "CLOSED", bellman.ErrConflict, bellman.Succeeded, "paid", "paid", "", 0},
		{"ended, and due", paid, nil, time.Minute, "PAYING", nil, bellman.Succeeded, "paid", "paid", "", 65 * time.Second},
		{"failed, and due", unpaid, nil, time.Minute, "PAYING", nil, bellman.Failed, "attempts_used_up", "paying", "", 65 * time.Second},
		{"ended, being asked again", paid, func(e *engine.Engine, ctx context.Context, id bellman.ID) error {
			_, err := e.Resend(ctx, id, engine.ResendOnce, by)
			return err
		}, time.Minute, "CLOSED", bellman.ErrConflict, bellman.Succeeded, "paid", "paid", "", time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memory.New()
				var asked []time.Time
				var mu sync.Mutex
				h := asking(func(*bellman.Task, int) bellman.Verdict {
					mu.Lock()
					defer mu.Unlock()
					asked = append(asked, time.Now().Add(-time.Second))
					return tt.answer
				})
				e, stop := run(t, store, engine.Queue{Name: "q", Handler: h, Schedule: "10s*2"},
					engine.Queue{Name: "notify", Handler: &receiver{answer: accept}})
				defer stop()
				start := time.Now()
				id := add(t, e, &bellman.Task{Queue: "q", Key: "1"})
				time.Sleep(tt.at)
				if tt.before != nil {
					if err := tt.before(e, t.Context(), id); err != nil {
						t.Fatal(err)
					}
				}
				_, err := e.Complete(t.Context(), id, bellman.Completion{Outcome: tt.outcome}, bellman.By{Who: "channel"})
				if !errors.Is(err, tt.err) {
					t.Errorf("Complete: %v; want %v", err, tt.err)
				}
				time.Sleep(30 * time.Minute / fewer)
				task := get(t, store, id)
				if task.State != tt.state || task.Reason != tt.reason || string(task.Data) != tt.data {
					t.Errorf("%v, %q, data %q; want %v, %q, %q", task.State, task.Reason, task.Data, tt.state, tt.reason, tt.data)
				}
				for _, what := range []string{"paid", "late"} {
					_, err := lookup(t, store, "notify", "1/"+what)
					if (err == nil) != (what == tt.follows) {
						t.Errorf("follow-up %s: %v; want %q", what, err, tt.follows)
					}
				}
				mu.Lock()
				defer mu.Unlock()
				next := time.Duration(0)
				for _, at := range asked {
					if at.Sub(start) >= tt.at && next == 0 {
						next = at.Sub(start)
					}
				}
				if next != tt.next {
					t.Errorf("the next attempt was at %v; want %v", next, tt.next)
				}
				audits, err := store.Audits(t.Context(), time.Time{}, 10)
				if err != nil {
					t.Fatal(err)
				}
				if done := len(audits) > 0 && audits[0].Action == "complete"; done != (tt.err == nil) || done && audits[0].Reason != "callback: "+tt.outcome {
					t.Errorf("audits %+v; want one of the completion with its outcome, or none if it was rejected", audits)
				}
			})
		})
	}
}

// A step is in flight while the task is changed. What follows from the step is done once all the
// same.
func TestStepsInFlight(t *testing.T) {
	tests := []struct {
		name  string
		do    func(e *engine.Engine, ctx context.Context, id bellman.ID) error
		steps []time.Duration // time of each step: query, close, confirm
	}{
		{"left alone", func(*engine.Engine, context.Context, bellman.ID) error { return nil },
			[]time.Duration{0, time.Second, 2 * time.Second}},
		{"rescheduled", func(e *engine.Engine, ctx context.Context, id bellman.ID) error {
			_, err := e.Reschedule(ctx, id, time.Now().Add(time.Minute), by)
			return err
		}, []time.Duration{0, time.Second, 61500 * time.Millisecond}},
		{"settled", func(e *engine.Engine, ctx context.Context, id bellman.ID) error {
			_, err := e.Settle(ctx, by, id)
			return err
		}, []time.Duration{0, time.Second, 2 * time.Second}},
		{"resent", func(e *engine.Engine, ctx context.Context, id bellman.ID) error {
			_, err := e.Resend(ctx, id, engine.ResendOnce, by)
			return err
		}, []time.Duration{0, time.Second, 2 * time.Second}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memory.New()
				start := time.Now()
				var mu sync.Mutex
				var steps []time.Duration
				var names []string
				h := asking(func(task *bellman.Task, _ int) bellman.Verdict {
					mu.Lock()
					defer mu.Unlock()
					steps = append(steps, time.Since(start)-time.Second)
					names = append(names, "after "+string(task.Data))
					now := time.Now()
					switch string(task.Data) {
					case "":
						return bellman.Verdict{Data: []byte("query"), Due: now}
					case "query":
						return bellman.Verdict{Data: []byte("close"), Due: now, Follow: follow(task, "closing")}
					}
					return bellman.Verdict{Next: bellman.Succeed, Reason: "closed", Data: []byte("confirm"), Follow: follow(task, "closed")}
				})
				e, stop := run(t, store, engine.Queue{Name: "q", Handler: h},
					engine.Queue{Name: "notify", Handler: &receiver{answer: accept}})
				defer stop()
				id := add(t, e, &bellman.Task{Queue: "q", Key: "1"})
				time.Sleep(1500 * time.Millisecond) // the close is in flight
				if err := tt.do(e, t.Context(), id); err != nil {
					t.Fatal(err)
				}
				time.Sleep(30 * time.Minute)
				mu.Lock()
				defer mu.Unlock()
				if fmt.Sprint(steps) != fmt.Sprint(tt.steps) || strings.Join(names, ", ") != "after , after query, after close" {
					t.Errorf("steps %v at %v; want each step once, at %v", names, steps, tt.steps)
				}
				if task := get(t, store, id); task.State != bellman.Succeeded || task.Reason != "closed" || task.Attempts != 3 {
					t.Errorf("%v, %q after %d attempts; want closed after 3", task.State, task.Reason, task.Attempts)
				}
				for _, what := range []string{"closing", "closed"} {
					if _, err := lookup(t, store, "notify", "1/"+what); err != nil {
						t.Errorf("follow-up %s: %v", what, err)
					}
				}
			})
		})
	}
}

// A follow-up that exists already counts as added. A follow-up that is invalid, or whose alias is
// taken, is left out. This shows in the log, in the record of the attempt and in the gauges.
func TestFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		var log strings.Builder
		e, err := engine.New(engine.Options{
			Store:  store,
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Queues: []engine.Queue{{Name: "q", Handler: &receiver{answer: func(task *bellman.Task, _ int) bellman.Verdict {
				return bellman.Verdict{Next: bellman.Succeed, Action: "query", Follow: []bellman.Task{
					{Queue: "q2", Key: "same"},
					{Queue: "nowhere", Key: "lost"},
					{Queue: "q2", Key: "fresh"},
					{Queue: "q2", Key: "other", OrderNo: "2"},
					{Queue: "q2", Key: "named", Origin: &bellman.Origin{Alias: "taken"}},
				}}
			}}}, {Name: "q2", Handler: &receiver{answer: accept}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- e.Run(ctx) }()
		same := add(t, e, &bellman.Task{Queue: "q2", Key: "same"})
		other := add(t, e, &bellman.Task{Queue: "q2", Key: "other", OrderNo: "1", Origin: &bellman.Origin{Alias: "taken"}})
		id := add(t, e, &bellman.Task{Queue: "q"})
		time.Sleep(time.Second)
		if g := e.Gauges(t.Context()); g.RefusedFollows != 1 {
			t.Errorf("RefusedFollows = %d; want 1", g.RefusedFollows)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if task := get(t, store, id); task.State != bellman.Succeeded {
			t.Errorf("the task is %v; want succeeded, because the verdict stands", task.State)
		}
		if a := attempts(t, store, id)[0]; !strings.Contains(a.Error, "nowhere") || a.Action != "query" {
			t.Errorf("attempt %+v; want its action and the name of the follow-up that was left out", a)
		}
		for key, want := range map[string]bellman.ID{"same": same, "other": other} {
			if got, err := lookup(t, store, "q2", key); err != nil || got != want {
				t.Errorf("key %s is %v, %v; want %v as before", key, got, err, want)
			}
		}
		if fresh, err := lookup(t, store, "q2", "fresh"); err != nil || get(t, store, fresh).State != bellman.Succeeded {
			t.Errorf("the valid follow-up: %v; want it added and attempted", err)
		}
		if _, err := lookup(t, store, "q2", "named"); !errors.Is(err, bellman.ErrNotFound) {
			t.Errorf("the follow-up with a taken alias: %v; want none", err)
		}
		for _, want := range []string{`level=ERROR msg="follow-up task cannot be added"`, `level=WARN msg="a follow-up task was not added: its key exists with other content"`,
			`level=WARN msg="a follow-up task was not added: another task has its alias"`} {
			if strings.Count(log.String(), want) != 1 {
				t.Errorf("log:\n%s\nwant %s once", log.String(), want)
			}
		}
	})
}

// A task that repeats begins its next round after a completion, as after an attempt: only a cancel
// ends it for good. An attempt in flight goes into the log. If the task was cancelled before it was
// resent, the completion revives nothing.
func TestCompletedTaskRepeats(t *testing.T) {
	for _, tt := range []struct {
		name      string
		at        time.Duration // of the completion
		cancelled bool
		want      []time.Duration // the attempts
	}{
		{"between two attempts", 10 * time.Second, false, []time.Duration{0, 10*time.Minute + 10*time.Second, 20*time.Minute + 10*time.Second}},
		{"during an attempt", time.Second, false, []time.Duration{0, 10*time.Minute + time.Second, 20*time.Minute + time.Second}},
		{"after a cancel and a resend", time.Second, true, []time.Duration{0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kept, r := memory.New(), &receiver{answer: func(_ *bellman.Task, number int) bellman.Verdict {
					time.Sleep(2 * time.Second)
					return bellman.Verdict{Next: bellman.Next(min(number-1, 1))}
				}}
				ends := &receiver{answer: accept}
				e, stop := run(t, kept, engine.Queue{Name: "q", Handler: r, Schedule: "0s, 1h*", Ended: func(*bellman.Task) []bellman.Task {
					return []bellman.Task{{Queue: "ends"}}
				}}, engine.Queue{Name: "ends", Handler: ends})
				defer stop()
				task := &bellman.Task{Queue: "q", Repeat: "10m"}
				if tt.cancelled {
					task.Delay = time.Hour
				}
				id := add(t, e, task)
				if tt.cancelled {
					if _, err := e.Cancel(t.Context(), id, by); err != nil {
						t.Fatal(err)
					}
					if _, err := e.Resend(t.Context(), id, engine.ResendOnce, by); err != nil {
						t.Fatal(err)
					}
				}
				start := time.Now()
				time.Sleep(tt.at)
				done, err := e.Complete(t.Context(), id, bellman.Completion{}, by)
				if err != nil || done.State.Ended() != tt.cancelled {
					t.Fatalf("Complete() = %+v, %v; want a task that has ended: %t", done, err, tt.cancelled)
				}
				time.Sleep(25 * time.Minute)
				var got []time.Duration
				for _, at := range r.times() {
					got = append(got, at.Sub(start))
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("attempts after %v; want %v", got, tt.want)
				}
				if log := attempts(t, kept, id); len(log) != len(tt.want) {
					t.Errorf("%d attempts in the log; want %d", len(log), len(tt.want))
				}
				if n := len(ends.times()); (n > 0) != tt.cancelled {
					t.Errorf("%d ends were told; want some only of the task that was cancelled", n)
				}
			})
		})
	}
}

// A completion begins the next round of a task while an attempt is in flight. That attempt takes no
// step of the new round's schedule, and does not move its start.
func TestCompletedRoundStartsItsSchedule(t *testing.T) {
	const min = time.Minute
	for _, tt := range []struct {
		name   string
		resent time.Duration // when a person asks for an attempt; 0: never
		at     time.Duration // of the completion, during an attempt
		answer func(*bellman.Task, int) bellman.Verdict
		want   []time.Duration // the attempts
	}{
		{"the schedule's attempt", 0, time.Second, refuse, []time.Duration{0, 10*min + time.Second, 11*min + time.Second}},
		{"a manual attempt", 10 * time.Second, 11 * time.Second, refuse, []time.Duration{0, 10 * time.Second, 10*min + 11*time.Second, 11*min + 11*time.Second}},
		{"an attempt that is accepted", 0, time.Second, accept, []time.Duration{0, 10*min + time.Second}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kept, r := memory.New(), &receiver{answer: func(task *bellman.Task, number int) bellman.Verdict {
					time.Sleep(2 * time.Second)
					return tt.answer(task, number)
				}}
				e, stop := run(t, kept, engine.Queue{Name: "q", Handler: r, Schedule: "0s, 1m, 1h"})
				defer stop()
				start := time.Now()
				id := add(t, e, &bellman.Task{Queue: "q", Repeat: "10m"})
				if tt.resent > 0 {
					time.Sleep(tt.resent)
					if _, err := e.Resend(t.Context(), id, engine.ResendOnce, by); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(tt.at - time.Since(start))
				if _, err := e.Complete(t.Context(), id, bellman.Completion{}, by); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Until(start.Add(15 * min)))
				var got []time.Duration
				for _, at := range r.times() {
					got = append(got, at.Sub(start))
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("attempts after %v; want %v", got, tt.want)
				}
				if log := attempts(t, kept, id); len(log) != len(tt.want) {
					t.Errorf("%d attempts in the log; want %d", len(log), len(tt.want))
				}
			})
		})
	}
}
