package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/clock"
	"github.com/bellmanhq/bellman/engine/internal/cluster"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/schedule"
	"github.com/bellmanhq/bellman/store"
)

// A ResendMode is the kind of a manual resend.
type ResendMode string

// The modes of a manual resend.
const (
	ResendOnce    ResendMode = "once"    // one attempt now; the schedule does not change
	ResendRestart ResendMode = "restart" // the schedule starts again now
)

// maxTries bounds the retries of a change when other changes of the same task, on other nodes too,
// win each time.
const maxTries = 20

// Admin holds the methods that people and services call: changes of single tasks, and pauses of
// queues, endpoints and merchants. A method returns after its change is committed, together with an
// audit record. It waits until Run is running. It works while intake is closed. All methods are
// safe for concurrent use.
type Admin struct {
	store     store.Store
	clock     *clock.Clock
	rules     *Rules
	leases    *cluster.Member
	agenda    *agenda
	committer *committer
	recorder  *recorder
	pauses    *pauses
	watch     *watch
	life      *life
	turns     *turns
	decided   func(*bellman.Task, bellman.By, time.Time) []bellman.Task // Options.Decided
}

// Cancel ends a task as cancelled. An attempt in flight may still arrive, and so may one that is
// about to start: see mayStart in gate.go. The task stays cancelled, and the answer goes into its
// log. If the handler is a [bellman.Latecomer], the answer may also change Data and add follow-ups.
// If the task had ended before a manual attempt was requested, it returns to that end. If the task
// has ended, Cancel changes nothing and returns ErrConflict.
func (a *Admin) Cancel(ctx context.Context, id bellman.ID, by bellman.By) (*bellman.Task, error) {
	return a.change(ctx, id, "cancel", by, func(c *store.Change, t *bellman.Task, now time.Time) error {
		if t.State.Ended() {
			return ended(t.State)
		}
		if t.Before != nil && t.Before.State.Ended() {
			c.To = underlying(c.To)
			return nil
		}
		c.To = end(t.Status, bellman.Cancelled, "cancelled", now)
		return nil
	})
}

// Resend makes an attempt now, in any state of the task.
//
// With ResendOnce the schedule does not change. A task that had ended is pending until the outcome
// of that attempt; if it is not accepted, the task returns to its former state. With ResendRestart
// the schedule starts again, and the action in the audit record is restart.
//
// If the task was superseded, Resend changes nothing and returns ErrSuperseded.
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
			noteDue(&c.To, now)
			c.To.Step, c.To.Before = 0, nil
			c.To.Began = now
			pend(&c.To, bellman.ByHand, now)
			return nil
		}
		request(&c.To, bellman.ByHand, now, now)
		return nil
	})
}

// request changes a status so that one attempt is made at due. After that attempt the task returns
// to the former status.
func request(st *bellman.Status, trigger bellman.Trigger, due, now time.Time) {
	noteDue(st, now)
	if st.Before == nil {
		st.Before = &bellman.Before{State: st.State, Reason: st.Reason, Due: st.Due, Finished: st.Finished}
	}
	pend(st, trigger, due)
}

// pend makes a status pending, with the next attempt at due. A doubt about the last attempt stays.
func pend(st *bellman.Status, trigger bellman.Trigger, due time.Time) {
	st.State, st.Reason, st.Finished = bellman.Pending, "", time.Time{}
	st.Trigger = trigger
	moveDue(st, due)
}

// moveDue moves the next attempt of a pending status. A doubt about the last attempt stays.
func moveDue(st *bellman.Status, due time.Time) {
	st.Due, st.VisibleAt = due, due
	if !st.InDoubt() {
		st.Phase = bellman.Waiting
	}
}

// Reschedule moves the next attempt of a pending task. A time that has just passed means now. It
// returns ErrConflict if the task has ended, and an *[bellman.Invalid] if due is in the past or
// more than ten years ahead.
func (a *Admin) Reschedule(ctx context.Context, id bellman.ID, due time.Time, by bellman.By) (*bellman.Task, error) {
	return a.change(ctx, id, "reschedule", by, func(c *store.Change, t *bellman.Task, now time.Time) error {
		if t.State.Ended() {
			return ended(t.State)
		}
		bad := new(bellman.Invalid)
		switch {
		case now.Sub(due) > bellman.MaxPast && a.clock.Wall().Sub(due) > bellman.MaxPast: // the caller goes by the wall clock
			bad.Note("due", coded.Errorf("task.past", "%s lies in the past: want a time that is still to come", due.UTC().Format(time.RFC3339)))
		case due.Sub(now) > schedule.MaxDuration:
			bad.Note("due", coded.Errorf("task.ahead", "%s is more than ten years ahead: want a time before that", due.UTC().Format(time.RFC3339)))
		}
		if len(bad.Fields) > 0 {
			return bad
		}
		noteDue(&c.To, now)
		moveDue(&c.To, later(roundUp(due), now))
		return nil
	})
}

// ended is the error for a change of a task that has ended.
func ended(s bellman.State) error {
	return coded.Errorf("task.ended", "%w: the task is %v already: only a resend attempts it again", bellman.ErrConflict, s)
}

// change commits a change of a task together with an audit record.
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

// move reads a task, calls to for the new status, and commits it. If the task changes in between,
// move starts again. An error of to is returned as it is, together with the task that was read.
func (a *Admin) move(ctx context.Context, id bellman.ID, action string,
	to func(c *store.Change, t *bellman.Task, now time.Time) error) (*bellman.Task, error) {
	if err := a.life.running(ctx); err != nil {
		return nil, err
	}
	return a.moveAlways(ctx, id, action, to)
}

// moveAlways is move for changes that are also made during a stop.
func (a *Admin) moveAlways(ctx context.Context, id bellman.ID, action string,
	to func(c *store.Change, t *bellman.Task, now time.Time) error) (*bellman.Task, error) {
	for try := 0; ; try++ {
		if try == 1 {
			done, err := a.turns.take(ctx, id)
			if err != nil {
				return nil, fmt.Errorf("%s task %s: %w", action, id, err)
			}
			defer done()
		}
		t, err := a.store.Task(ctx, id)
		if err != nil {
			return nil, err
		}
		now := a.clock.Now().Truncate(time.Millisecond)
		c := store.Change{ID: id, Version: t.Version, To: t.Status}
		c.To.Updated = now
		if err := to(&c, t, now); err != nil {
			return t, err
		}
		if err := a.recorder.onEnd(ctx, &c, t, nil, nil); err != nil {
			return nil, fmt.Errorf("%s task %s: %w", action, id, err)
		}
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

// turns are those of changes that lost to another change of their task. They are made one after the
// other; otherwise one of many wins each time, and some lose too often. A turn is shared by tasks
// whose ids end alike.
type turns [64]chan struct{}

func newTurns() *turns {
	t := new(turns)
	for i := range t {
		t[i] = make(chan struct{}, 1)
	}
	return t
}

// take waits for the turn of a task. Call done after the change.
func (t *turns) take(ctx context.Context, id bellman.ID) (done func(), err error) {
	turn := t[int(id[len(id)-1])%len(t)]
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
