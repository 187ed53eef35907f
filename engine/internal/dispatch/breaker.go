package dispatch

import "time"

// A State is the state of a breaker.
type State uint8

// The states of a breaker.
const (
	Closed   State = iota // attempts go
	Open                  // no attempt goes until the wait is over, then one probe
	HalfOpen              // attempts go within a limit that grows from 1
)

func (s State) String() string {
	switch s {
	case Closed:
		return "closed"
	case Open:
		return "open"
	default:
		return "half_open"
	}
}

// atHand is how many items of an endpoint must be waiting or in flight for its breaker to open.
// Fewer items need no protection. Losses leave the endpoint a limit of one less, so that these few
// items never wait for one another.
const atHand = 5

const (
	firstCoolDown = int64(time.Second) // before the first probe
	lastCoolDown  = int64(time.Minute) // longest wait between probes
)

type breaker struct {
	state    State
	failures int    // consecutive
	until    int64  // while open: time of the next probe
	wait     int64  // present wait before a probe, ns
	probing  bool   // while open: the probe is in flight
	era      uint32 // how often it opened; outcomes of attempts of an earlier era say little
	old      int    // attempts in flight from before it opened
}

// openBreaker stops attempts to e. If the breaker was not closed, the wait doubles.
func (c *core) openBreaker(e *endpoint) {
	b := &e.breaker
	if b.state == Closed {
		b.wait = firstCoolDown
	} else {
		b.wait = min(2*b.wait, lastCoolDown)
	}
	if b.state != Open {
		c.openBreakers++
	}
	b.state = Open
	b.until = c.now + b.wait
	b.probing = false
	b.failures = 0
	b.era++
	b.old = e.inFlight
}

// failed applies a failure.
func (c *core) failed(e *endpoint) {
	b := &e.breaker
	few := e.waiting+e.inFlight+1 < atHand // the failed attempt counts
	b.failures++
	switch {
	case c.options.BreakAfter < 0:
	case b.state == Closed:
		if b.failures >= c.options.BreakAfter && !few {
			c.openBreaker(e)
		}
	case !few:
		c.openBreaker(e)
	default: // the few items that are left keep their schedule
		c.halfOpen(e)
		e.limit = max(e.limit, atHand-1)
	}
}

// halfOpen starts the ramp of an open breaker.
func (c *core) halfOpen(e *endpoint) {
	b := &e.breaker
	if b.state != Open {
		return
	}
	c.openBreakers--
	b.state = HalfOpen
	b.probing = false
	e.soft = max(e.limit/2, c.options.Start)
	e.limit, e.credit = 1, 0
}

// lives applies an answer of any attempt. It starts the ramp of an open breaker, and closes the
// breaker when the limit is back at its start.
func (c *core) lives(e *endpoint) {
	b := &e.breaker
	b.failures = 0
	c.halfOpen(e)
	if b.state == HalfOpen && e.limit >= min(c.options.Start, e.concurrency) {
		b.state = Closed
	}
}
