package engine

import (
	"context"
	"time"

	"github.com/bellmanhq/bellman"
)

// Wait returns a task as soon as it has ended; a task that repeats ends when it
// is cancelled. It returns the task as it is, with an error, when ctx ends
// first, and ErrNotFound when there is no such task. Waiting for thousands of
// tasks at once is better done with Subscribe.
func (m *Monitor) Wait(ctx context.Context, id bellman.ID) (*bellman.Task, error) {
	events, cancel := m.watch.subscribe(256)
	defer cancel()
	again := time.NewTicker(time.Second) // in case its event was lost
	defer again.Stop()
	for {
		t, err := m.store.Task(ctx, id)
		if err != nil || t.State.Ended() {
			return t, err
		}
		if err := m.untilChanged(ctx, id, events, again.C); err != nil {
			return t, err
		}
	}
}

// untilChanged returns nil when an event of a task, or a tick, says to look
// again.
func (m *Monitor) untilChanged(ctx context.Context, id bellman.ID, events <-chan Event, tick <-chan time.Time) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick:
			return nil
		case ev, ok := <-events:
			if !ok {
				return bellman.ErrClosed
			}
			if ev.Task.ID == id {
				return nil
			}
		}
	}
}
