package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/schedule"
	"github.com/bellmanhq/bellman/store"
)

// Limits on what a task may ask for.
const (
	maxTimeout = 10 * time.Minute
	maxAhead   = 10 * 365 * 24 * time.Hour // how far in the future a task may be due
)

// Add hands tasks in and says what became of each, in order. A task without an
// error is durable when Add returns: no crash loses it. A task whose key exists
// in its queue with the same content is not added again (Existing).
//
// Add fills in the tasks that it adds: id, status, and the rules of their queues where
// they say nothing. The others stay as they were given, so that whoever does not know
// whether a task was added hands the same one in again: with a Key it is added once. Do
// not change what tasks refer to afterwards. Tasks with wrong fields get an
// *[bellman.Invalid] and leave the others alone. Add waits until Run runs;
// when ctx ends before the answer, tasks may have been added all the same.
func (e *Engine) Add(ctx context.Context, tasks ...*bellman.Task) []bellman.Added {
	return e.addAll(ctx, e.intake(ctx), tasks)
}

// addAll adds tasks, unless nothing may be added, which refused says.
func (e *Engine) addAll(ctx context.Context, refused error, tasks []*bellman.Task) []bellman.Added {
	results := make([]bellman.Added, len(tasks))
	if refused != nil {
		for i := range results {
			results[i].Err = refused
		}
		return results
	}
	e.follows(ctx, tasks)
	adds := make([]store.Add, 0, len(tasks))
	at := make([]int, 0, len(tasks)) // adds[i] is tasks[at[i]]
	now := e.clock.now()
	for i, t := range tasks {
		add, err := e.accept(t, now)
		if err != nil {
			results[i].Err = err
			continue
		}
		adds = append(adds, add)
		at = append(at, i)
		results[i].ID = add.Task.ID
	}
	err := e.add(ctx, adds)
	for i, j := range at {
		if err != nil { // adds may not be done with
			results[j].Err = err
			continue
		}
		switch a := &adds[i]; {
		case a.Err != nil:
			results[j].ID, results[j].Err = a.Existing, a.Err
		case !a.Existing.IsZero():
			results[j].ID, results[j].Existing = a.Existing, true
		default:
			*tasks[j] = *a.Task
		}
	}
	if e.options.Tracer != nil {
		e.options.Tracer.Added(ctx, tasks, results)
	}
	return results
}

// add commits the tasks of one request; their Err and Existing are set when it
// returns nil.
func (e *Engine) add(ctx context.Context, adds []store.Add) error {
	if len(adds) == 0 {
		return nil
	}
	return e.do(ctx, &op{adds: adds})
}

// Check says what is wrong with a task, as Add would, without adding it. It
// leaves the task as it is. It does not see what only the store knows, such as
// a key that exists.
func (e *Engine) Check(t *bellman.Task) error {
	_, err := e.accept(t, e.clock.now())
	return err
}

// running waits until the engine runs; it returns why it does not, or nil.
func (e *Engine) running(ctx context.Context) error {
	select {
	case <-e.started:
	case <-ctx.Done():
		return fmt.Errorf("the engine has not started: %w", context.Cause(ctx))
	}
	if e.stopping.Load() {
		return bellman.ErrClosed
	}
	return nil
}

// intake returns why nothing is taken in now, or nil.
func (e *Engine) intake(ctx context.Context) error {
	if err := e.running(ctx); err != nil {
		return err
	}
	if e.overloaded.Load() {
		return bellman.ErrOverloaded
	}
	return nil
}

// accept checks a task, and fills in what its queue and the engine decide, in a copy:
// what was given says what was asked for, to whoever hands it in again.
func (e *Engine) accept(given *bellman.Task, now time.Time) (store.Add, error) {
	var invalid bellman.Invalid
	q, ok := e.queue(given.Queue)
	if !ok {
		invalid.Add("queue", fmt.Sprintf("there is no queue %.128q: %s", given.Queue, e.wantQueue()))
		return store.Add{}, invalid.Err()
	}
	t := new(bellman.Task)
	*t = *given
	missing := t.Inherited // of one that was looked at before
	if t.Schedule == "" {
		t.Schedule, missing = q.Schedule, missing|bellman.InheritedSchedule
	}
	if t.Success == "" {
		t.Success, missing = q.Success, missing|bellman.InheritedSuccess
	}
	if t.Timeout == 0 {
		t.Timeout, missing = q.Timeout, missing|bellman.InheritedTimeout
	}
	e.inherit(&q, t, missing)
	if t.MaxAge == 0 {
		t.MaxAge = q.MaxAge
	}
	s, err := e.schedules.Parse(t.Schedule)
	if err != nil {
		invalid.Add("schedule", err.Error())
	}
	if t.Timeout < time.Millisecond || t.Timeout > maxTimeout {
		invalid.Add("timeout", fmt.Sprintf("%v is out of range: want 1ms to %v", t.Timeout, maxTimeout))
	}
	if t.MaxAge < 0 || t.MaxAge > maxAhead {
		invalid.Add("max_age", fmt.Sprintf("%v is out of range: want 0s to 87600h", t.MaxAge))
	}
	if t.Repeat != "" {
		if _, err := schedule.ParseRepeat(t.Repeat); err != nil {
			invalid.Add("repeat", err.Error())
		}
	}
	switch {
	case t.OrderingKey != "" && t.Repeat != "":
		invalid.Add("ordering_key", "is given, and repeat: give one of them, for those behind a task that repeats would wait for ever")
	case t.OrderingKey == "" && t.Supersedes:
		invalid.Add("supersedes", "is given without ordering_key, which says what is superseded")
	}
	began := now.Truncate(time.Millisecond)
	switch {
	case t.Delay != 0 && !t.StartAt.IsZero():
		invalid.Add("delay", "give due or delay, not both")
	case t.Delay > maxAhead:
		invalid.Add("delay", fmt.Sprintf("%v is out of range: want 0s to 87600h", t.Delay))
	case !t.StartAt.IsZero() && t.StartAt.Sub(now) > maxAhead:
		invalid.Add("due", "is more than ten years ahead")
	case t.StartAt.IsZero():
		began = roundUp(began.Add(delay(t, q)))
	case t.StartAt.After(now):
		began = roundUp(t.StartAt)
	}
	if t.Resume() != nil {
		e.checkResume(t, s, now, &invalid)
	}
	t.Status = bellman.Status{}
	if c, ok := q.Handler.(bellman.Checker); ok {
		if err := c.Check(t); err != nil {
			var more *bellman.Invalid
			if !errors.As(err, &more) {
				return store.Add{}, fmt.Errorf("check a task of queue %s: %w", t.Queue, err)
			}
			invalid.Fields = append(invalid.Fields, more.Fields...)
		}
	}
	if err := invalid.Err(); err != nil {
		return store.Add{}, err
	}
	add := store.Add{Task: t}
	if t.Key != "" { // the caller's own, or what the handler filled in
		asked := *given
		asked.Key = t.Key
		if q.Delay == 0 {
			asked.Delay = max(asked.Delay, 0) // now says no more than nothing does
		}
		add.Digest = asked.Digest()
	}
	e.enter(t, &q, s, began, now)
	return add, nil
}

// wantQueue says which queues there are, and names ten at most.
func (e *Engine) wantQueue() string {
	const most = 10
	names := slices.Sorted(maps.Keys(*e.queues.Load()))
	switch n := len(names); {
	case n == 0:
		return "there is none"
	case n == 1:
		return "want " + names[0]
	case n > most:
		return fmt.Sprintf("want one of %s and %d more", strings.Join(names[:most], ", "), n-most)
	default:
		return "want one of " + strings.Join(names, ", ")
	}
}

// delay is how long a task waits before its schedule begins: as it says itself,
// or as its queue does.
func delay(t *bellman.Task, q Queue) time.Duration {
	if t.Delay == 0 {
		return q.Delay
	}
	return max(t.Delay, 0)
}

// enter gives a checked task its id and its first status.
func (e *Engine) enter(t *bellman.Task, q *Queue, s *schedule.Schedule, began, now time.Time) {
	t.ID = bellman.NewID()
	due := began
	if first, over := s.Next(0, began, began, e.jitter()); over == "" {
		due = roundUp(first)
	}
	if !t.Due.IsZero() { // the latest, says the handler
		due = earlier(due, later(roundUp(t.Due), now.Truncate(time.Millisecond)))
	}
	made := 0
	if r := t.Resume(); r != nil {
		made, began = r.Attempts, begun(r)
		next, _ := s.Next(made, began, r.Last, 0)
		due = later(roundUp(next), now.Truncate(time.Millisecond))
		t.Origin = &bellman.Origin{CreatedBy: t.CreatedBy(), Trace: t.Trace()}
	}
	t.Status = bellman.Status{
		State:     bellman.Pending,
		Version:   1,
		Shard:     e.shardFor(t, q),
		Attempts:  int32(made),
		Step:      int32(made),
		Began:     began,
		Due:       due,
		VisibleAt: due,
		Updated:   now.Truncate(time.Millisecond),
	}
	t.Last = nil
}

// roundUp returns the first whole millisecond not before t: due times are kept
// in milliseconds, and cutting one would make it early.
func roundUp(t time.Time) time.Time {
	cut := t.Truncate(time.Millisecond)
	if cut.Before(t) {
		cut = cut.Add(time.Millisecond)
	}
	return cut
}
