package pebble

import (
	"time"

	"github.com/bellmanhq/bellman/internal/pack"
)

// milli returns t in Unix milliseconds, and 0 for the zero time.
func milli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// cut returns t as the store returns it: whole milliseconds, UTC.
func cut(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return pack.FromMilli(t.UnixMilli())
}
