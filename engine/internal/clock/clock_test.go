package clock

import (
	"testing"
	"testing/synctest"
	"time"
)

// A step of the wall clock, ahead or back, neither stops the clock nor turns it
// back, changes a gap by a tenth at most, and is made up for in the end.
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
				c.Follow(time.Second)
				time.Sleep(time.Second)
				now := c.Now()
				if gap := now.Sub(last); gap < 900*time.Millisecond || gap > 1100*time.Millisecond {
					t.Fatalf("step %v: second %d took %v", step, i, gap)
				}
				last = now
			}
			if diff := time.Now().Add(off).Sub(c.Now()); diff.Abs() > time.Millisecond {
				t.Errorf("step %v: %v apart after 12 h; want together", step, diff)
			}
		})
	}
}

// A clock that nobody makes follow is not carried away: it has gained what it should
// have by the next time, and then runs as real time does.
func TestClockLeftAlone(t *testing.T) {
	for _, step := range []time.Duration{50 * time.Millisecond, -50 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			var off time.Duration
			c := New(func() time.Time { return time.Now().Add(off) })
			off = step
			c.Follow(time.Second)
			want := c.Now().Add(time.Hour)
			time.Sleep(c.Until(want))
			if late := c.Now().Sub(want); late < 0 || late > time.Microsecond {
				t.Errorf("step %v: woke %v late after an hour; want it just then", step, late)
			}
			if diff := time.Now().Add(off).Sub(c.Now()); diff.Abs() > time.Microsecond {
				t.Errorf("step %v: %v apart after an hour in which the store did not answer; want together", step, diff)
			}
		})
	}
}

// until is exact: having slept so long, the clock says what was asked for, and
// not less.
func TestClockUntil(t *testing.T) {
	for _, step := range []time.Duration{0, time.Hour, -time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			c := New(func() time.Time { return time.Now().Add(step) })
			c.Follow(time.Second)
			want := c.Now().Add(700 * time.Millisecond)
			time.Sleep(c.Until(want))
			if late := c.Now().Sub(want); late < 0 || late > time.Microsecond {
				t.Errorf("step %v: woke %v late; want it just then", step, late)
			}
		})
	}
}

// Who is kept from running around a reading of the wall clock knows less of it, and
// is not ahead of it for that: nothing may be early.
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
					t.Fatalf("busy %s: %v ahead of the wall clock after %d s; want never", busy.name, ahead, i)
				}
				c.Follow(time.Second)
				time.Sleep(time.Second)
			}
		})
	}
}
