package dispatch

import "time"

// An Outcome is what an attempt says about its endpoint. It does not say whether the task has
// ended.
type Outcome uint8

// The outcomes of an attempt. An answer with a status of failure is an answer, Refused: the
// endpoint is alive, and each task has its own schedule for that. The statuses 502 and 504 say that
// the server behind a gateway did not answer, so the caller may report Down.
const (
	Inconclusive Outcome = iota // says nothing about the endpoint: interrupted, or failed on this side
	Skipped                     // no attempt was made, because the item was void; its tokens are given back
	Accepted                    // the answer that means success
	Refused                     // any other answer
	Throttled                   // an answer that asks for less
	Down                        // no answer: no connection, it broke, or no answer in time
)

const (
	slowAfter     = int64(time.Second) // an endpoint whose answers take longer on average is slow
	outcomesOften = 100                // the success rate covers about this many attempts
)

// A class says how far an endpoint is trusted to free its slots soon.
type class uint8

const (
	silent class = iota
	slow
	quick
	classes
)

// An endpoint has limits that hold for the lines of all queues together.
type endpoint struct {
	name        string
	key         endpointKey
	concurrency int // the strictest of its lines
	rate        rate
	pace        pace
	paused      bool
	held        int64 // nothing is sent before this time: see Hold

	lines    []*line
	left     int   // attempts in flight of lines that moved to another endpoint
	used     int64 // time of the last attempt or answer
	waiting  int
	inFlight int
	ready    list[line] // lines with items that may go, in turn
	offered  int        // of these, lines with offered set
	ring     elem[endpoint]
	stamp    uint64 // when it joined its ring
	timer    timer

	// The adaptive limit.
	limit  int
	soft   int   // below it each answer adds one; from it on each round of answers adds one
	credit int   // answers since the last addition from soft on
	cut    int64 // attempts that started before it do not halve the limit again

	// How it answers.
	class    class
	answered bool  // it has answered at least once
	mute     bool  // no answer since its last failure, or for too long
	took     int64 // duration of answers, a moving average
	since    int64 // time of its last answer, or when its first attempt in flight started
	hush     elem[endpoint]

	breaker breaker

	// For pages and Wait.
	success  float64
	outcomes int
	gap      int64 // between the ends of two attempts while items wait, a moving average
	lastEnd  int64
	backlog  bool // items were waiting at lastEnd
	i        int  // index in core.endpoints
}

// allowed reports whether the limits of e allow one more attempt in flight. It ignores the rate.
func (e *endpoint) allowed(start int) bool {
	if e.inFlight >= e.concurrency {
		return false
	}
	if e.breaker.state == Open {
		return !e.breaker.probing
	}
	return e.inFlight-e.breaker.old < e.bound(start)
}

// turn returns when the rates of e and its Hold allow the next attempt.
func (e *endpoint) turn() int64 { return max(e.rate.at(), e.pace.at(), e.held) }

// bound is the present limit. An endpoint that does not answer has the limit of a new one at most.
func (e *endpoint) bound(start int) int {
	if e.class == silent {
		return min(e.limit, e.concurrency, start)
	}
	return min(e.limit, e.concurrency)
}

// answer records an answer and its duration.
func (e *endpoint) answer(now, took int64) {
	if e.answered {
		e.took += (took - e.took) / 8
	} else {
		e.answered, e.took = true, took
	}
	e.mute = false
	e.since = now
}

// grow raises the limit after an answer that came while the whole limit was used.
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

// shrink halves the limit after a loss, to least at the lowest, once for all attempts in flight.
func (e *endpoint) shrink(now, started int64, least int) {
	if started < e.cut || e.limit <= least {
		return
	}
	e.limit = max(min(e.limit, e.concurrency)/2, least)
	e.soft = max(e.limit, 2)
	e.credit = 0
	e.cut = now
}

// count adds an outcome to the success rate: a mean at first, then a moving average.
func (e *endpoint) count(accepted bool) {
	e.outcomes = min(e.outcomes+1, outcomesOften)
	x := 0.0
	if accepted {
		x = 1
	}
	e.success += (x - e.success) / float64(e.outcomes)
}

// ended records the end of an attempt, for the estimate of wait.
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

// classify updates the class of e and the counts by class.
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

// A busy endpoint becomes silent after a time without an answer that depends on how long its
// answers take. Each list is ordered by endpoint.since, so only its head needs a check.
var hushAfter = [...]struct{ took, after int64 }{
	{2 * int64(time.Millisecond), 20 * int64(time.Millisecond)},
	{20 * int64(time.Millisecond), 200 * int64(time.Millisecond)},
	{slowAfter, 2 * int64(time.Second)},
	{1<<63 - 1, 10 * int64(time.Second)},
}

// listen puts e at the end of its list after an answer, or when it becomes busy.
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

// notice makes endpoints silent that have not answered for too long.
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

// overdue reports whether e must answer before it takes a further slot as a quick endpoint.
// Otherwise many endpoints that fall silent at once would take slots until the last of them is
// noticed.
func (e *endpoint) overdue(now int64) bool {
	return e.inFlight > 0 && e.class == quick && now-e.since > max(4*e.took, 5*int64(time.Millisecond))
}

// when returns the earliest time at which e may send, regardless of the pool; never, if no time
// would help.
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

// place puts e in its ring, takes it out, or sets its timer. Call it after every change that may
// affect this. An endpoint that changes rings goes to the end of the new one.
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
