package engine

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/engine/internal/clock"
	"github.com/bellmanhq/bellman/engine/internal/locks"
)

// An Event is a committed change of a task. Changes of one task at nearly the same time may come in
// either order: the higher Version is the newer.
type Event struct {
	Task    *bellman.Task    // the new version, without Last; shared, do not modify it
	Attempt *bellman.Attempt // the attempt that caused the change; nil if none did
	Added   bool             // the task is new
}

// A watch reports committed changes to the observer, to subscribers and to the history of figures.
type watch struct {
	observer Observer // may be nil
	clock    *clock.Clock

	mu          locks.Mutex
	subscribers []chan Event
	listened    atomic.Bool // there are subscribers
	closed      bool

	history *figures.History
	health  figures.Health
}

func newWatch(o Observer, c *clock.Clock) *watch {
	now := c.Now()
	w := &watch{observer: o, clock: c, history: figures.NewHistory(now)}
	locks.Name(&w.mu, "watch")
	return w
}

// subscribe returns the changes from now on, until cancel or close closes the channel. Events that
// find the buffer full are lost for this subscriber.
func (w *watch) subscribe(buffer int) (events <-chan Event, cancel func()) {
	ch := make(chan Event, max(buffer, 1))
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		close(ch)
		return ch, func() {}
	}
	w.subscribers = append(w.subscribers, ch)
	w.listened.Store(true)
	return ch, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if i := slices.Index(w.subscribers, ch); i >= 0 {
			w.subscribers = slices.Delete(w.subscribers, i, i+1)
			w.listened.Store(len(w.subscribers) > 0)
			close(ch)
		}
	}
}

func (w *watch) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for _, ch := range w.subscribers {
		close(ch)
	}
	w.subscribers = nil
	w.listened.Store(false)
}

// tell sends an event to each subscriber whose buffer has room.
func (w *watch) tell(ev Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ch := range w.subscribers {
		select {
		case ch <- ev:
		default:
		}
	}
}

// added reports a committed new task.
func (w *watch) added(t *bellman.Task) {
	w.history.Added(w.clock.Now(), t.Queue)
	if w.observer != nil {
		w.observer.Added(t.Queue, 1)
	}
	if w.listened.Load() {
		w.tell(Event{Task: copied(t, t.Status), Added: true})
	}
}

// attempted reports a committed attempt.
func (w *watch) attempted(f *flight) {
	a, to := &f.attempt, &f.change.To
	ended := to.State
	if was := underlying(f.task.Status); was.State == to.State && was.Finished.Equal(to.Finished) {
		ended = bellman.Pending // this attempt did not end the task: it had ended in the same way before
	}
	now, counted := w.clock.Now(), ended
	if ended == bellman.Failed && f.verdict.Minor {
		counted = bellman.Pending
	}
	w.history.Attempted(now, f.task.Queue, a, counted)
	merchantNo := ""
	if f.routed {
		merchantNo = f.task.MerchantNo
	}
	endpoint := cmp.Or(goes(f.task, &f.route), f.task.Queue)
	if f.verdict.Unsent {
		endpoint = "" // nothing was sent to it
	}
	w.health.Attempted(now, endpoint, merchantNo, f.task.ID, a)
	if w.observer != nil {
		w.observer.Attempted(f.task.Queue, a.Result, a.Lateness(), a.Took)
		if ended.Ended() {
			w.observer.Ended(f.task.Queue, ended)
		}
	}
	if w.listened.Load() {
		attempt := *a
		w.tell(Event{Task: copied(f.task, *to), Attempt: &attempt})
	}
}

// changed reports a committed change that is no attempt. ended means that it ended the task.
func (w *watch) changed(t *bellman.Task, ended bool) {
	if ended {
		w.history.Ended(w.clock.Now(), t.Queue, t.State)
		if w.observer != nil {
			w.observer.Ended(t.Queue, t.State)
		}
	}
	if w.listened.Load() {
		w.tell(Event{Task: copied(t, t.Status)})
	}
}

// committed reports a transaction.
func (w *watch) committed(operations int, took time.Duration) {
	w.history.Committed(w.clock.Now(), took)
	if w.observer != nil {
		w.observer.Committed(operations, took)
	}
}
