// Package link keeps a connection to a broker: it dials when a message is to be sent, and dials
// again after the connection broke.
package link

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

// A Link is a connection that is dialled at the first Get, and at the first Get after it broke.
// Dial, Alive and Close are required; the zero value of the rest is ready. A Link is safe for
// concurrent use.
type Link[C any] struct {
	Dial  func(context.Context) (C, error)
	Alive func(C) bool
	Close func(C)

	mu      sync.Mutex
	now     C
	has     bool
	since   time.Time     // when now was dialled
	dialing chan struct{} // closed when the dial has ended; nil: no dial is under way
	failed  int           // failures in a row: dials, and connections that broke at once
	err     error         // the last failure
	next    time.Time     // no dial starts before
	ended   bool
	tasks   sync.WaitGroup // dials, and closing of broken connections
}

const (
	linkTimeout  = 10 * time.Second
	shortestWait = 50 * time.Millisecond
	longestWait  = 2 * time.Second // also the age from which a connection that breaks is no failure
)

var errBroke = errors.New("the connection to the broker broke right after it was made")

// Get returns the connection, and dials if there is none. For a moment after a failure it returns
// that error without a dial: many tasks wait, and their schedules say when to try again.
func (l *Link[C]) Get(ctx context.Context) (C, error) {
	for {
		l.mu.Lock()
		var none C
		switch {
		case l.ended:
			l.mu.Unlock()
			return none, context.Canceled
		case l.has && l.Alive(l.now):
			defer l.mu.Unlock()
			return l.now, nil
		case l.has:
			broken := l.now
			l.tasks.Go(func() { l.Close(broken) })
			l.now, l.has = none, false
			if time.Since(l.since) < longestWait {
				l.fail(errBroke)
			}
		}
		if l.dialing == nil {
			if time.Now().Before(l.next) {
				defer l.mu.Unlock()
				return none, l.err
			}
			l.dialing = make(chan struct{})
			l.tasks.Go(l.dial)
		}
		over := l.dialing
		l.mu.Unlock()
		select {
		case <-over:
		case <-ctx.Done():
			return none, ctx.Err()
		}
	}
}

func (l *Link[C]) dial() {
	ctx, cancel := context.WithTimeout(context.Background(), linkTimeout)
	defer cancel()
	c, err := l.Dial(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.dialing)
	l.dialing = nil
	switch {
	case err != nil:
		l.fail(err)
	case l.ended:
		l.tasks.Go(func() { l.Close(c) })
	default:
		l.now, l.has, l.since = c, true, time.Now()
	}
}

// fail notes a failure: the more in a row, the longer until the next dial. A failure long after the
// one before is the first of a row. The caller holds mu.
func (l *Link[C]) fail(err error) {
	if time.Since(l.next) > 2*longestWait+linkTimeout {
		l.failed = 0
	}
	wait := min(shortestWait<<min(l.failed, 10), longestWait)
	l.failed++
	l.err, l.next = err, time.Now().Add(wait/2+rand.N(wait/2+1))
}

// End closes the connection and returns when nothing of the link runs. No connection is made
// afterwards.
func (l *Link[C]) End() {
	l.mu.Lock()
	l.ended = true
	c, has := l.now, l.has
	l.has = false
	l.mu.Unlock()
	if has {
		l.Close(c)
	}
	l.tasks.Wait()
}
