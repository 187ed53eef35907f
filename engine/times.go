package engine

import (
	"time"

	"github.com/bellmanhq/bellman"
)

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

// beginAt moves the start of a schedule without attempts to now, if it is earlier.
func beginAt(st *bellman.Status, now time.Time) {
	if st.Step == 0 && st.Attempts == 0 {
		st.Began = later(st.Began, now.Truncate(time.Millisecond))
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
