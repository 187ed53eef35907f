// Package link keeps a connection to a broker: it makes one when a message is to be sent, and
// another when that one broke.
package link

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// A Link is a connection that is dialled at the first Get, and again at the first Get after it
// broke. Dial, Alive and Close are required; the zero value of the rest is ready. A Link is safe
// for concurrent use.
type Link[C any] struct {
	Dial  func(context.Context) (C, error)
	Alive func(C) bool
	Close func(C)

	mu      sync.Mutex
	now     C
	has     bool
	dialing chan struct{} // closed when a dial is over; nil: none is made
	failed  int
	err     error
	next    time.Time // not dialled before
	ended   bool
	dials   sync.WaitGroup
}

const (
	linkTimeout  = 10 * time.Second
	shortestWait = 50 * time.Millisecond
	longestWait  = 2 * time.Second
)

// Get returns the connection, and makes it if there is none. After a dial that
// failed it answers with its error for a moment: the schedule of what is sent says
// when to try again, and many tasks wait.
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
			go l.Close(l.now)
			l.now, l.has = none, false
		}
		if l.dialing == nil {
			if time.Now().Before(l.next) {
				defer l.mu.Unlock()
				return none, l.err
			}
			l.dialing = make(chan struct{})
			l.dials.Go(l.dial)
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
		wait := min(shortestWait<<min(l.failed, 10), longestWait)
		l.failed++
		l.err, l.next = err, time.Now().Add(wait/2+rand.N(wait/2+1))
	case l.ended:
		go l.Close(c)
	default:
		l.now, l.has, l.failed = c, true, 0
	}
}

// End closes the connection, and lets none be made any more.
func (l *Link[C]) End() {
	l.mu.Lock()
	l.ended = true
	c, has := l.now, l.has
	l.has = false
	l.mu.Unlock()
	if has {
		l.Close(c)
	}
	l.dials.Wait()
}
