package sqlstore

import (
	"context"
	"sync"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// Loads of few tasks, each of which its attempt waits for, are put together.
const (
	loadFew    = 8 // a call for more goes alone
	loadAtOnce = 2 // statements at once for those that are put together
)

// loads puts calls of Load together: while statements are on their way, what is
// asked for gathers, and goes in one. There is no timer.
type loads struct {
	mu      sync.Mutex
	busy    int
	waiting []*loadCall
}

// A loadCall is a call that waits: for its tasks, or for its turn to read them
// with those of others that wait.
type loadCall struct {
	entries []store.Entry
	leads   bool          // it has the turn; held under loads.mu
	turn    chan struct{} // closed then
	done    chan struct{} // closed when the rest is set

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
	// Others wait for it too. A driver bounds how long it takes.
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

// take takes the calls that c reads for out of those that wait: its own, and those
// that have no turn.
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

// leave takes out a call that waits no longer, and passes its turn on.
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

// next gives the turn to a call that waits and has none; if there is none, one
// statement less is on its way.
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
