package engine

import (
	"bytes"
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

// merge says what a task becomes after an attempt that was made for a status it
// no longer has: somebody changed it while the attempt was in flight. seen is the
// task as the attempt saw it, t as it is now. What was done by hand stands, and
// the attempt goes into the log; of its verdict counts what still means something:
//
//	ended by hand       → nothing: a decided task stays decided, and a Latecomer
//	                      says what follows all the same
//	its data was changed → nothing, for the verdict came of other data; the task
//	                      is attempted again, at once
//	begun anew          → if it goes on, data and follow-ups; else nothing, for all
//	                      of it was asked for again
//	moved to a due      → all, but for the due time
//	an attempt by hand  → all, for what the task goes back to; the attempt asked
//	                      for is still to come
//	to be settled       → all: this attempt was the one asked for
//
// counts says whether the verdict's data and follow-ups are kept. Those two go
// together always: a life that is kept in the data must not go on without what
// it set off, nor set it off twice.
func merge(t, seen *bellman.Task, a *bellman.Attempt, v *bellman.Verdict, s *schedule.Schedule, jitter float64) (st bellman.Status, counts bool) {
	logged := logOnly(t, a)
	switch {
	case t.State.Ended() || endedSince(t, seen):
		return logged, false
	case !bytes.Equal(t.Data, seen.Data):
		if t.Due.Equal(seen.Due) {
			logged.Due = logged.Updated
			logged.VisibleAt = logged.Due
		}
		return logged, false
	}
	asked := t.Trigger != seen.Trigger || !t.Due.Equal(seen.Due)
	if asked && t.Trigger == bellman.ByHand && t.Before == nil {
		if v.Next != bellman.Again {
			return logged, false
		}
		if v.Data != nil {
			logged.Data = v.Data
		}
		return logged, true
	}

	under := *t // what the attempt in flight was one of
	under.Status = underlying(t.Status)
	verdict := *v
	if seen.Before != nil {
		under.Before = t.Before
	} else if !under.Due.Equal(seen.Due) {
		verdict.Due = under.Due
	}
	st = advance(&under, a, &verdict, s, jitter)
	st.Attempts = logged.Attempts
	st.Updated = logged.Updated
	if asked && t.Trigger == bellman.ByHand {
		st.Before = &bellman.Before{State: st.State, Reason: st.Reason, Due: st.Due, Finished: st.Finished}
		st.State, st.Reason, st.Finished = t.State, t.Reason, t.Finished
		st.Due, st.VisibleAt, st.Phase, st.Trigger = t.Due, t.VisibleAt, logged.Phase, t.Trigger
	}
	return st, true
}

// logOnly is what a task becomes when an attempt only goes into its log. If it was
// announced on disk, that is over.
func logOnly(t *bellman.Task, a *bellman.Attempt) bellman.Status {
	st := t.Status
	st.Attempts = max(t.Attempts, int32(a.Number))
	st.Updated = later(st.Updated, roundUp(a.Started.Add(a.Took)))
	if st.InDoubt() {
		st.Phase = bellman.Waiting
	}
	return st
}

// beneath is a status as it would be if no attempt had been asked for by hand.
func underlying(st bellman.Status) bellman.Status {
	b := st.Before
	if b == nil {
		return st
	}
	st.State, st.Reason, st.Finished = b.State, b.Reason, b.Finished
	st.Due, st.VisibleAt = b.Due, b.Due
	st.Phase, st.Trigger = bellman.Waiting, bellman.BySchedule
	st.Before = nil
	return st
}

// endedSince reports whether a task that waits for an attempt by hand ended
// after seen.
func endedSince(t, seen *bellman.Task) bool {
	if t.Before == nil || !t.Before.State.Ended() {
		return false
	}
	b := seen.Before
	return b == nil || b.State != t.Before.State || !b.Finished.Equal(t.Before.Finished)
}
