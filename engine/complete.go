package engine

import (
	"bytes"
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/schedule"
	"github.com/bellmanhq/bellman/store"
)

// Complete ends a task as succeeded because the answer came another way, such as a callback. The
// task keeps by.Reason as its reason, "callback" if it is empty. The audit record keeps the
// outcome. If the task has ended, or its queue is not configured, Complete changes nothing and
// returns ErrConflict. An attempt in flight may still arrive; its answer is logged, as after
// [Admin.Cancel]. A task that repeats begins its next round.
//
// If the queue's handler is a [bellman.Completer], the handler decides what follows from the
// completion, also for a task that has ended.
func (a *Admin) Complete(ctx context.Context, id bellman.ID, with bellman.Completion, by bellman.By) (*bellman.Task, error) {
	return a.complete(ctx, id, "complete", with, by)
}

// Decide is Complete for an outcome that a person decides on. by.Reason is required, and the action
// in the audit record is decide. The tasks of Options.Decided are added in the same transaction,
// unless the decision changes nothing: the outcome was known.
func (a *Admin) Decide(ctx context.Context, id bellman.ID, with bellman.Completion, by bellman.By) (*bellman.Task, error) {
	if by.Reason = strings.TrimSpace(by.Reason); by.Reason == "" {
		bad := new(bellman.Invalid)
		bad.Note("reason", coded.Errorf("task.reason", "is required: say how you know the outcome"))
		return nil, bad
	}
	return a.complete(ctx, id, actionDecide, with, by)
}

// actionDecide is the action of Decide in the audit record.
const actionDecide = "decide"

// Told is Complete for the message of a machine, such as a channel's notice. No person acted, so
// there is no audit record.
func (a *Admin) Told(ctx context.Context, id bellman.ID, with bellman.Completion) (*bellman.Task, error) {
	t, err := a.move(ctx, id, "complete", func(c *store.Change, t *bellman.Task, now time.Time) error {
		return a.completion(ctx, c, t, with, "callback", now)
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (a *Admin) complete(ctx context.Context, id bellman.ID, action string, with bellman.Completion, by bellman.By) (*bellman.Task, error) {
	reason := cmp.Or(by.Reason, "callback")
	if with.Outcome != "" {
		by.Reason = reason + ": " + with.Outcome
	}
	return a.change(ctx, id, action, by, func(c *store.Change, t *bellman.Task, now time.Time) error {
		if err := a.completion(ctx, c, t, with, reason, now); err != nil {
			return err
		}
		if action == actionDecide && a.decided != nil && changes(c, t) {
			var told []bellman.Task
			if err := a.rules.safely(t, func() error { told = a.decided(t, by, now); return nil }); err != nil {
				return err
			}
			follow, err := a.recorder.follow(ctx, t, told, nil, nil)
			if err != nil {
				return err
			}
			c.Follow = append(c.Follow, follow...)
		}
		return nil
	})
}

// changes reports whether a completion changes the task or adds tasks.
func changes(c *store.Change, t *bellman.Task) bool {
	return len(c.Follow) > 0 || c.To.State != t.State || c.To.Reason != t.Reason || !bytes.Equal(c.To.Data, t.Data)
}

// completion makes the change that completes a task.
func (a *Admin) completion(ctx context.Context, c *store.Change, t *bellman.Task, with bellman.Completion, reason string, now time.Time) error {
	q, configured := a.rules.queue(t.Queue)
	completer, ok := q.Handler.(bellman.Completer)
	switch {
	case !configured:
		return coded.Errorf("task.no_queue", "%w: queue %s is not configured, so nothing says what follows from it", bellman.ErrConflict, t.Queue)
	case ok:
		return a.completeBy(ctx, completer, c, t, with, reason, now)
	case t.State.Ended():
		return ended(t.State)
	}
	c.To = completed(t, bellman.Succeeded, reason, now)
	return nil
}

// completed returns the status of a task that a completion ends. If it repeats, its next round
// begins, unless it had ended before a manual attempt was requested.
func completed(t *bellman.Task, state bellman.State, reason string, now time.Time) bellman.Status {
	r, err := schedule.ParseRepeat(t.Repeat)
	if err != nil || underlying(t.Status).State.Ended() { // an empty text is an error too
		return end(t.Status, state, reason, now)
	}
	st := t.Status
	noteDue(&st, now)
	st.Step, st.Before, st.Updated = 0, nil, now
	st.Began = roundUp(r.Next(now))
	pend(&st, bellman.BySchedule, st.Began)
	return st
}

// completeBy lets a handler decide what follows from a completion. If a manual attempt of an ended
// task is pending, the handler sees the task as ended.
func (a *Admin) completeBy(ctx context.Context, completer bellman.Completer, c *store.Change, t *bellman.Task, with bellman.Completion, reason string, now time.Time) error {
	under := *t
	under.Status = underlying(t.Status)
	var v bellman.Verdict
	err := a.rules.safely(t, func() (err error) {
		v, err = completer.Complete(&under, with, now)
		return cmp.Or(err, fits(&v))
	})
	if err != nil {
		return err
	}
	if v.Next != bellman.Again && under.State.Ended() {
		return ended(under.State)
	}
	switch v.Next {
	case bellman.Succeed:
		c.To = completed(t, bellman.Succeeded, cmp.Or(v.Reason, reason), now)
	case bellman.GiveUp:
		c.To = completed(t, bellman.Failed, cmp.Or(v.Reason, reason), now)
	default:
		goOn(&c.To, v.Due, now)
	}
	if v.Data != nil {
		c.To.Data = v.Data
	}
	c.Follow, err = a.recorder.follow(ctx, t, v.Follow, nil, nil)
	return err
}

// goOn moves the next scheduled attempt to the due time of a verdict, unless that has none. A task
// that has ended gets one attempt then, as by Settle. A pending manual attempt stays.
func goOn(st *bellman.Status, due, now time.Time) {
	if due.IsZero() {
		return
	}
	due = dueBy(due, now)
	noteDue(st, now)
	switch {
	case st.Before == nil && !st.State.Ended():
		moveDue(st, due)
	case st.Before == nil:
		request(st, bellman.BySettle, due, now)
	case !st.Before.State.Ended():
		before := *st.Before
		before.Due = due
		st.Before = &before
	}
}
