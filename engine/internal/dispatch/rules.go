package dispatch

import "cmp"

// Rules say whose a line is and what limits hold. A limit of a queue is as the
// line opened last says; of an endpoint, the strictest of its lines holds.
type Rules struct {
	Queue    string
	Endpoint string // empty: the queue is one endpoint

	QueueConcurrency int     // attempts of the queue in flight; 0: no limit
	QueueRate        float64 // attempts of the queue a second; 0: no limit

	// YoungFirst says that items with fewer attempts go before those with more, each
	// age from room of its own. Otherwise first attempts go before retries, and no
	// more often than every second time while retries are late.
	YoungFirst bool

	Concurrency int     // attempts to the endpoint in flight, at most; default 64
	Rate        float64 // attempts to the endpoint a second; 0: no limit

	// Own are limits to the endpoint that this line has of its own, whatever its queue's
	// are. Nothing here looks at them: they come back with Reload.
	Own Limits
}

// Limits are limits to an endpoint; zero fields are none.
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

// Open makes a line known, or changes the limits of one that is. Its queue stays what
// it was; if it goes to another endpoint from now on, what waits goes there, and what
// is in flight counts where it was sent.
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

// Age returns which of how many ages an item is of in a line that was attempted so
// often, 0 for the youngest; in a line that is not open, which of two.
func (d *D[T]) Age(line uint64, attempts int) (age, of int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := d.core.lines[line]; l != nil {
		return l.rules.age(attempts)
	}
	return new(Rules).age(attempts)
}

// EndpointOf returns the endpoint that a line goes to; false if it is not open.
func (d *D[T]) EndpointOf(line uint64) (endpoint string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := d.core.lines[line]; l != nil {
		return l.endpoint.key.name, true
	}
	return "", false
}

// Reload asks for the rules of every known line again, for when the
// configuration has changed: rules is given those that it had, and leaves its queue
// and endpoint what they are. It visits all lines under the lock; rules must not
// call d.
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

// attach gives a line its endpoint, which is made if it is new.
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

// detach takes a line from its endpoint. An endpoint that has no line left is kept
// for a while, with what is known of it: Sweep forgets it.
func (c *core) detach(l *line) {
	e := l.endpoint
	for i := range e.lines {
		if e.lines[i] == l {
			e.lines = append(e.lines[:i], e.lines[i+1:]...)
			break
		}
	}
	if len(e.lines) == 0 {
		c.bare++
		c.place(e)
		return
	}
	c.tighten(e)
}

// move takes a line with what waits in it to another endpoint. Its attempts in flight
// are none of the new one's.
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

// obey makes the rules of a line hold.
func (c *core) obey(l *line, rules Rules) {
	l.rules = rules
	q := l.queue
	q.concurrency = max(rules.QueueConcurrency, 0)
	q.rate.set(rules.QueueRate)
	c.placeQueue(q)
	c.tighten(l.endpoint)
}

// tighten finds the strictest limits of an endpoint's lines.
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

// PauseQueue keeps a queue's items in line until ResumeQueue; what is in flight
// goes on. It holds for lines opened later too.
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

// PauseEndpoint keeps the items of all queues for an endpoint in line until
// ResumeEndpoint; what is in flight goes on. It holds for lines opened later
// too. A queue that is one endpoint is paused as a queue.
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

// Sweep forgets lines that nothing used for Options.IdleAfter, with the
// endpoints and queues that have no other, and lets an idle pool shrink. Call
// it now and then. It gives way to others between every few hundred lines.
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
			if l.waiting() == 0 && l.inFlight == 0 && c.now-l.used >= int64(c.options.IdleAfter) && l.endpoint.held <= c.now {
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

// sweepBare forgets endpoints that no line has gone to for long.
func (c *core) sweepBare() {
	for i := len(c.endpoints) - 1; i >= 0 && c.bare > 0; i-- {
		if e := c.endpoints[i]; c.idle(e) {
			c.bare--
			c.drop(e)
		}
	}
}

// chunk is how much a long look at everything does under the lock at a time.
const chunk = 256

// forget removes an idle line, and its endpoint and queue with their last one.
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

// idle reports whether no line goes to an endpoint, and nothing was sent for long.
func (c *core) idle(e *endpoint) bool {
	return len(e.lines) == 0 && e.inFlight == 0 && c.now-e.used >= int64(c.options.IdleAfter)
}

// drop forgets an endpoint that no line goes to.
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
