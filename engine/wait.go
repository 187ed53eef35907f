package engine

import (
	"context"
	"time"

	"github.com/bellmanhq/bellman"
)

// Wait returns a task as soon as it has ended. A task that repeats ends only when it is cancelled.
// If ctx ends first, Wait returns the task as it was last read, with an error; nil: it was not
// read. ErrNotFound: the task does not exist. ErrClosed: the engine or the store ended first.
// Another error is the store's. To wait for thousands of tasks use Subscribe.
func (m *Monitor) Wait(ctx context.Context, id bellman.ID) (*bellman.Task, error) {
	events, cancel := m.watch.subscribe(256)
	defer cancel()
	again := time.NewTicker(time.Second) // the event may be lost
	defer again.Stop()
	var last *bellman.Task
	for {
		t, err := m.store.Task(ctx, id)
		if err != nil {
			return last, err
		}
		if t.State.Ended() {
			return t, nil
		}
		last = t
		if err := m.untilChanged(ctx, id, events, again.C); err != nil {
			return t, err
		}
	}
}

// untilChanged returns nil after an event of the task, or after a tick.
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

// Subscribe returns a channel of events, as they are committed. Attempts and changes by callers are
// committed at the same time, so compare the Version of a task. buffer is how many events may wait
// in the channel; a slower subscriber loses events. cancel closes the channel, and so does the end
// of the engine.
func (m *Monitor) Subscribe(buffer int) (events <-chan Event, cancel func()) {
	return m.watch.subscribe(buffer)
}
