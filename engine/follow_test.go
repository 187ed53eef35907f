package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store/memory"
)

// A cutOffCheck is a handler whose check reads the store, and cannot while that is away.
type cutOffCheck struct {
	*receiver
	away atomic.Bool
}

func (c *cutOffCheck) Check(*bellman.Task) error {
	if c.away.Load() {
		return fmt.Errorf("read merchant M1: %w", bellman.ErrUnreachable)
	}
	return nil
}

// A teller succeeds, and its follow-up tells somebody, also if somebody else completes its task.
type teller struct{ *doubter }

func (d teller) Attempt(ctx context.Context, t *bellman.Task, number int) bellman.Verdict {
	d.note(t)
	return d.end()
}

func (d teller) Complete(*bellman.Task, bellman.Completion, time.Time) (bellman.Verdict, error) {
	return d.end(), nil
}

func (teller) end() bellman.Verdict {
	return bellman.Verdict{Next: bellman.Succeed, Follow: []bellman.Task{{Queue: "told", Key: "told"}}}
}

// A check of a follow-up task times out for ever. While the store does not answer either, the
// attempt waits. While the store answers, it waits for 20 minutes, and is recorded without the
// follow-up.
func TestFollowUpOfCheckThatTimesOut(t *testing.T) {
	for _, away := range []bool{false, true} {
		t.Run(fmt.Sprintf("store away %t", away), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, check := &blind{Store: memory.New()}, &lateCheck{receiver: &receiver{answer: accept}}
				e, stop := run(t, s, engine.Queue{Name: "q", Handler: teller{new(doubter)}}, engine.Queue{Name: "told", Handler: check})
				defer stop()
				check.late.Store(true)
				s.blind.Store(away)
				id := add(t, e, &bellman.Task{Queue: "q"})
				state := func() bellman.State { return get(t, s.Store, id).State }
				time.Sleep(19 * time.Minute)
				if got := state(); got != bellman.Pending {
					t.Errorf("after 19 minutes the task is %v; want pending", got)
				}
				time.Sleep(2 * time.Minute)
				want := map[bool]bellman.State{false: bellman.Succeeded, true: bellman.Pending}[away]
				if got := state(); got != want {
					t.Errorf("after 21 minutes the task is %v; want %v", got, want)
				}
				check.late.Store(false)
				s.blind.Store(false)
				time.Sleep(time.Minute)
				_, err := lookup(t, s.Store, "told", "told")
				if log := attempts(t, s.Store, id); len(log) != 1 || (err == nil) != away || strings.Contains(log[0].Error, "was not added") == away {
					t.Errorf("the follow-up: %v, attempts %+v; want one attempt, and the follow-up %t", err, log, away)
				}
			})
		})
	}
}

// A lateCheck is a handler whose check times out while late is set.
type lateCheck struct {
	*receiver
	late atomic.Bool
}

func (c *lateCheck) Check(*bellman.Task) error {
	if c.late.Load() {
		return fmt.Errorf("ask the customer service: %w", context.DeadlineExceeded)
	}
	return nil
}

// The check of a follow-up task cannot read the store for a while. Nothing is recorded without the
// follow-up: the attempt waits, a stop does not record it, and a completion fails.
func TestFollowUpWaitsForStore(t *testing.T) {
	for _, course := range []string{"wait", "on end", "stop", "complete", "complete on end"} {
		t.Run(course, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kept, d, check := memory.New(), new(doubter), &cutOffCheck{receiver: &receiver{answer: accept}}
				q := engine.Queue{Name: "q", Handler: teller{d}}
				if course == "on end" || course == "complete on end" {
					q.Handler = d
					q.Ended = func(*bellman.Task) []bellman.Task { return teller{}.end().Follow }
				}
				told := engine.Queue{Name: "told", Handler: check}
				e, stop := run(t, kept, q, told)
				defer func() { stop() }()
				id := add(t, e, &bellman.Task{Queue: "q", Delay: 5 * time.Second})
				check.away.Store(true)
				wants := []bool{false} // of each attempt, whether the task is in doubt
				switch course {
				case "wait", "on end":
					time.Sleep(time.Minute)
				case "stop":
					time.Sleep(time.Minute)
					began := time.Now()
					stop()
					if took := time.Since(began); took > 12*time.Second {
						t.Errorf("the stop took %v; want it within its time limit", took)
					}
					_, stop = run(t, kept, q, told)
					wants = append(wants, true)
				default:
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					if _, err := e.Complete(ctx, id, bellman.Completion{}, by); !errors.Is(err, bellman.ErrUnreachable) {
						t.Errorf("Complete() = %v; want ErrUnreachable", err)
					}
				}
				if _, err := lookup(t, kept, "told", "told"); !errors.Is(err, bellman.ErrNotFound) || get(t, kept, id).State.Ended() {
					t.Errorf("the follow-up: %v, and the task is %v; want none, and pending", err, get(t, kept, id).State)
				}
				check.away.Store(false)
				time.Sleep(time.Minute)
				if _, err := lookup(t, kept, "told", "told"); err != nil || get(t, kept, id).State != bellman.Succeeded {
					t.Errorf("the follow-up: %v, and the task is %v; want it added, and succeeded", err, get(t, kept, id).State)
				}
				if got := d.of(id); fmt.Sprint(got) != fmt.Sprint(wants) {
					t.Errorf("attempts of a task in doubt: %v; want %v", got, wants)
				}
			})
		})
	}
}
