package dispatch

import (
	"testing"
	"time"
)

// A changed rate applies at once, counted from the last attempt. Changing it to and fro does not
// allow an extra attempt.
func TestRateChanges(t *testing.T) {
	const second = int64(time.Second)
	var r rate
	r.set(1)
	r.set(1.0 / 3600)
	now := 100 * second
	if r.at() > now {
		t.Fatalf("before any attempt the first may go at %v; want at once", time.Duration(r.at()))
	}
	r.take(now)
	for _, tt := range []struct {
		perSecond float64
		next      time.Duration // after the last attempt
	}{{1.0 / 3600, time.Hour}, {10, 100 * time.Millisecond}, {1, time.Second}, {10, 100 * time.Millisecond}, {1.0 / 60, time.Minute}} {
		r.set(tt.perSecond)
		if got := time.Duration(r.at() - now); got != tt.next {
			t.Errorf("at a rate of %v the next attempt may start after %v; want %v", tt.perSecond, got, tt.next)
		}
	}
	r.set(0)
	if r.at() > now {
		t.Errorf("without a rate the next attempt may start at %v; want at once", time.Duration(r.at()))
	}
}
