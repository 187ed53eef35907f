// Package alerts calls the functions that report alerts of orders and polls.
package alerts

import (
	"log/slog"
	"runtime/debug"

	"github.com/bellmanhq/bellman"
)

// Guard returns own, or a function that reports alerts and adds no task if own is nil or panics.
func Guard[A any](own func(*bellman.Task, A) []bellman.Task, log *slog.Logger, report func(*bellman.Task, A)) func(*bellman.Task, A) []bellman.Task {
	return func(t *bellman.Task, a A) (told []bellman.Task) {
		if own == nil {
			report(t, a)
			return nil
		}
		defer func() {
			if p := recover(); p != nil {
				log.Error("handler panicked", "task", t.ID, "queue", t.Queue, "err", p, "stack", string(debug.Stack()))
				report(t, a)
			}
		}()
		return own(t, a)
	}
}
