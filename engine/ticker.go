package engine

import (
	"context"
	"sync/atomic"
	"time"
)

// A ticker is when the goroutine that watches the time (Engine.tick) comes round again.
type ticker struct {
	clock   *clock
	poke    chan struct{} // wakes it
	nextMs  atomic.Int64  // when it wakes by itself
	firedAt atomic.Int64  // when it last came round and could have started attempts, Unix ns of the wall clock; 0: not yet
}

func newTicker(c *clock) *ticker {
	t := &ticker{clock: c, poke: make(chan struct{}, 1)}
	t.nextMs.Store(noTime)
	return t
}

// signOfLife is how long the ticker sleeps at most: what watches Gauges.Fired
// from outside learns within a multiple of it that nothing is fired any more.
const signOfLife = 5 * time.Second

// sleepUntil waits until a time in Unix ms (noTime: without end), for signOfLife
// at most, or until the ticker is wanted earlier.
func (t *ticker) sleepUntil(ctx context.Context, ms int64) {
	t.nextMs.Store(ms)
	wait := signOfLife
	if ms != noTime {
		wait = min(t.clock.until(time.UnixMilli(ms)), wait)
	}
	if wait > 0 {
		nap(ctx, wait, t.poke)
	}
	t.nextMs.Store(noTime)
}

// wakeBefore wakes the ticker if it sleeps beyond a time in Unix ms.
func (t *ticker) wakeBefore(ms int64) {
	if ms >= t.nextMs.Load() {
		return
	}
	select {
	case t.poke <- struct{}{}:
	default:
	}
}
