package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bellmanhq/bellman"
)

// maxTries bounds how often a change by hand is tried against a task that
// keeps changing.
const maxTries = 20

// Cancel ends a task. An attempt in flight may still arrive; its answer is only
// logged. A task that has ended already is left as it is: ErrConflict.
func (e *Engine) Cancel(ctx context.Context, id bellman.ID, by bellman.By) (*bellman.Task, error) {
	return e.change(ctx, id, "cancel", by, func(t *bellman.Task, now time.Time) (bellman.Status, error) {
		if t.State.Ended() {
			return t.Status, fmt.Errorf("%w: the task is %v already", bellman.ErrConflict, t.State)
		}
		return end(t.Status, bellman.Cancelled, "cancelled", now), nil
	})
}

// Complete ends a task as succeeded: the answer came another way. by.Reason is
// kept as the task's reason, "callback" if it is empty; outcome says what came,
// and goes into the audit record. A task that has ended is left as it is:
// ErrConflict.
func (e *Engine) Complete(ctx context.Context, id bellman.ID, outcome string, by bellman.By) (*bellman.Task, error) {
	reason := by.Reason
	if reason == "" {
		reason = "callback"
	}
	if outcome != "" {
		by.Reason = reason + ": " + outcome
	}
	return e.change(ctx, id, "complete", by, func(t *bellman.Task, now time.Time) (bellman.Status, error) {
		if t.State.Ended() {
			return t.Status, fmt.Errorf("%w: the task is %v already", bellman.ErrConflict, t.State)
		}
		return end(t.Status, bellman.Succeeded, reason, now), nil
	})
}

// Resend makes an attempt now, whatever the task's state. Once: the schedule
// stays where it is, and an ended task is pending only until that attempt's
// outcome; if it is not accepted, the task goes back to what it was. Restart:
// the schedule begins anew.
func (e *Engine) Resend(ctx context.Context, id bellman.ID, mode bellman.ResendMode, by bellman.By) (*bellman.Task, error) {
	if mode != bellman.ResendOnce && mode != bellman.ResendRestart {
		return nil, &bellman.Invalid{Fields: []bellman.FieldError{{Field: "mode", Problem: fmt.Sprintf("%q is not a mode: want once or restart", mode)}}}
	}
	return e.change(ctx, id, "resend", by, func(t *bellman.Task, now time.Time) (bellman.Status, error) {
		st := t.Status
		if mode == bellman.ResendRestart {
			st.Step, st.Before = 0, nil
			st.Began = now
		} else if st.Before == nil {
			st.Before = &bellman.Before{State: st.State, Reason: st.Reason, Due: st.Due, Finished: st.Finished}
		}
		st.State, st.Reason, st.Finished = bellman.Pending, "", time.Time{}
		st.Due, st.Look = now, now
		st.Trigger = bellman.ByHand
		st.Updated = now
		return st, nil
	})
}

// Reschedule moves a pending task's next attempt. ErrConflict if the task has
// ended.
func (e *Engine) Reschedule(ctx context.Context, id bellman.ID, due time.Time, by bellman.By) (*bellman.Task, error) {
	return e.change(ctx, id, "reschedule", by, func(t *bellman.Task, now time.Time) (bellman.Status, error) {
		if t.State.Ended() {
			return t.Status, fmt.Errorf("%w: the task is %v already", bellman.ErrConflict, t.State)
		}
		if due.Sub(now) > maxAhead {
			return t.Status, &bellman.Invalid{Fields: []bellman.FieldError{{Field: "due", Problem: "is more than ten years ahead"}}}
		}
		st := t.Status
		st.Due = later(roundUp(due), now)
		st.Look = st.Due
		st.Updated = now
		return st, nil
	})
}

// change moves a task by hand: it reads it, asks to what, and commits that with
// an audit record, again from the start when somebody else was quicker.
func (e *Engine) change(ctx context.Context, id bellman.ID, action string, by bellman.By,
	to func(t *bellman.Task, now time.Time) (bellman.Status, error)) (*bellman.Task, error) {
	if err := e.running(ctx); err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		t, err := e.store.Task(ctx, id)
		if err != nil {
			return nil, err
		}
		now := e.clock.now().Truncate(time.Millisecond)
		st, err := to(t, now)
		if err != nil {
			return nil, err
		}
		c := bellman.Change{
			ID:      id,
			Version: t.Version,
			To:      st,
			Audit:   &bellman.Audit{At: now, Who: by.Who, Action: action, Target: id.String(), Reason: by.Reason},
		}
		copied := *t
		err = e.lane.do(ctx, &op{change: &c, task: &copied})
		if err == nil {
			t.Status = c.To
			return t, nil
		}
		if !errors.Is(err, bellman.ErrConflict) || try == maxTries {
			return nil, fmt.Errorf("%s task %s: %w", action, id, err)
		}
	}
}
