package engine_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// The follow-ups of an end are added once for each end, with the task as it ended, whoever ended
// it. The schedule is 10 s and 10 s; an attempt takes a second.
func TestEnded(t *testing.T) {
	type doing = func(e *engine.Engine, ctx context.Context, id bellman.ID) error
	cancel := func(e *engine.Engine, ctx context.Context, id bellman.ID) error {
		_, err := e.Cancel(ctx, id, by)
		return err
	}
	complete := func(e *engine.Engine, ctx context.Context, id bellman.ID) error {
		_, err := e.Complete(ctx, id, bellman.Completion{Outcome: "PAID"}, by)
		return err
	}
	resend := func(mode engine.ResendMode) doing {
		return func(e *engine.Engine, ctx context.Context, id bellman.ID) error {
			_, err := e.Resend(ctx, id, mode, by)
			return err
		}
	}
	const yes, no = "accepted", "refused"
	tests := []struct {
		name    string
		repeat  string
		answers []string // answers from the first attempt on; the last one repeats
		at      time.Duration
		do      doing
		ends    []string // state, reason, attempts, and the last result of each end
	}{
		{name: "accepted", answers: []string{no, yes}, ends: []string{"succeeded accepted 2 accepted"}},
		{name: "used up", answers: []string{no}, ends: []string{"failed attempts_used_up 2 refused"}},
		{name: "cancelled", answers: []string{no}, at: 5 * time.Second, do: cancel, ends: []string{"cancelled cancelled 0 "}},
		{name: "cancelled in flight", answers: []string{yes}, at: 10500 * time.Millisecond, do: cancel, ends: []string{"cancelled cancelled 0 "}},
		{name: "completed", answers: []string{no}, at: 5 * time.Second, do: complete, ends: []string{"succeeded merchant called 0 "}},
		{name: "asked for again in flight, and accepted", answers: []string{yes}, at: 10500 * time.Millisecond, do: resend(engine.ResendOnce),
			ends: []string{"succeeded accepted 1 accepted"}},
		{name: "failed, and refused once more", answers: []string{no}, at: time.Minute, do: resend(engine.ResendOnce),
			ends: []string{"failed attempts_used_up 2 refused"}},
		{name: "failed, and accepted at last", answers: []string{no, no, yes}, at: time.Minute, do: resend(engine.ResendOnce),
			ends: []string{"failed attempts_used_up 2 refused", "succeeded accepted 3 accepted"}},
		{name: "failed, restarted, and failed", answers: []string{no}, at: time.Minute, do: resend(engine.ResendRestart),
			ends: []string{"failed attempts_used_up 2 refused", "failed attempts_used_up 4 refused"}},
		{name: "accepted, and once more", answers: []string{yes}, at: time.Minute, do: resend(engine.ResendOnce),
			ends: []string{"succeeded accepted 1 accepted"}},
		{name: "repeats", repeat: "10m", answers: []string{yes}, ends: nil},
		{name: "repeats, and is cancelled", repeat: "10m", answers: []string{yes}, at: 5 * time.Minute, do: cancel, ends: []string{"cancelled cancelled 1 accepted"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := memory.New()
				told := &receiver{answer: accept}
				queue := engine.Queue{Name: "q", Schedule: "10s*2",
					Handler: bellman.HandlerFunc(func(_ context.Context, _ *bellman.Task, n int) bellman.Verdict {
						time.Sleep(time.Second)
						if tt.answers[min(n, len(tt.answers))-1] == yes {
							return bellman.Verdict{Next: bellman.Succeed, Result: bellman.Accepted}
						}
						return bellman.Verdict{Result: bellman.Refused}
					}),
					Ended: func(task *bellman.Task) []bellman.Task {
						result := ""
						if task.Last != nil {
							result = task.Last.Result.String()
						}
						what := fmt.Sprintf("%v %s %d %s", task.State, task.Reason, task.Attempts, result)
						return []bellman.Task{{Queue: "ends", Key: fmt.Sprintf("%s/%d", task.ID, task.Attempts), Body: []byte(what)}}
					},
				}
				e, stop := run(t, db, queue, engine.Queue{Name: "ends", Handler: told})
				defer stop()
				id := add(t, e, &bellman.Task{Queue: "q", Key: "1", Repeat: tt.repeat})
				if tt.do != nil {
					time.Sleep(tt.at)
					if err := tt.do(e, t.Context(), id); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(max(30*time.Minute/fewer, 11*time.Minute)) // long enough for another round of repeating tasks
				listed, _, err := db.List(t.Context(), store.Filter{Queue: "ends"}, bellman.ID{}, 100)
				if err != nil {
					t.Fatal(err)
				}
				var ends []string
				for _, end := range slices.Backward(listed) {
					ends = append(ends, string(end.Body))
				}
				if !slices.Equal(ends, tt.ends) {
					t.Errorf("follow-ups were made for the ends %q; want %q", ends, tt.ends)
				}
				if got := len(told.times()); got != len(tt.ends) {
					t.Errorf("%d follow-ups were sent; want %d", got, len(tt.ends))
				}
			})
		})
	}
}

// A fragile handler panics in the methods other than Attempt.
type fragile struct{ receiver }

func (*fragile) Check(*bellman.Task) error { panic("boom") }

// A clumsy handler takes a second, and panics when its answer comes late.
type clumsy struct{ receiver }

func (c *clumsy) Attempt(ctx context.Context, t *bellman.Task, n int) bellman.Verdict {
	time.Sleep(time.Second)
	return c.receiver.Attempt(ctx, t, n)
}

func (*clumsy) Late(*bellman.Task, bellman.Verdict, time.Time) bellman.Verdict { panic("boom") }

// After a panic of the code that makes follow-up tasks, the attempt is recorded and the end stands.
// Otherwise the node would end, and each start would repeat the attempt.
func TestFollowUpPanics(t *testing.T) {
	follow := func(*bellman.Task) []bellman.Task { return []bellman.Task{{Queue: "fragile"}} }
	for name, tt := range map[string]struct {
		ended  func(*bellman.Task) []bellman.Task
		cancel bool
		state  bellman.State
	}{
		"Ended": {func(*bellman.Task) []bellman.Task { panic("boom") }, false, bellman.Succeeded},
		"Check": {follow, false, bellman.Succeeded},
		"Late":  {nil, true, bellman.Cancelled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, c := memory.New(), &clumsy{receiver{answer: accept}}
				e, stop := run(t, store, engine.Queue{Name: "q", Handler: c, Ended: tt.ended}, engine.Queue{Name: "fragile", Handler: &fragile{}})
				defer stop()
				id := add(t, e, &bellman.Task{Queue: "q"})
				time.Sleep(time.Second / 2)
				if tt.cancel {
					if _, err := e.Cancel(t.Context(), id, by); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(time.Minute)
				task, log := get(t, store, id), attempts(t, store, id)
				if task.State != tt.state || len(log) != 1 || len(c.times()) != 1 {
					t.Errorf("the task is %v after %d attempts, with %d in the log; want %v after one", task.State, len(c.times()), len(log), tt.state)
				}
				if !tt.cancel && !strings.Contains(log[0].Error, "panicked: boom") {
					t.Errorf("the attempt's error is %q; want it to name the panic", log[0].Error)
				}
				if g := e.Gauges(t.Context()); g.RefusedFollows != 1 {
					t.Errorf("RefusedFollows = %d; want 1", g.RefusedFollows)
				}
				refused := e.Report(t.Context(), figures.Ask{Gauges: true}).Follows
				if want := map[string]string{"Check": "fragile"}[name]; len(refused) != 1 || refused[0].Queue != cmp.Or(want, "q") || refused[0].Task != id.String() || !strings.Contains(refused[0].Why, "boom") {
					t.Errorf("the report has %+v; want the queue, the task and the panic", refused)
				}
			})
		})
	}
}

// An invalid follow-up is left out. The end stands, and the log of attempts names the follow-up.
func TestEndedInvalid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		e, stop := run(t, store, engine.Queue{Name: "q", Handler: &receiver{answer: accept},
			Ended: func(*bellman.Task) []bellman.Task { return []bellman.Task{{Queue: "nowhere"}} }})
		defer stop()
		id := add(t, e, &bellman.Task{Queue: "q"})
		time.Sleep(time.Minute)
		if task := get(t, store, id); task.State != bellman.Succeeded {
			t.Errorf("the task is %v; want it succeeded", task.State)
		}
		if log := attempts(t, store, id); len(log) != 1 || log[0].Error == "" {
			t.Errorf("attempts %+v; want one, whose error names the follow-up", log)
		}
		if g := e.Gauges(t.Context()); g.RefusedFollows != 1 {
			t.Errorf("RefusedFollows = %d; want 1", g.RefusedFollows)
		}
	})
}
