package dispatch

import (
	"cmp"
	"slices"
	"time"
)

// Rules say to which queue and endpoint a line belongs, and its limits. The limits of a queue are
// those of the line that was opened last. Of the limits of an endpoint, the strictest of its lines
// hold.
type Rules struct {
	Queue    string
	Endpoint string // empty: the queue is one endpoint

	QueueConcurrency int     // attempts of the queue in flight; 0: no limit
	QueueRate        float64 // attempts of the queue a second; 0: no limit

	// YoungFirst makes items with fewer attempts go before items with more, each age class with
	// room of its own. Otherwise first attempts go before retries. See the package comment.
	YoungFirst bool

	Concurrency int     // most attempts to the endpoint in flight; default 64
	Rate        float64 // attempts to the endpoint a second; 0: no limit

	// Own are the limits that this line has regardless of its queue. A D does not use them; it
	// passes them to the function of Reload.
	Own Limits
}

// Limits are limits of an endpoint; 0 means no limit.
type Limits struct {
	Concurrency int
	Rate        float64
}

func (r Rules) key() endpointKey {
	if r.Endpoint == "" {
		return endpointKey{queue: r.Queue}
	}
	return endpointKey{name: r.Endpoint}
}

// Open makes a line known, or changes the rules of a known line. A line keeps its queue. If it goes
// to another endpoint now, its waiting items move there. Its attempts in flight still count for the
// former endpoint.
func (d *D[T]) Open(now int64, id uint64, rules Rules) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := &d.core
	c.now = max(c.now, now)
	l := c.lines[id]
	if l == nil {
		l = c.add(id, rules)
	} else if rules.key() != l.endpoint.key {
		c.move(l, rules)
	}
	l.used = c.now
	c.obey(l, rules)
}

// Known reports whether a line is open.
func (d *D[T]) Known(line uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.core.lines[line] != nil
}

// Age returns the age class of an item with that many attempts in a line, 0 for the youngest, and
// the number of classes. An unknown line has two classes.
func (d *D[T]) Age(line uint64, attempts int) (age, of int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := d.core.lines[line]; l != nil {
		return l.rules.age(attempts)
	}
	return new(Rules).age(attempts)
}

// Reload replaces the rules of every known line, after the configuration changed. rules receives
// the present rules of a line and must keep its queue and endpoint. It is called for all lines
// under the lock and must not call d.
func (d *D[T]) Reload(now int64, rules func(was Rules) Rules) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := &d.core
	c.now = max(c.now, now)
	for _, l := range c.all {
		l.rules = rules(l.rules)
	}
	for _, l := range c.all {
		c.obey(l, l.rules)
	}
}

// add makes a line, and its queue and endpoint if they are new.
func (c *core) add(id uint64, rules Rules) *line {
	q := c.queues[rules.Queue]
	if q == nil {
		q = &queue{name: rules.Queue, paused: c.pausedQueues[rules.Queue]}
		q.open.of = q
		q.timer.queue = q
		c.queues[q.name] = q
	}
	l := &line{id: id, queue: q, rules: rules, i: len(c.all)}
	l.at.of = l
	q.lines++
	c.attach(l, rules)
	c.lines[id] = l
	c.all = append(c.all, l)
	return l
}

// attach gives a line its endpoint, and makes that if it is new.
func (c *core) attach(l *line, rules Rules) {
	key := rules.key()
	e := c.byKey[key]
	if e == nil {
		e = &endpoint{key: key, name: cmp.Or(rules.Endpoint, rules.Queue), limit: c.options.Start, i: len(c.endpoints)}
		e.soft = 1 << 30
		e.paused = key.name != "" && c.pausedEndpoints[key.name]
		e.ring.of = e
		e.hush.of = e
		e.timer.endpoint = e
		c.byKey[key] = e
		c.endpoints = append(c.endpoints, e)
	} else if len(e.lines) == 0 {
		c.bare--
	}
	l.endpoint = e
	e.lines = append(e.lines, l)
}

// detach takes a line from its endpoint. An endpoint without lines keeps its state until Sweep
// forgets it.
func (c *core) detach(l *line) {
	e := l.endpoint
	if i := slices.Index(e.lines, l); i >= 0 {
		e.lines = slices.Delete(e.lines, i, i+1)
	}
	if len(e.lines) == 0 {
		c.bare++
		c.place(e)
		return
	}
	c.tighten(e)
}

// move takes a line with its waiting items to another endpoint. Its attempts in flight do not count
// there.
func (c *core) move(l *line, rules Rules) {
	c.settle(l)
	l.at.leave()
	from := l.endpoint
	from.waiting -= l.waiting()
	from.left += l.inFlight - l.elsewhere
	l.elsewhere = l.inFlight
	l.moves++
	c.detach(l)
	c.attach(l, rules)
	l.endpoint.waiting += l.waiting()
	c.placeQueue(l.queue)
	if l.waiting() > 0 {
		c.enter(l)
	}
}

// obey applies the rules of a line.
func (c *core) obey(l *line, rules Rules) {
	l.rules = rules
	q := l.queue
	q.concurrency = max(rules.QueueConcurrency, 0)
	q.rate.set(rules.QueueRate)
	c.placeQueue(q)
	c.tighten(l.endpoint)
}

// tighten applies the strictest limits of an endpoint's lines.
func (c *core) tighten(e *endpoint) {
	e.concurrency = 0
	perSecond := 0.0
	for _, l := range e.lines {
		n := cmp.Or(max(l.rules.Concurrency, 0), 64)
		if e.concurrency == 0 || n < e.concurrency {
			e.concurrency = n
		}
		if r := l.rules.Rate; r > 0 && (perSecond == 0 || r < perSecond) {
			perSecond = r
		}
	}
	e.rate.set(perSecond)
	c.place(e)
}

// PauseQueue keeps the items of a queue waiting until ResumeQueue. Attempts in flight go on. The
// pause also holds for lines that are opened later.
func (d *D[T]) PauseQueue(now int64, name string) { d.setQueue(now, name, true) }

// ResumeQueue ends PauseQueue.
func (d *D[T]) ResumeQueue(now int64, name string) { d.setQueue(now, name, false) }

func (d *D[T]) setQueue(now int64, name string, paused bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := &d.core
	c.now = max(c.now, now)
	if paused {
		c.pausedQueues[name] = true
	} else {
		delete(c.pausedQueues, name)
	}
	if q := c.queues[name]; q != nil {
		q.paused = paused
		c.placeQueue(q)
	}
}

// PauseEndpoint keeps the items of all queues for an endpoint waiting until ResumeEndpoint.
// Attempts in flight go on. The pause also holds for lines that are opened later. To pause a queue
// that is an endpoint itself, use PauseQueue.
func (d *D[T]) PauseEndpoint(now int64, name string) { d.setEndpoint(now, name, true) }

// ResumeEndpoint ends PauseEndpoint.
func (d *D[T]) ResumeEndpoint(now int64, name string) { d.setEndpoint(now, name, false) }

func (d *D[T]) setEndpoint(now int64, name string, paused bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := &d.core
	c.now = max(c.now, now)
	if name == "" {
		return
	}
	if paused {
		c.pausedEndpoints[name] = true
	} else {
		delete(c.pausedEndpoints, name)
	}
	if e := c.byKey[endpointKey{name: name}]; e != nil {
		e.paused = paused
		c.place(e)
	}
}

// idleAfter is how long a line or an endpoint without lines is remembered after its last use. It is
// remembered for longer while a rate or a Hold does not allow the next attempt.
const idleAfter = 5 * int64(time.Minute)

// Sweep forgets lines that were not used for five minutes, with their endpoints and queues,
// and lets an idle pool shrink. Call it now and then. It releases the lock after every few hundred
// lines.
func (d *D[T]) Sweep(now int64) (forgotten int) {
	c := &d.core
	for from := -1; ; {
		d.mu.Lock()
		if from < 0 {
			c.tick(now)
			c.pool.review(c.now)
			from = len(c.all)
		}
		// Backwards: the last line takes the place of one that goes.
		from = min(from, len(c.all))
		stop := max(from-chunk, 0)
		for from > stop {
			from--
			l := c.all[from]
			if l.waiting() == 0 && l.inFlight == 0 && c.now-l.used >= idleAfter && max(l.endpoint.turn(), l.queue.rate.at()) <= c.now {
				c.forget(l)
				forgotten++
			}
		}
		if stop == 0 {
			c.sweepBare()
		}
		d.mu.Unlock()
		if stop == 0 {
			return forgotten
		}
	}
}

// sweepBare forgets endpoints that have had no line for long.
func (c *core) sweepBare() {
	for i := len(c.endpoints) - 1; i >= 0 && c.bare > 0; i-- {
		if e := c.endpoints[i]; c.idle(e) {
			c.bare--
			c.drop(e)
		}
	}
}

// chunk is how many lines or endpoints a long call visits before it releases the lock.
const chunk = 256

// forget removes an idle line, and its endpoint and queue if it was their last line.
func (c *core) forget(l *line) {
	last := c.all[len(c.all)-1]
	c.all[l.i], last.i = last, l.i
	c.all[len(c.all)-1] = nil
	c.all = c.all[:len(c.all)-1]
	delete(c.lines, l.id)

	q := l.queue
	if q.lines--; q.lines == 0 {
		c.timers.clear(&q.timer)
		delete(c.queues, q.name)
	}
	c.detach(l)
	if c.idle(l.endpoint) {
		c.bare--
		c.drop(l.endpoint)
	}
}

// idle reports whether an endpoint has no line and was not used for long.
func (c *core) idle(e *endpoint) bool {
	return len(e.lines) == 0 && e.inFlight == 0 && c.now-e.used >= idleAfter && e.turn() <= c.now
}

// drop forgets an endpoint without lines.
func (c *core) drop(e *endpoint) {
	c.timers.clear(&e.timer)
	if e.breaker.state == Open {
		c.openBreakers--
	}
	end := c.endpoints[len(c.endpoints)-1]
	c.endpoints[e.i], end.i = end, e.i
	c.endpoints[len(c.endpoints)-1] = nil
	c.endpoints = c.endpoints[:len(c.endpoints)-1]
	delete(c.byKey, e.key)
}
