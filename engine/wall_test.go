package engine_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store/memory"
)

// The clock of a node's machine is set, and a task is due an hour later. The node goes by the
// store's clock: if that was set too, it follows both slowly, and otherwise neither, so the task is
// attempted on time.
func TestWallClockAgainstStore(t *testing.T) {
	for _, tt := range []struct {
		name        string
		wall, store time.Duration
		early       time.Duration // at least, by a clock that was not set; negative: late
	}{
		{"the machine's clock is an hour ahead", time.Hour, 0, 0},
		{"the machine's clock is an hour behind", -time.Hour, 0, 0},
		{"both are an hour ahead", time.Hour, time.Hour, 5 * time.Minute},
		{"both are an hour behind", -time.Hour, -time.Hour, -5 * time.Minute},
		{"the machine's clock is five seconds ahead", 5 * time.Second, 0, 5 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var wall, kept atomic.Int64
				s := memory.New()
				s.Clock = func() time.Time { return time.Now().Add(time.Duration(kept.Load())) }
				l := newLedger()
				c := newCrew(t)
				c.store, c.wall = s, func() time.Time { return time.Now().Add(time.Duration(wall.Load())) }
				a := c.start("a", l.queue("a", 0))
				defer a.stop()
				due := time.Now().Add(time.Hour)
				id := add(t, a.Engine, &bellman.Task{Queue: "q", StartAt: due})
				time.Sleep(10 * time.Second)
				wall.Store(int64(tt.wall))
				kept.Store(int64(tt.store))
				time.Sleep(2 * time.Hour)
				l.mu.Lock()
				times := l.times[id]
				l.mu.Unlock()
				if len(times) != 1 {
					t.Fatalf("%d attempts, want one", len(times))
				}
				early := due.Sub(times[0])
				if tt.early == 0 && early.Abs() > 10*time.Millisecond || tt.early > 0 && early < tt.early-10*time.Millisecond || tt.early < 0 && early > tt.early {
					t.Errorf("the attempt was %v early, want %v or more", early, tt.early)
				}
			})
		})
	}
}
