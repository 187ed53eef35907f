// Package clock keeps the time of the engine.
package clock

import (
	"sync/atomic"
	"time"
)

// A Clock tells UTC and is not disturbed by steps of the wall clock. It runs on monotonic time,
// starting at the wall clock's time when it was made. It follows the wall clock at a rate that
// differs from real time by a tenth at most. It never goes back. After a step of one hour it is
// right again within ten hours. Without calls of Follow it runs like real time. It is safe for
// concurrent use, except for Follow.
type Clock struct {
	Wall func() time.Time // the wall clock: time.Now outside tests
	pace atomic.Pointer[pace]
}

// A pace is the rate of a clock since a moment.
type pace struct {
	from time.Time     // that moment, on the monotonic clock
	at   time.Time     // the clock's time at that moment
	slew float64       // seconds gained per second, −maxSlew to maxSlew
	span time.Duration // how long they are gained
}

const maxSlew = 0.1

// New makes a clock that shows the wall clock's time.
func New(wall func() time.Time) *Clock {
	c := &Clock{Wall: wall}
	at := wall().Round(0).UTC() // before the moment: if this is kept from running in between, it is late and not early
	c.pace.Store(&pace{from: time.Now(), at: at})
	return c
}

// Now returns the time in UTC, without a monotonic reading.
func (c *Clock) Now() time.Time { return c.pace.Load().read(time.Now()) }

func (p *pace) read(moment time.Time) time.Time {
	elapsed := moment.Sub(p.from)
	return p.at.Add(elapsed + time.Duration(float64(min(elapsed, p.span))*p.slew))
}

// Follow sets the rate at which the clock approaches the wall clock during the next period. It asks
// believe whether it may: how far the wall clock is ahead is the least possible value, if the
// machine was busy in between. If it may not, the clock runs like real time. Call it once a period.
func (c *Clock) Follow(period time.Duration, believe func(ahead time.Duration) bool) {
	p := c.pace.Load()
	before, wall, moment := time.Now(), c.Wall().Round(0), time.Now()
	at := p.read(moment)
	ahead := min(wall.Sub(p.read(before)), 0) // upper bound
	if least := wall.Sub(at); least > 0 {
		ahead = least
	}
	slew := min(max(float64(ahead)/float64(period), -maxSlew), maxSlew)
	if !believe(ahead) {
		slew = 0
	}
	c.pace.Store(&pace{from: moment, at: at, slew: slew, span: period})
}

// Until returns how long to sleep until the clock's time is at, or a little later. It is not
// positive if that time has come.
func (c *Clock) Until(at time.Time) time.Duration {
	p, now := c.pace.Load(), time.Now()
	left := at.Sub(p.read(now))
	slewed := p.span - now.Sub(p.from)
	if left <= 0 || p.slew == 0 || slewed <= 0 {
		return left
	}
	if gained := time.Duration(float64(slewed) * p.slew); left > slewed+gained {
		return left - gained + 1 // rounded up, so that a sleeper does not wake too early
	}
	return time.Duration(float64(left)/(1+p.slew)) + 1
}
