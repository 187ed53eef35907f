// Package sleep is for goroutines that wait: for a time, or until another one wakes them.
package sleep

import (
	"context"
	"time"
)

// For waits for d, or until ctx ends. It reports whether it waited for all of d.
func For(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// UntilWoken waits for a signal from wake, for most at the longest, or until ctx ends. With a nil wake
// there is no signal.
func UntilWoken(ctx context.Context, most time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-wake:
	}
}

// Pauses of Retry: the first, and the longest.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = 2 * time.Second
)

// Retry calls f until it returns true, with growing pauses. It returns false if ctx ends first. f
// is called at least once.
func Retry(ctx context.Context, f func() bool) bool {
	for pause := firstPause; !f(); pause = min(2*pause, lastPause) {
		if ctx.Err() != nil {
			return false
		}
		For(ctx, pause)
	}
	return true
}
