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
