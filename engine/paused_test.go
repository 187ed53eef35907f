package engine_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
)

// A machine was suspended for half a minute. Its node sees this by the wall clock, and attempts
// nothing until a heartbeat confirms that its shards are still its own.
func TestPausedMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCrew(t), newLedger()
		var paused atomic.Int64 // time.Duration
		c.wall = func() time.Time { return time.Now().Add(time.Duration(paused.Load())) }
		a := c.start("a", l.queue("a", 0))
		defer a.stop()
		time.Sleep(20*time.Second + 500*time.Millisecond)
		began := time.Now()
		for i := range 60 {
			add(t, a.Engine, &bellman.Task{Queue: "q", Delay: time.Duration(i) * 50 * time.Millisecond})
		}
		time.Sleep(520 * time.Millisecond)
		a.store.swallow.Store(1) // the next heartbeat is not answered
		paused.Store(int64(30 * time.Second))
		time.Sleep(10 * time.Second)
		made := 0
		l.mu.Lock()
		for _, times := range l.times {
			for _, at := range times {
				if after := at.Sub(began); after > 530*time.Millisecond && after < 1800*time.Millisecond {
					made++
				}
			}
		}
		n := len(l.times)
		l.mu.Unlock()
		if made > 0 || n != 60 {
			t.Errorf("%d attempts between the pause and the next answered heartbeat, and %d tasks attempted in all; want none, and 60", made, n)
		}
	})
}
