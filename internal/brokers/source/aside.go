package source

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// triesBefore is how often a batch is tried again, within two or three seconds, before it is
	// set aside.
	triesBefore = 5

	// longTurn is how long tasks with an ordering key wait for those of earlier batches before they
	// are set aside too.
	longTurn = 3 * time.Second

	// maxAside is the largest number of messages set aside. Beyond it a batch holds back others.
	maxAside = 4 * BatchMost
)

// errBehind says that a batch has waited for earlier ones for longTurn.
var errBehind = errors.New("earlier messages are not stored yet")

// An aside goes on with batches that cannot be stored for a while: a check of their messages fails
// again and again, say. Other messages do not wait for them. It lasts as long as its session: a
// pause does not wait for it either.
type aside struct {
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	on     atomic.Int64 // messages

	// passing are those of all batches of the session, in the order in which they came, see
	// batch.passed: after a pause a batch still waits for earlier ones that were set aside. With
	// takers.turn.
	passing []chan struct{}
}

// newAside returns an aside that goes on after ctx ended, until cancel.
func newAside(ctx context.Context) *aside {
	a := new(aside)
	a.ctx, a.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return a
}

// take goes on with the messages of b that are neither stored nor dead letters, and leaves b empty.
// It returns false if a is nil, or has too many messages.
func (a *aside) take(b *batch) bool {
	if a == nil {
		return false
	}
	n := len(b.left) + len(b.tasks)
	if a.on.Add(int64(n)) > maxAside {
		a.on.Add(int64(-n))
		return false
	}
	moved := *b
	moved.gone = len(b.messages) - n
	b.source.figures.taken(-moved.gone)
	*b = batch{source: b.source, session: b.session, letters: b.letters}
	a.work.Go(func() {
		defer a.on.Add(int64(-n))
		moved.finish(a.ctx, nil) // its error is that of a session that broke, which Done reports too
	})
	return true
}

// settle waits until nothing is set aside, or late is closed. It reports whether nothing is.
func (a *aside) settle(late <-chan struct{}) bool {
	settled := make(chan struct{})
	go func() {
		a.work.Wait()
		close(settled)
	}()
	select {
	case <-settled:
		return true
	case <-late:
		return false
	}
}
