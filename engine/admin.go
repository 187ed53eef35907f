package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/schedule"
	"github.com/bellmanhq/bellman/store"
)

// A ResendMode says what a manual resend is.
type ResendMode string

// The modes of a manual resend.
const (
	ResendOnce    ResendMode = "once"    // one attempt now; the schedule stays where it is
	ResendRestart ResendMode = "restart" // the schedule begins anew, now
)

// maxTries bounds how often a change by hand is tried against a task that
// keeps changing.
const maxTries = 20

// Admin does what people ask for: it moves single tasks, and pauses and resumes queues, endpoints and
// merchants. Each change is committed with its audit record before it returns. All of it waits until Run runs, goes on
// while nothing new is taken in, and is safe for concurrent use.
type Admin struct {
	store     store.Store
	clock     *clock
	rules     *Rules
	leases    *leases
	agenda    *agenda
	committer *committer
	recorder  *recorder
	pauses    *pauses
	watch     *watch
	life      *life
}

// Cancel ends a task. An attempt in flight may still arrive; its answer is only
// logged. A task that has ended already is left as it is: ErrConflict.
func (a *Admin) Cancel(ctx context.Context, id bellman.ID, by bellman.By) (*bellman.Task, error) {
	return a.change(ctx, id, "cancel", by, func(c *store.Change, t *bellman.Task, now time.Time) error {
		if t.State.Ended() {
			return ended(t.State)
		}
		c.To = end(t.Status, bellman.Cancelled, "cancelled", now)
		return nil
	})
}

// Resend makes an attempt now, whatever the task's state. Once: the schedule
// stays where it is, and an ended task is pending only until that attempt's
// outcome; if it is not accepted, the task goes back to what it was. Restart:
// the schedule begins anew, and the audit record says restart, not resend. A task that
// was superseded is left as it is: ErrSuperseded.
func (a *Admin) Resend(ctx context.Context, id bellman.ID, mode ResendMode, by bellman.By) (*bellman.Task, error) {
	if mode != ResendOnce && mode != ResendRestart {
		bad := new(bellman.Invalid)
		bad.Note("mode", coded.Errorf("task.mode", "%q is not a mode: want once or restart", mode))
		return nil, bad
	}
	action := "resend"
	if mode == ResendRestart {
		action = "restart"
	}
	return a.change(ctx, id, action, by, func(c *store.Change, t *bellman.Task, now time.Time) error {
		if t.WasSuperseded() {
			return bellman.ErrSuperseded
		}
		if mode == ResendRestart {
			c.To.Step, c.To.Before = 0, nil
			c.To.Began = now
			c.To.State, c.To.Reason, c.To.Finished = bellman.Pending, "", time.Time{}
			c.To.Due, c.To.VisibleAt, c.To.Phase, c.To.Trigger = now, now, bellman.Waiting, bellman.ByHand
			return nil
		}
		request(&c.To, bellman.ByHand, now)
		return nil
	})
}

// request makes a status ask for an attempt now that moves nothing else: when it
// was made, the task goes back to what it is.
func request(st *bellman.Status, trigger bellman.Trigger, now time.Time) {
	if st.Before == nil {
		st.Before = &bellman.Before{State: st.State, Reason: st.Reason, Due: st.Due, Finished: st.Finished}
	}
	st.State, st.Reason, st.Finished = bellman.Pending, "", time.Time{}
	st.Due, st.VisibleAt, st.Phase, st.Trigger = now, now, bellman.Waiting, trigger
}

// Reschedule moves a pending task's next attempt; a time that has just passed is now.
// ErrConflict if the task has ended, an *[bellman.Invalid] for a time that lies in the
// past, or more than ten years ahead.
func (a *Admin) Reschedule(ctx context.Context, id bellman.ID, due time.Time, by bellman.By) (*bellman.Task, error) {
	return a.change(ctx, id, "reschedule", by, func(c *store.Change, t *bellman.Task, now time.Time) error {
		if t.State.Ended() {
			return ended(t.State)
		}
		bad := new(bellman.Invalid)
		switch {
		case now.Sub(due) > bellman.MaxPast && a.clock.wall().Sub(due) > bellman.MaxPast: // by the clock that whoever gave it went by
			bad.Note("due", coded.Errorf("task.past", "%s lies in the past: want a time that is still to come", due.UTC().Format(time.RFC3339)))
		case due.Sub(now) > schedule.MaxDuration:
			bad.Note("due", coded.Errorf("task.ahead", "%s is more than ten years ahead: want a time before that", due.UTC().Format(time.RFC3339)))
		}
		if len(bad.Fields) > 0 {
			return bad
		}
		c.To.Due = later(roundUp(due), now)
		c.To.VisibleAt = c.To.Due
		if !t.InDoubt() {
			c.To.Phase = bellman.Waiting
		}
		return nil
	})
}

// ended refuses a change of a task that is over.
func ended(s bellman.State) error {
	return coded.Errorf("task.ended", "%w: the task is %v already", bellman.ErrConflict, s)
}

// change moves a task by hand, with an audit record.
func (a *Admin) change(ctx context.Context, id bellman.ID, action string, by bellman.By,
	to func(c *store.Change, t *bellman.Task, now time.Time) error) (*bellman.Task, error) {
	t, err := a.move(ctx, id, action, func(c *store.Change, t *bellman.Task, now time.Time) error {
		c.Audit = new(store.AuditOf(by, now, action, id.String()))
		return to(c, t, now)
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// move changes a task that may be in anybody's hands: it reads it, asks to what,
// and commits that, again from the start when somebody else was quicker. An error
// of to is returned as it is, with the task as it was read.
func (a *Admin) move(ctx context.Context, id bellman.ID, action string,
	to func(c *store.Change, t *bellman.Task, now time.Time) error) (*bellman.Task, error) {
	if err := a.life.running(ctx); err != nil {
		return nil, err
	}
	return a.moveAlways(ctx, id, action, to)
}

// moveAlways is move for what goes on while the engine stops.
func (a *Admin) moveAlways(ctx context.Context, id bellman.ID, action string,
	to func(c *store.Change, t *bellman.Task, now time.Time) error) (*bellman.Task, error) {
	for try := 0; ; try++ {
		t, err := a.store.Task(ctx, id)
		if err != nil {
			return nil, err
		}
		now := a.clock.now().Truncate(time.Millisecond)
		c := store.Change{ID: id, Version: t.Version, To: t.Status}
		c.To.Updated = now
		if err := to(&c, t, now); err != nil {
			return t, err
		}
		a.recorder.onEnd(&c, t, nil, nil)
		copied := *t
		err = a.committer.do(ctx, &op{change: &c, task: &copied})
		if err == nil {
			t.Status = c.To
			return t, nil
		}
		if !errors.Is(err, bellman.ErrConflict) || try == maxTries {
			return nil, fmt.Errorf("%s task %s: %w", action, id, err)
		}
	}
}
