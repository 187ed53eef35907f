package clock

import (
	"testing"
	"testing/synctest"
	"time"
)

func always(time.Duration) bool { return true }

// The wall clock is set ahead or back. The engine's clock neither stops nor runs backwards, changes
// a gap by at most a tenth, and catches up in the end.
func TestClockStep(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour, 20 * time.Millisecond, -20 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			var off time.Duration
			c := New(func() time.Time { return time.Now().Add(off) })
			if got := c.Now(); !got.Equal(time.Now()) {
				t.Fatalf("now %v; want the wall clock's", got)
			}
			off = step
			last := c.Now()
			for i := range 12 * 3600 {
				c.Follow(time.Second, always)
				time.Sleep(time.Second)
				now := c.Now()
				if gap := now.Sub(last); gap < 900*time.Millisecond || gap > 1100*time.Millisecond {
					t.Fatalf("step %v: second %d took %v", step, i, gap)
				}
				last = now
			}
			if diff := time.Now().Add(off).Sub(c.Now()); diff.Abs() > time.Millisecond {
				t.Errorf("step %v: the clocks differ by %v after 12 h; want 0", step, diff)
			}
		})
	}
}

// Nobody calls Follow for an hour. The clock gains only what it should by the next call, and then
// runs at normal speed.
func TestClockLeftAlone(t *testing.T) {
	for _, step := range []time.Duration{50 * time.Millisecond, -50 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			var off time.Duration
			c := New(func() time.Time { return time.Now().Add(off) })
			off = step
			c.Follow(time.Second, always)
			want := c.Now().Add(time.Hour)
			time.Sleep(c.Until(want))
			if late := c.Now().Sub(want); late < 0 || late > time.Microsecond {
				t.Errorf("step %v: a sleep of an hour ended %v late by the clock; want 0", step, late)
			}
			if diff := time.Now().Add(off).Sub(c.Now()); diff.Abs() > time.Microsecond {
				t.Errorf("step %v: the clocks differ by %v after an hour without Follow; want 0", step, diff)
			}
		})
	}
}

// Until is exact: after a sleep of that duration the clock shows at least the requested time.
func TestClockUntil(t *testing.T) {
	for _, step := range []time.Duration{0, time.Hour, -time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			c := New(func() time.Time { return time.Now().Add(step) })
			c.Follow(time.Second, always)
			want := c.Now().Add(700 * time.Millisecond)
			time.Sleep(c.Until(want))
			if late := c.Now().Sub(want); late < 0 || late > time.Microsecond {
				t.Errorf("step %v: the sleep ended %v late by the clock; want 0", step, late)
			}
		})
	}
}

// If the process is interrupted around a reading of the wall clock, the reading is less certain.
// The clock must not be ahead of the wall clock for that, because no attempt may be early.
func TestClockIsReadOnABusyMachine(t *testing.T) {
	for _, busy := range []struct {
		name          string
		before, after time.Duration
	}{
		{"before the reading", 300 * time.Millisecond, 0},
		{"after it", 0, 300 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := New(func() time.Time {
				time.Sleep(busy.before)
				defer time.Sleep(busy.after)
				return time.Now()
			})
			for i := range 20 {
				if ahead := time.Until(c.Now()); ahead > 0 {
					t.Fatalf("busy %s: the clock is %v ahead of the wall clock after %d s; want it never ahead", busy.name, ahead, i)
				}
				c.Follow(time.Second, always)
				time.Sleep(time.Second)
			}
		})
	}
}
