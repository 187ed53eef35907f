package engine

import (
	"sync/atomic"
	"time"
)

// A clock tells UTC in a way that a step of the wall clock cannot disturb. It
// runs on monotonic time from where the wall clock stood when it was made, and
// follows the wall clock from then on at a rate that differs from real time by
// a tenth at most: gaps between attempts stay what they should be to within
// that tenth, it never goes back, and after a step of an hour it is right again
// ten hours later. Where nobody calls follow for a while, it runs as real time
// does. It is safe for concurrent use, but for follow.
type clock struct {
	wall func() time.Time // time.Now, but for tests
	pace atomic.Pointer[pace]
}

// A pace is how a clock runs since a moment.
type pace struct {
	from time.Time     // the moment, on the monotonic clock
	at   time.Time     // what the clock said then
	slew float64       // seconds gained per second; −maxSlew to maxSlew
	span time.Duration // for which it gains them
}

const maxSlew = 0.1

func newClock(wall func() time.Time) *clock {
	c := &clock{wall: wall}
	at := wall().Round(0).UTC() // before the moment: if this is kept from running in between, it is late and not early
	c.pace.Store(&pace{from: time.Now(), at: at})
	return c
}

// Now is the clock by which the engine keeps due times, in UTC. It follows the wall
// clock, but no step of it: a handler that counts for itself counts by this one.
func (m *Monitor) Now() time.Time { return m.clock.now() }

// now returns the time in UTC, without a monotonic reading.
func (c *clock) now() time.Time { return c.pace.Load().read(time.Now()) }

func (p *pace) read(moment time.Time) time.Time {
	elapsed := moment.Sub(p.from)
	return p.at.Add(elapsed + time.Duration(float64(min(elapsed, p.span))*p.slew))
}

// follow sets the rate at which the clock nears the wall clock over the next
// period, and returns how far ahead the wall clock is; on a busy machine, where
// time passes while it is read, the least that this can be. Call it once a period.
func (c *clock) follow(period time.Duration) time.Duration {
	p := c.pace.Load()
	before, wall, moment := time.Now(), c.wall().Round(0), time.Now()
	at := p.read(moment)
	ahead := min(wall.Sub(p.read(before)), 0) // at the most
	if least := wall.Sub(at); least > 0 {
		ahead = least
	}
	slew := min(max(float64(ahead)/float64(period), -maxSlew), maxSlew)
	c.pace.Store(&pace{from: moment, at: at, slew: slew, span: period})
	return ahead
}

// until returns how long to sleep until the clock says at, or a little later;
// it is not positive when the clock says so already.
func (c *clock) until(at time.Time) time.Duration {
	p, now := c.pace.Load(), time.Now()
	left := at.Sub(p.read(now))
	slewed := p.span - now.Sub(p.from)
	if left <= 0 || p.slew == 0 || slewed <= 0 {
		return left
	}
	if gained := time.Duration(float64(slewed) * p.slew); left > slewed+gained {
		return left - gained + 1 // rounded up: a sleeper must not wake too early and find nothing to do
	}
	return time.Duration(float64(left)/(1+p.slew)) + 1
}
