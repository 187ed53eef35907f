package dispatch

import "time"

// A tier is what kind of slot an endpoint would take next. Each has a ring of
// endpoints, so that a tier with no room costs nothing.
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
	stuckAfter = 2 * int64(time.Millisecond) // full, and nothing came back for so long: grow
	minWindow  = 4 * int64(time.Millisecond) // shortest time to measure answers a second over
	baseKept   = 5 * int64(time.Second)      // how long a measurement is good to compare with
	minHold    = 500 * int64(time.Millisecond)
	maxHold    = 30 * int64(time.Second)
	peakOver   = 10 * int64(time.Second) // shrink by the peak of so long
)

// A pool counts the slots. See the package comment for its rules.
type pool struct {
	floor, ceiling int
	limit          int // of quick endpoints' slots
	inFlight       int
	held           [classes]int

	// Growing: what the current limit brings, against what a smaller one brought.
	window    int64 // when the current measurement began
	measuring bool
	done      int   // ended since
	lastDone  int64 // when the last one ended
	took      int64 // of quick endpoints' answers, a moving average
	base      int   // the limit that baseRate was measured at
	baseRate  float64
	baseAt    int64
	holdUntil int64
	hold      int64

	// Shrinking.
	peak      int
	peakSince int64
}

func (p *pool) room(t tier) bool {
	all, others, c := p.inFlight, p.held[slow]+p.held[silent], p.ceiling
	few := min(c, 8) // a share that is less is this, for small pools
	switch t {
	case firstOfQuick:
		return all < c && p.held[quick] < p.limit
	case firstOfOther:
		return all < c-c/16 && others < c-c/8
	case moreOfQuick:
		return all < c-c/8 && p.held[quick] < p.limit
	case moreOfSlow:
		return all < c-c/8 && others < max(c/2, few)
	default:
		return all < c-c/8 && others < max(c/8, few)
	}
}

// full reports whether it is the pool's own limit that a quick endpoint waits
// for, and not the ceiling.
func (p *pool) full() bool {
	return p.held[quick] >= p.limit && p.limit < p.ceiling
}

// press is called while quick endpoints wait and the limit is reached, and
// reports whether it grew.
func (p *pool) press(now int64) bool {
	if !p.measuring {
		p.measure(now)
		return false
	}
	if now-max(p.lastDone, p.window) >= stuckAfter {
		p.grow()
		p.measure(now)
		return true
	}
	elapsed := now - p.window
	if elapsed < max(minWindow, 2*p.took) {
		return false
	}
	rate := float64(p.done) / float64(elapsed)
	p.measure(now)
	gain := 0.25 * float64(p.limit-p.base) / float64(max(p.base, 1))
	switch {
	case p.baseRate == 0 || now-p.baseAt > baseKept || p.limit <= p.base:
	case rate >= p.baseRate*(1+gain):
		p.hold = minHold
	default:
		p.limit = p.base
		p.holdUntil = now + p.hold
		p.hold = min(2*p.hold, maxHold)
		return false
	}
	p.base, p.baseRate, p.baseAt = p.limit, rate, now
	if now < p.holdUntil {
		return false
	}
	p.grow()
	return true
}

func (p *pool) measure(now int64) { p.window, p.done, p.measuring = now, 0, true }

func (p *pool) grow() { p.limit = min(p.limit+max(p.limit/2, 1), p.ceiling) }

// release is called while no quick endpoint waits.
func (p *pool) release() { p.measuring = false }

// ended counts the end of a quick endpoint's attempt.
func (p *pool) ended(now, took int64) {
	p.done++
	p.lastDone = now
	p.took += (took - p.took) / 64
}

// review shrinks the limit if its peak of late was well below.
func (p *pool) review(now int64) {
	if now-p.peakSince < peakOver {
		return
	}
	if p.peak < p.limit-p.limit/4 {
		p.limit = max(p.floor, p.limit-(p.limit-p.peak+1)/2)
	}
	p.peak, p.peakSince = p.held[quick], now
}

// reported is the limit that pages show: quick slots allowed, and others held.
func (p *pool) reported() int {
	return min(p.limit+p.held[slow]+p.held[silent], p.ceiling)
}
