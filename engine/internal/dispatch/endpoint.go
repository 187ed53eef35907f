package dispatch

import "time"

// An Outcome is what an attempt says about its endpoint, and no more: whether
// the task is done is another matter.
type Outcome uint8

// The outcomes of an attempt. An answer with a status of failure is still an
// answer, Refused: the endpoint lives, and each of its tasks has a schedule of
// its own for that. A gateway's 502 and 504 say that what is behind it did not
// answer, and may be given as Down.
const (
	Cancelled Outcome = iota // says nothing: it was given up, or failed on this side
	Skipped                  // was not made, the item was void: what it took of a rate is given back
	Accepted                 // an answer, the one asked for
	Refused                  // an answer, another one
	Throttled                // an answer that asks for less
	Down                     // no answer: no connection, it broke, or no answer in time
)

const (
	slowAfter     = int64(time.Second) // an endpoint that takes longer on average is slow
	outcomesOften = 100                // the success rate is over about this many attempts
)

// A class says how far an endpoint is trusted to give its slots back soon.
type class uint8

const (
	silent class = iota
	slow
	quick
	classes
)

// An endpoint's limits hold over the lines of all queues that go there.
type endpoint struct {
	name        string
	key         endpointKey
	concurrency int // the strictest configured
	rate        rate
	pace        pace
	paused      bool
	held        int64 // nothing is sent before: it asked for that

	lines    []*line
	left     int   // in flight of lines that left
	used     int64 // when something was sent, or answered
	waiting  int
	inFlight int
	ready    list[line] // with something to send, in turn
	offered  int        // of them, those with line.offered
	ring     elem[endpoint]
	stamp    uint64 // when it got in line in its ring
	timer    timer

	// The adaptive limit.
	limit  int
	soft   int   // below it an answer adds one; from it on, a round of answers does
	credit int   // answers since the last addition from soft on
	cut    int64 // attempts started before do not halve the limit again

	// What it is like.
	class    class
	answered bool  // at all
	mute     bool  // not since its last failure, or for too long
	took     int64 // how long answers take, a moving average
	since    int64 // its last answer, or when it got busy
	hush     elem[endpoint]

	breaker breaker

	// For pages and Wait.
	success  float64
	outcomes int
	gap      int64 // between two attempts' ends while work waits, a moving average
	lastEnd  int64
	backlog  bool // work was waiting at lastEnd
	i        int  // its place in core.endpoints
}

// allowed reports whether e's own limits let it have one more in flight, its
// rate aside.
func (e *endpoint) allowed(start int) bool {
	if e.inFlight >= e.concurrency {
		return false
	}
	if e.breaker.state == Open {
		return !e.breaker.probing
	}
	return e.inFlight-e.breaker.old < e.bound(start)
}

// turn returns when e's rates, and what it asked for, let the next attempt go.
func (e *endpoint) turn() int64 { return max(e.rate.at(), e.pace.at(), e.held) }

// bound is the limit that holds now: an endpoint that does not answer falls
// back to what a new one has.
func (e *endpoint) bound(start int) int {
	if e.class == silent {
		return min(e.limit, e.concurrency, start)
	}
	return min(e.limit, e.concurrency)
}

// answer learns from an answer that took so long.
func (e *endpoint) answer(now, took int64) {
	if e.answered {
		e.took += (took - e.took) / 8
	} else {
		e.answered, e.took = true, took
	}
	e.mute = false
	e.since = now
}

// grow raises the limit after an answer that came while all of it was used.
func (e *endpoint) grow() {
	if e.limit >= e.concurrency {
		return
	}
	if e.limit >= e.soft {
		e.credit++
		if e.credit < e.limit {
			return
		}
		e.credit = 0
	}
	e.limit++
}

// shrink halves the limit after a loss, down to least, once for the attempts in
// flight then.
func (e *endpoint) shrink(now, started int64, least int) {
	if started < e.cut || e.limit <= least {
		return
	}
	e.limit = max(min(e.limit, e.concurrency)/2, least)
	e.soft = max(e.limit, 2)
	e.credit = 0
	e.cut = now
}

// count adds an outcome to the success rate: a mean at first, then a moving one.
func (e *endpoint) count(accepted bool) {
	e.outcomes = min(e.outcomes+1, outcomesOften)
	x := 0.0
	if accepted {
		x = 1
	}
	e.success += (x - e.success) / float64(e.outcomes)
}

// ended notes that an attempt ended, for the pace of the line.
func (e *endpoint) ended(now int64) {
	if e.backlog {
		gap := now - max(e.lastEnd, e.since)
		if e.gap == 0 {
			e.gap = gap
		} else {
			e.gap += (gap - e.gap) / 16
		}
	}
	e.lastEnd = now
	e.backlog = e.waiting > 0
}

// classify brings e's class, and what counts by class, up to date.
func (c *core) classify(e *endpoint) {
	class := silent
	switch {
	case !e.answered || e.mute:
	case e.took > slowAfter:
		class = slow
	default:
		class = quick
	}
	if class != e.class {
		c.pool.held[e.class] -= e.inFlight
		c.pool.held[class] += e.inFlight
		e.class = class
	}
	if class == silent || e.inFlight == 0 {
		e.hush.leave()
	}
}

// An endpoint that is busy and not silent becomes so when it has not been heard
// of for a while, by how long its answers take. Each list is by e.since, so
// only heads need a look.
var hushAfter = [...]struct{ took, after int64 }{
	{2 * int64(time.Millisecond), 20 * int64(time.Millisecond)},
	{20 * int64(time.Millisecond), 200 * int64(time.Millisecond)},
	{slowAfter, 2 * int64(time.Second)},
	{1<<63 - 1, 10 * int64(time.Second)},
}

// listen puts e, just heard of or just busy, at the end of its list.
func (c *core) listen(e *endpoint) {
	if e.class == silent || e.inFlight == 0 {
		return
	}
	for i := range hushAfter {
		if e.took <= hushAfter[i].took {
			c.hush[i].moveBack(&e.hush)
			return
		}
	}
}

// notice makes silent what has not been heard of for too long.
func (c *core) notice() {
	for i := range hushAfter {
		for el := c.hush[i].head; el != nil && c.now-el.of.since > hushAfter[i].after; el = c.hush[i].head {
			c.silence(el.of)
		}
	}
}

func (c *core) silence(e *endpoint) {
	e.mute = true
	c.classify(e)
	c.place(e)
}

// overdue reports whether e is to be heard before it takes a further slot as a
// quick one: otherwise many that fall silent at once would go on taking slots
// until the last of them is noticed.
func (e *endpoint) overdue(now int64) bool {
	return e.inFlight > 0 && e.class == quick && now-e.since > max(4*e.took, 5*int64(time.Millisecond))
}

// when returns the earliest time at which e could send, the pool aside; never,
// if that is not a matter of time.
func (c *core) when(e *endpoint) int64 {
	if e.paused || !e.allowed(c.options.Start) {
		return never
	}
	at := e.turn()
	if e.breaker.state == Open {
		at = max(at, e.breaker.until)
	}
	return at
}

// place puts e in the ring where it belongs, takes it out, or sets its timer.
// It is called after whatever may change that. Changing rings is going to the
// end of the new one.
func (c *core) place(e *endpoint) {
	at := int64(never)
	if !e.ready.empty() {
		at = c.when(e)
	}
	var ring *list[endpoint]
	if at <= c.now {
		ring = &c.rings[e.tier()]
	}
	if ring != nil || at == never {
		c.timers.clear(&e.timer)
	} else {
		c.timers.set(&e.timer, at)
	}
	if ring == e.ring.in {
		return
	}
	e.ring.leave()
	if ring != nil {
		c.join(ring, e)
		return
	}
	for el := e.ready.head; el != nil && e.offered > 0; el = el.next {
		c.settle(el.of)
	}
}

// join puts e at the end of a ring.
func (c *core) join(ring *list[endpoint], e *endpoint) {
	c.stamp++
	e.stamp = c.stamp
	ring.pushBack(&e.ring)
}
