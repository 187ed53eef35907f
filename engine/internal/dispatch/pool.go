package dispatch

import "time"

// A tier is the kind of slot that an endpoint would take next. Each tier has a ring of endpoints,
// so a tier without room costs nothing.
type tier int

const (
	firstOfQuick tier = iota
	firstOfOther
	moreOfQuick
	moreOfSlow
	moreOfSilent
	tiers
)

func (e *endpoint) tier() tier {
	switch {
	case e.inFlight == 0 && e.class == quick:
		return firstOfQuick
	case e.inFlight == 0:
		return firstOfOther
	case e.class == quick:
		return moreOfQuick
	case e.class == slow:
		return moreOfSlow
	default:
		return moreOfSilent
	}
}

const (
	stuckAfter = 2 * int64(time.Millisecond)  // a full pool grows if less than half of the expected answers came in this time
	minWindow  = 10 * int64(time.Millisecond) // shortest measurement of answers a second
	baseKept   = 5 * int64(time.Second)       // how long a measurement is compared with later ones
	minHold    = 500 * int64(time.Millisecond)
	maxHold    = 30 * int64(time.Second)
	leastShare = 8                       // slots of the ceiling, for small pools
	peakOver   = 10 * int64(time.Second) // the pool shrinks by its peak over this time
)

// A pool counts the slots. The package comment has its rules.
type pool struct {
	floor, top, ceiling int
	limit               int // of slots of quick endpoints, from floor to top
	inFlight            int
	held                [classes]int

	// Sizing compares the answers a second of the present limit with those of another limit.
	window    int64 // start of the present measurement
	measuring bool
	done      int   // attempts that ended since window
	glance    int64 // start of the present short measurement
	glanced   int   // attempts that ended since glance
	took      int64 // duration of answers of quick endpoints, a moving average
	base      int   // limit at which baseRate was measured
	baseRate  float64
	baseAt    int64
	down      bool // the next try is a smaller limit
	holdUntil int64
	hold      int64

	// Shrinking.
	peak      int
	peakSince int64
}

func newPool(floor, ceiling int) pool {
	p := pool{hold: minHold}
	p.resize(floor, ceiling)
	return p
}

// resize sets the bounds of the limit. A limit within the bounds stays.
func (p *pool) resize(floor, ceiling int) {
	p.top, p.ceiling = max(ceiling-ceiling/4, min(ceiling, leastShare)), ceiling
	p.floor = min(floor, p.top)
	p.limit = min(max(p.limit, p.floor), p.top)
	p.base, p.baseRate, p.measuring = 0, 0, false // it was measured within other bounds
}

func (p *pool) room(t tier) bool {
	c, most := p.ceiling, p.ceiling-p.ceiling/16
	others := p.held[slow] + p.held[silent]
	switch t {
	case firstOfQuick:
		return p.inFlight < c && (p.held[quick] < p.limit || p.limit == p.top)
	case firstOfOther:
		return p.inFlight < most && others < c-c/8
	case moreOfQuick:
		return p.inFlight < most && p.held[quick] < p.limit
	case moreOfSlow:
		return p.inFlight < most && others < max(c/2, leastShare)
	default:
		return p.inFlight < most && others < max(c/8, leastShare)
	}
}

// full reports whether the pool's limit keeps quick endpoints waiting.
func (p *pool) full() bool { return p.held[quick] >= p.limit }

// press is called while quick endpoints wait and the limit is reached. It reports whether the limit
// grew.
func (p *pool) press(now int64) bool {
	if !p.measuring {
		p.measure(now)
		return false
	}
	if span := now - p.glance; span >= stuckAfter {
		// By Little's law this many slots were at work, if the attempts that ended took as long as
		// usual.
		busy := float64(p.glanced) * float64(p.took) / float64(span)
		if busy < float64(p.limit)/2 {
			p.measure(now)
			return p.grow(p.limit)
		}
		p.glance, p.glanced = now, 0
	}
	elapsed := now - p.window
	if elapsed < max(minWindow, 2*p.took) {
		return false
	}
	rate := float64(p.done) / float64(elapsed)
	p.measure(now)
	change := float64(p.limit-p.base) / float64(max(p.base, 1))
	switch {
	case p.baseRate == 0 || now-p.baseAt > baseKept || p.limit == p.base:
		// Nothing to compare with.
	case rate >= p.baseRate*(1+change/4):
		p.holdUntil, p.hold = 0, minHold
	default:
		before := p.limit
		p.limit = p.base
		p.down = !p.down
		p.holdUntil = now + p.hold
		p.hold = min(2*p.hold, maxHold)
		return p.limit > before
	}
	p.base, p.baseRate, p.baseAt = p.limit, rate, now
	if now < p.holdUntil {
		return false
	}
	if p.limit == p.floor {
		p.down = false
	} else if p.limit == p.top {
		p.down = true
	}
	if p.down {
		p.limit = max(p.limit-p.limit/3, p.floor)
		return false
	}
	return p.grow(max(p.limit/2, 1))
}

func (p *pool) measure(now int64) {
	p.window, p.done, p.measuring = now, 0, true
	p.glance, p.glanced = now, 0
}

// look returns when press may find that answers do not come back.
func (p *pool) look(now int64) (at int64, ok bool) {
	if !p.measuring || !p.full() || p.limit == p.top {
		return 0, false
	}
	if at = p.glance + stuckAfter; at <= now {
		at = now + stuckAfter
	}
	return at, true
}

func (p *pool) grow(by int) bool {
	before := p.limit
	p.limit = min(p.limit+by, p.top)
	return p.limit > before
}

// release is called while no quick endpoint waits.
func (p *pool) release() { p.measuring = false }

// ended counts the end of a quick endpoint's attempt.
func (p *pool) ended(took int64) {
	p.done++
	p.glanced++
	if p.took == 0 {
		p.took = took
	}
	p.took += (took - p.took) / 16
}

// review shrinks the limit if the recent peak was well below it.
func (p *pool) review(now int64) {
	if now-p.peakSince < peakOver {
		return
	}
	if p.peak < p.limit-p.limit/4 {
		p.limit = max(p.floor, p.limit-(p.limit-p.peak+1)/2)
	}
	p.peak, p.peakSince = p.held[quick], now
}

// reported is the limit for display: the slots allowed to quick endpoints, plus those that others
// hold.
func (p *pool) reported() int {
	return min(p.limit+p.held[slow]+p.held[silent], p.ceiling)
}
