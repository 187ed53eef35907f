package engine

import (
	"time"

	"github.com/bellmanhq/bellman"
)

// An Observer is told what happens, for metrics. Its methods are called on hot
// paths, from many goroutines, and must return at once.
type Observer interface {
	// Attempted follows each attempt, when it is committed.
	Attempted(queue string, result bellman.Result, lateness, took time.Duration)
	// Added follows each commit that added tasks to a queue.
	Added(queue string, n int)
	// Ended follows each task that reached an end state.
	Ended(queue string, state bellman.State)
	// Committed follows each group commit.
	Committed(operations int, took time.Duration)
}
