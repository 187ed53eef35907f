package engine

import (
	"bytes"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/schedule"
)

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
	under.Status = beneath(t.Status)
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
func beneath(st bellman.Status) bellman.Status {
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
