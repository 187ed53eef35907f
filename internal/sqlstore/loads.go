package sqlstore

import (
	"context"
	"sync"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// Small loads, which attempts wait for, are batched.
const (
	loadFew    = 8 // larger calls are not batched
	loadAtOnce = 2 // concurrent statements for batched calls
)

// loads batches calls of Load. While statements are in flight, new calls gather, and the next
// statement serves them all. There is no timer.
type loads struct {
	mu      sync.Mutex
	busy    int
	waiting []*loadCall
}

// A loadCall is a waiting call. It waits for its tasks, or for its turn to read tasks for the
// waiting calls.
type loadCall struct {
	entries []store.Entry
	leads   bool          // it has the turn; guarded by loads.mu
	turn    chan struct{} // closed when the call gets the turn
	done    chan struct{} // closed when the result is set

	tasks []*bellman.Task
	err   error
}

func (l *loads) join(ctx context.Context, entries []store.Entry, load func(context.Context, []store.Entry) ([]*bellman.Task, error)) ([]*bellman.Task, error) {
	c := &loadCall{entries: entries, turn: make(chan struct{}), done: make(chan struct{})}
	l.mu.Lock()
	l.waiting = append(l.waiting, c)
	if l.busy < loadAtOnce {
		l.busy++
		l.next()
	}
	l.mu.Unlock()
	select {
	case <-c.done:
		return c.tasks, c.err
	case <-c.turn:
	case <-ctx.Done():
		l.leave(c)
		return nil, ctx.Err()
	}
	batch, all := l.take(c)
	// Other calls wait for this read too, so it ignores this caller's cancellation. The driver
	// bounds its duration.
	tasks, err := load(context.WithoutCancel(ctx), all)
	for _, c := range batch {
		if c.err = err; err == nil {
			n := len(c.entries)
			c.tasks, tasks = tasks[:n:n], tasks[n:]
		}
		close(c.done)
	}
	l.mu.Lock()
	l.next()
	l.mu.Unlock()
	return c.tasks, c.err
}

// take removes from the waiting calls the call c and the calls without a turn. c reads for all of
// them.
func (l *loads) take(c *loadCall) (batch []*loadCall, all []store.Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var rest []*loadCall
	for _, w := range l.waiting {
		if w == c || !w.leads && len(all) < loadPage {
			batch, all = append(batch, w), append(all, w.entries...)
		} else {
			rest = append(rest, w)
		}
	}
	l.waiting = rest
	return batch, all
}

// leave removes a call that was cancelled and passes its turn on.
func (l *loads) leave(c *loadCall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.waiting {
		if l.waiting[i] == c {
			l.waiting = append(l.waiting[:i:i], l.waiting[i+1:]...)
			break
		}
	}
	if c.leads {
		l.next()
	}
}

// next gives the turn to a waiting call without a turn. If there is none, the number of statements
// in flight drops by one.
func (l *loads) next() {
	for _, c := range l.waiting {
		if !c.leads {
			c.leads = true
			close(c.turn)
			return
		}
	}
	l.busy--
}
