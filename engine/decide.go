package engine

import (
	"bytes"
	"cmp"
	"fmt"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/schedule"
)

// Reasons of an end, if the handler gives none.
const (
	reasonAccepted = "accepted"
	reasonGaveUp   = "gave_up"
)

// fits rejects more Data than a store may be able to write. Its commit would be repeated for ever.
func fits(v *bellman.Verdict) error {
	if len(v.Data) > bellman.MaxData {
		return fmt.Errorf("the handler returned %d bytes of Data: want at most %d", len(v.Data), bellman.MaxData)
	}
	return nil
}

// advance returns the new status of a task after an attempt, if nobody changed the task meanwhile.
//
//	accepted        → succeeded
//	give up         → failed, gave_up
//	again           → pending, due at the start of this attempt + the schedule's
//	                  gap, never before the attempt ended
//	…, schedule out → failed, attempts_used_up or max_age
//	again, at a due → pending, due then, never before the attempt ended; neither
//	                  schedule nor age ends it
//	ended, repeats  → pending, the schedule starts again; not if it had
//	                  ended before a manual attempt
//
// A manual attempt changes the status only if it is accepted, or if the verdict of a task that has
// not ended gives a due time. Otherwise the task returns to its former status. Data of the verdict
// is kept in any case.
func advance(t *bellman.Task, a *bellman.Attempt, v *bellman.Verdict, s *schedule.Schedule, jitter float64) bellman.Status {
	ended := roundUp(a.Started.Add(a.Took))
	st := t.Status
	st.Attempts = int32(a.Number)
	st.Updated = ended
	st.Phase, st.Trigger = bellman.Waiting, bellman.BySchedule
	st.Before, st.WasDue = nil, 0
	if v.Data != nil {
		st.Data = v.Data
	}
	before := t.Before
	switch {
	case v.Next == bellman.Succeed && before != nil && before.State.Ended(): // even if it repeats: it had been cancelled
		return end(st, bellman.Succeeded, cmp.Or(v.Reason, reasonAccepted), st.Updated)
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
		st.Due = dueBy(v.Due, ended)
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
		due = later(due, earlier(ended.Add(v.RetryAfter), latestAgain(t, s, &st, due)))
	}
	due = roundUp(due)
	if t.MaxAge > 0 && due.Sub(st.Began) > t.MaxAge {
		return finish(st, t, bellman.Failed, string(schedule.MaxAge), a)
	}
	st.Due, st.VisibleAt = due, due
	return st
}

// latestAgain returns the latest time to which Retry-After can delay the attempt at due: the time
// of the attempt after it, or the end of the task's MaxAge. A wish of the endpoint must not end the
// task.
func latestAgain(t *bellman.Task, s *schedule.Schedule, st *bellman.Status, due time.Time) time.Time {
	latest, over := s.Next(int(st.Step)+1, st.Began, due, 0)
	if over != "" {
		return due
	}
	if t.MaxAge > 0 {
		latest = earlier(latest, st.Began.Add(t.MaxAge.Truncate(time.Millisecond)))
	}
	return latest
}

// finish ends a task, or starts its next round if it repeats.
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

// end returns the status of an ended task. It cuts the reason, which may be a handler's.
func end(st bellman.Status, state bellman.State, reason string, now time.Time) bellman.Status {
	st.State, st.Reason = state, truncate(reason, bellman.MaxResponse)
	st.Before, st.WasDue = nil, 0
	st.Phase, st.Trigger = bellman.Waiting, bellman.BySchedule
	st.Due, st.VisibleAt = time.Time{}, time.Time{}
	st.Updated, st.Finished = now, now
	return st
}

// merge returns the new status after an attempt whose task was changed meanwhile. seen is the task
// when the attempt began, t the task now. The change stands, and the attempt goes into the log. The
// verdict counts as far as it still applies:
//
//	ended by a caller    → not at all: a decided task stays decided. A Latecomer decides what follows
//	data was changed     → not at all, because it is about other data; the next attempt is due now
//	schedule restarted   → if the task goes on, data and follow-ups; otherwise not at all
//	next round begun     → data and follow-ups: the attempt belongs to the round before
//	moved to a due time  → fully, except the due time
//	manual attempt asked → fully, for the status under it; the manual attempt is still to come
//	settle asked         → fully: this attempt was the one asked for
//
// counts means that the verdict's data and follow-ups are kept. The two always go together: data
// without its follow-ups would lose work, follow-ups without data would repeat it.
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
	if t.Repeat != "" && t.Began.UnixMilli() != seen.Began.UnixMilli() { // stores keep milliseconds
		if v.Data != nil {
			logged.Data = v.Data
		}
		return logged, true
	}

	under := *t // the task as if no manual attempt were pending
	under.Status = underlying(t.Status)
	verdict := *v
	if seen.Before != nil {
		under.Before = t.Before
	} else if !under.Due.Equal(seen.Due) {
		verdict.Due = under.Due
	}
	st = advance(&under, a, &verdict, s, jitter)
	st.Updated = logged.Updated
	if asked && t.Trigger == bellman.ByHand {
		st.Before = &bellman.Before{State: st.State, Reason: st.Reason, Due: st.Due, Finished: st.Finished}
		st.State, st.Reason, st.Finished = t.State, t.Reason, t.Finished
		st.Due, st.VisibleAt, st.Phase, st.Trigger = t.Due, t.VisibleAt, logged.Phase, t.Trigger
	}
	return st, true
}

// logOnly returns the status after an attempt that only goes into the log. An announcement or a
// handover is over then.
func logOnly(t *bellman.Task, a *bellman.Attempt) bellman.Status {
	st := t.Status
	st.Attempts = int32(a.Number)
	st.Updated = later(st.Updated, roundUp(a.Started.Add(a.Took)))
	st.WasDue = 0
	if st.InDoubt() {
		st.Phase = bellman.Waiting
	}
	return st
}

// underlying returns the status that a task would have without its pending manual attempt.
func underlying(st bellman.Status) bellman.Status {
	b := st.Before
	if b == nil {
		return st
	}
	st.State, st.Reason, st.Finished = b.State, b.Reason, b.Finished
	st.Due, st.VisibleAt = b.Due, b.Due
	st.Phase, st.Trigger = bellman.Waiting, bellman.BySchedule
	st.Before, st.WasDue = nil, 0
	return st
}

// endedSince reports whether a task with a pending manual attempt ended after seen.
func endedSince(t, seen *bellman.Task) bool {
	if t.Before == nil || !t.Before.State.Ended() {
		return false
	}
	b := seen.Before
	return b == nil || b.State != t.Before.State || !b.Finished.Equal(t.Before.Finished)
}
