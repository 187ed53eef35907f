package poll

import (
	"errors"
	"testing"

	"github.com/bellmanhq/bellman"
)

// After the decision nothing changes it, and a contradiction is an alert, once.
func TestContradiction(t *testing.T) {
	h := newHouse(t)
	h.channel.query = reads(FailedThere)
	task := h.refund("")
	h.attempt(task)
	h.channel.query = reads(Done)
	for range 2 {
		task.State, task.Began, task.Due = bellman.Pending, h.now, h.now // restarted
		if v := h.attempt(task); v.Next != bellman.Succeed || v.Reason != "failed_there" || len(v.Follow) > 0 {
			t.Errorf("%+v", v)
		}
	}
	if l := h.life(task); l.State != StateFailedThere || len(h.alerts) != 1 || h.alerts[0] != "FAILED_THERE: after the decision the channel says DONE" {
		t.Errorf("%+v, alerts %q", l, h.alerts)
	}
}

func TestComplete(t *testing.T) {
	h := newHouse(t)
	task := h.refund("")
	h.attempt(task)
	var invalid *bellman.Invalid
	for _, outcome := range []string{"", "PAID", "PENDING", "NOT_FOUND", "done"} {
		if _, err := h.handler.Complete(task, bellman.Completion{Outcome: outcome}, h.now); !errors.As(err, &invalid) || invalid.Fields[0].Field != "outcome" {
			t.Errorf("Complete(%q) = %v; want an invalid outcome", outcome, err)
		}
	}
	v, err := h.handler.Complete(task, bellman.Completion{Outcome: "DONE"}, h.now)
	if err != nil || v.Next != bellman.Succeed || len(v.Follow) != 1 || v.Follow[0].Event != "poll.done" {
		t.Fatalf("%+v, %v", v, err)
	}
	task.Data, task.State = v.Data, bellman.Succeeded
	if v, err := h.handler.Complete(task, bellman.Completion{Outcome: "DONE"}, h.now); err != nil || v.Data != nil || len(v.Follow) > 0 {
		t.Errorf("the same again: %+v, %v; want nothing", v, err)
	}
	if _, err := h.handler.Complete(task, bellman.Completion{Outcome: "FAILED_THERE"}, h.now); !errors.Is(err, bellman.ErrConflict) {
		t.Errorf("the other: %v; want a conflict", err)
	}

	task = h.refund("")
	task.State = bellman.Cancelled
	if got := StandingOf(task).State; got != StateUnknown {
		t.Errorf("cancelled: %s; want UNKNOWN", got)
	}
	if v, err := h.handler.Complete(task, bellman.Completion{Outcome: "FAILED_THERE"}, h.now); err != nil || v.Next != bellman.Again || len(v.Follow) != 1 {
		t.Errorf("cancelled: %+v, %v; want it told and the task as it is", v, err)
	}
}
