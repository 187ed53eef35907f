package engine

import (
	"time"

	"github.com/bellmanhq/bellman"
)

// An Observer receives events for metrics. Its methods are called concurrently on hot paths and
// must return at once.
type Observer interface {
	// Attempted reports a committed attempt.
	Attempted(queue string, result bellman.Result, lateness, took time.Duration)
	// Added reports n committed new tasks of a queue.
	Added(queue string, n int)
	// Ended reports a task that reached an end state.
	Ended(queue string, state bellman.State)
	// Committed reports a group commit: its rows and its duration.
	Committed(operations int, took time.Duration)
}
