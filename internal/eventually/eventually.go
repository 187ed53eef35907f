// Package eventually waits in tests for what must happen, however slow and busy the machine is.
package eventually

import (
	"testing"
	"time"
)

// Limit is how long a test waits.
const Limit = 5 * time.Minute

// True waits until met returns true, and fails the test after Limit. Call it on the test's
// goroutine.
func True(t testing.TB, what string, met func() bool) {
	t.Helper()
	if !Within(Limit, met) {
		t.Fatalf("after %v still not: %s", Limit, what)
	}
}

// Within waits until met returns true, and reports whether it did within a time.
func Within(limit time.Duration, met func() bool) bool {
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for end := time.Now().Add(limit); !met(); <-look.C {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}
