package engine

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman/engine/internal/clock"
	"github.com/bellmanhq/bellman/internal/sleep"
)

// A ticker wakes the goroutine that watches the time (runner.tick).
type ticker struct {
	clock   *clock.Clock
	poke    sleep.Waker  // wakes it
	nextMs  atomic.Int64 // when it wakes by itself, Unix ms
	firedAt atomic.Int64 // when that goroutine last ran and could have started attempts, Unix ns of the wall clock; 0: not yet
}

func (t *ticker) init(c *clock.Clock) {
	t.clock, t.poke = c, sleep.NewWaker()
	t.nextMs.Store(noTime)
}

// signOfLife is the longest sleep. Gauges.Fired grows at least this often while attempts can start.
const signOfLife = 5 * time.Second

// sleepUntil waits until a time in Unix ms, for signOfLife at most, or until wakeBefore. noTime
// means no time of its own.
func (t *ticker) sleepUntil(ctx context.Context, ms int64) {
	t.nextMs.Store(ms)
	wait := signOfLife
	if ms != noTime {
		wait = min(t.clock.Until(time.UnixMilli(ms)), wait)
	}
	if wait > 0 {
		sleep.UntilWoken(ctx, wait, t.poke)
	}
	t.nextMs.Store(noTime)
}

// wakeBefore wakes the goroutine if it would sleep beyond a time in Unix ms.
func (t *ticker) wakeBefore(ms int64) {
	if ms >= t.nextMs.Load() {
		return
	}
	t.poke.Wake()
}
