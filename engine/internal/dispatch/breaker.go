package dispatch

// A State says what a breaker lets through.
type State uint8

// The states of a breaker.
const (
	Closed   State = iota // everything
	Open                  // nothing until its time is up, then one probe
	HalfOpen              // a limit that grows again from 1
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

// atHand is how many items an endpoint must have, waiting or in flight, for its
// breaker to open: nobody needs protection from fewer. Losses leave it a limit
// of one less, so that these few never wait for one another.
const atHand = 5

type breaker struct {
	state    State
	failures int    // in a row
	until    int64  // while open: no probe before
	wait     int64  // ns it is open for, this time
	probing  bool   // while open: the probe is in flight
	era      uint32 // how often it opened: outcomes of attempts from before say little
	old      int    // in flight since before it opened
}

// openBreaker stops attempts to e, for longer if it was open before it got here.
func (c *core) openBreaker(e *endpoint) {
	b := &e.breaker
	if b.state == Closed {
		b.wait = int64(c.options.CoolDown)
	} else {
		b.wait = min(2*b.wait, int64(c.options.MaxCoolDown))
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

// failed learns from a loss.
func (c *core) failed(e *endpoint) {
	b := &e.breaker
	few := e.waiting+e.inFlight+1 < atHand // the failed attempt is an item at hand too
	b.failures++
	switch {
	case c.options.BreakAfter < 0:
	case b.state == Closed:
		if b.failures >= c.options.BreakAfter && !few {
			c.openBreaker(e)
		}
	case !few:
		c.openBreaker(e)
	default: // what is left may keep its schedule
		c.halfOpen(e)
		e.limit = max(e.limit, atHand-1)
	}
}

// halfOpen starts the ramp, if it has not begun.
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

// lives learns from an answer. It starts the ramp of an open breaker, whoever
// brought the answer, and ends it when the limit is back where it starts.
func (c *core) lives(e *endpoint) {
	b := &e.breaker
	b.failures = 0
	c.halfOpen(e)
	if b.state == HalfOpen && e.limit >= min(c.options.Start, e.concurrency) {
		b.state = Closed
	}
}
