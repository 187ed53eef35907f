package engine

import (
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/schedule"
	"github.com/bellmanhq/bellman/store"
)

// otherClock is more than the clocks of two nodes may differ.
const otherClock = 2 * store.MaxSkew

// roundUp returns the first whole millisecond that is not before t. Due times are kept in
// milliseconds, and truncating one would make it early.
func roundUp(t time.Time) time.Time {
	cut := t.Truncate(time.Millisecond)
	if cut.Before(t) {
		cut = cut.Add(time.Millisecond)
	}
	return cut
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

// dueBy returns when a task is due whose handler gives a due time at a moment: at that moment or
// later, and in ten years at most. A later time has no form in JSON, and the latest times are
// shelves.
func dueBy(due, now time.Time) time.Time {
	return later(roundUp(earlier(due.UTC(), now.Add(schedule.MaxDuration))), now)
}

// beginAt moves the start of a schedule without attempts to now, if it is earlier.
func beginAt(st *bellman.Status, now time.Time) {
	if st.Step == 0 && st.Attempts == 0 {
		st.Began = later(st.Began, now.Truncate(time.Millisecond))
	}
}

// firstDue returns the earliest due time of a pending task since its last recorded attempt: a
// change may have moved Due, and a manual attempt has a due time of its own.
func firstDue(st *bellman.Status) time.Time {
	due := st.Due
	if b := st.Before; b != nil && !b.State.Ended() {
		due = earlier(due, b.Due)
	}
	if st.WasDue != 0 {
		due = earlier(due, time.Unix(int64(st.WasDue), 0))
	}
	return due
}

// noteDue notes in WasDue that an attempt of a pending task may be in flight, or may have been when
// a node died. Call it before Due is changed. Only the owner of the shard knows about both, and it
// may die before the next attempt.
func noteDue(st *bellman.Status, now time.Time) {
	if was := firstDue(st); !st.State.Ended() && was.Before(now.Add(otherClock)) {
		st.WasDue = uint32(was.Unix())
	}
}

// dueInTurn is when an attempt was allowed to start: waiting for the turn is not lateness.
func dueInTurn(t *bellman.Task, now time.Time) time.Time {
	if t.OrderingKey != "" && t.Step == 0 && t.Attempts == 0 && !t.Began.After(now) {
		return later(t.Due, t.Began)
	}
	return t.Due
}

// atNs converts a time in Unix ns; 0 gives the zero time.
func atNs(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}
