package engine

import (
	"cmp"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/schedule"
)

// Why tasks end, where no handler says.
const (
	reasonAccepted = "accepted"
	reasonGaveUp   = "gave_up"
	reasonUsedUp   = "attempts_used_up"
	reasonMaxAge   = "max_age"
)

// advance says what a task becomes after an attempt that was made for the
// status it still has.
//
//	accepted        → succeeded
//	no use          → failed, gave_up
//	again           → pending, due at the start of this attempt + the schedule's
//	                  gap, never before the attempt ended
//	…, schedule out → failed, attempts_used_up or max_age
//	again, at a due → pending, due then, never before the attempt ended; neither
//	                  schedule nor age ends it
//	ended, repeats  → pending, a new beginning
//
// An attempt made by hand, once, moves nothing of this unless it is accepted, or
// a task that goes on is to be attempted again at a due of the verdict's: the task
// goes back to what it was before. What a handler keeps in its data it keeps.
func advance(t *bellman.Task, a *bellman.Attempt, v *bellman.Verdict, s *schedule.Schedule, jitter float64) bellman.Status {
	ended := roundUp(a.Started.Add(a.Took))
	st := t.Status
	st.Attempts = int32(a.Number)
	st.Updated = ended
	st.Phase, st.Trigger = bellman.Waiting, bellman.BySchedule
	st.Before = nil
	if v.Data != nil {
		st.Data = v.Data
	}
	before := t.Before
	switch {
	case v.Next == bellman.Succeed:
		return finish(st, t, bellman.Succeeded, cmp.Or(v.Reason, reasonAccepted), a)
	case before != nil && before.State.Ended():
		st.State, st.Reason, st.Finished = before.State, before.Reason, before.Finished
		st.Due, st.VisibleAt = before.Due, before.Due
		return st
	case v.Next == bellman.GiveUp:
		return finish(st, t, bellman.Failed, cmp.Or(v.Reason, reasonGaveUp), a)
	case !v.Due.IsZero():
		st.Step++
		st.Due = later(roundUp(v.Due.UTC()), ended)
		st.VisibleAt = st.Due
		return st
	case before != nil:
		st.Due, st.VisibleAt = before.Due, before.Due
		return st
	}
	st.Step++
	due, over := s.Next(int(st.Step), st.Began, a.Started, jitter)
	if over != "" {
		return finish(st, t, bellman.Failed, string(over), a)
	}
	due = later(due, ended)
	if v.RetryAfter > 0 {
		due = later(due, earlier(ended.Add(v.RetryAfter), twoGaps(s, int(st.Step), st.Began, due)))
	}
	due = roundUp(due)
	if t.MaxAge > 0 && due.Sub(st.Began) > t.MaxAge {
		return finish(st, t, bellman.Failed, reasonMaxAge, a)
	}
	st.Due, st.VisibleAt = due, due
	return st
}

// twoGaps returns how late an answer's Retry-After can make the attempt that
// the schedule has at due: no later than the attempt after it would be.
func twoGaps(s *schedule.Schedule, step int, began, due time.Time) time.Time {
	if after, over := s.Next(step+1, began, due, 0); over == "" {
		return after
	}
	return due
}

// finish ends a task, or begins it again if it repeats.
func finish(st bellman.Status, t *bellman.Task, state bellman.State, reason string, a *bellman.Attempt) bellman.Status {
	if t.Repeat != "" {
		if r, err := schedule.ParseRepeat(t.Repeat); err == nil {
			due := roundUp(later(r.Next(a.Started), st.Updated))
			st.State, st.Reason, st.Finished = bellman.Pending, "", time.Time{}
			st.Step, st.Began, st.Due, st.VisibleAt = 0, due, due, due
			return st
		}
	}
	return end(st, state, reason, st.Updated)
}

// end is the status of a task that is over.
func end(st bellman.Status, state bellman.State, reason string, now time.Time) bellman.Status {
	st.State, st.Reason = state, reason
	st.Before = nil
	st.Phase, st.Trigger = bellman.Waiting, bellman.BySchedule
	st.Due, st.VisibleAt = time.Time{}, time.Time{}
	st.Updated, st.Finished = now, now
	return st
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
