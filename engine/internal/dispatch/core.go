package dispatch

import "time"

// A core is everything but the items and the lock.
type core struct {
	options Options
	now     int64
	stamp   uint64

	slab      slab
	lines     map[uint64]*line
	all       []*line
	endpoints []*endpoint
	byKey     map[endpointKey]*endpoint
	queues    map[string]*queue

	pausedQueues    map[string]bool
	pausedEndpoints map[string]bool

	rings  [tiers]list[endpoint]
	open   list[queue] // with parked lines that could go
	hush   [len(hushAfter)]list[endpoint]
	timers timers
	pool   pool

	openBreakers int
	bare         int // endpoints that no line goes to
}

// An endpointKey names an endpoint. A queue whose tasks name none is one itself.
type endpointKey struct{ queue, name string }

// tick brings the time up to date, and in play what waited for it.
func (c *core) tick(now int64) {
	c.now = max(c.now, now)
	for len(c.timers) > 0 && c.timers[0].at <= c.now {
		t := c.timers[0]
		c.timers.clear(t)
		if t.endpoint != nil {
			c.place(t.endpoint)
		} else {
			c.placeQueue(t.queue)
		}
	}
	c.notice()
}

// push puts an item in a list of a line, and returns the index of its node.
func (c *core) push(l *line, due int64, f *fifo) uint32 {
	idle := l.waiting() == 0
	i := c.slab.push(f, due)
	if f != &l.urgent {
		l.others++
	}
	l.used = c.now
	l.endpoint.waiting++
	l.queue.waiting++
	if idle {
		c.enter(l)
	}
	return i
}

// turn returns the endpoint whose turn it is among those with room, or nil.
func (c *core) turn() *endpoint {
	var best *endpoint
	for t := range tiers {
		el := c.rings[t].head
		if el != nil && (best == nil || el.of.stamp < best.stamp) && c.pool.room(t) {
			best = el.of
		}
	}
	return best
}

// pressed lets the pool grow if quick endpoints wait for nothing else, and
// reports whether it did.
func (c *core) pressed() bool {
	if c.rings[firstOfQuick].empty() && c.rings[moreOfQuick].empty() {
		c.pool.release()
		return false
	}
	return c.pool.full() && c.pool.press(c.now)
}

// next takes the item whose turn it is, and returns the index of its node.
func (c *core) next() (t Ticket, i uint32, ok bool) {
	c.offer()
	for {
		e := c.turn()
		if e == nil {
			switch {
			case c.pool.inFlight >= c.pool.ceiling:
				return Ticket{}, 0, false
			case c.probe():
			case !c.pressed():
				return Ticket{}, 0, false
			}
			continue
		}
		if e.overdue(c.now) {
			c.silence(e)
			continue
		}
		l := e.ready.head.of
		if l.queue.blocked(c.now) {
			c.park(l)
			c.place(e)
			continue
		}
		t, i = c.start(l)
		return t, i, true
	}
}

// start takes an item from l and counts its attempt as in flight.
func (c *core) start(l *line) (Ticket, uint32) {
	e, q := l.endpoint, l.queue
	i, due := c.slab.take(l, c.now)
	l.used, e.used = c.now, c.now
	l.inFlight++
	q.inFlight++
	q.waiting--
	e.waiting--
	e.inFlight++
	c.pool.inFlight++
	c.pool.held[e.class]++
	c.pool.peak = max(c.pool.peak, c.pool.held[quick])
	configured := e.rate.every
	if e.key.queue != "" {
		configured = max(configured, q.rate.every)
	}
	e.pace.started(c.now, e.waiting > 0, configured)
	e.rate.take(c.now)
	q.rate.take(c.now)
	if e.breaker.state == Open {
		e.breaker.probing = true
	}
	if e.inFlight == 1 {
		e.since = c.now
		c.listen(e)
	}

	c.settle(l)
	switch {
	case l.waiting() == 0:
		l.at.leave()
		c.placeQueue(q)
	case q.blocked(c.now):
		c.park(l)
	default:
		e.ready.moveBack(&l.at)
	}
	// It had its turn, so it goes to the end even of the ring it is in.
	was := e.ring.in
	c.place(e)
	if e.ring.in != nil && e.ring.in == was {
		was.remove(&e.ring)
		c.join(was, e)
	}
	t := Ticket{Due: due, line: l, endpoint: e, moves: l.moves, started: c.now, era: e.breaker.era}
	t.More = c.turn() != nil || !c.open.empty() && c.pool.inFlight < c.pool.ceiling || c.pressed()
	return t, i
}

// end takes back the slot of an attempt and learns from its outcome.
func (c *core) end(t *Ticket, out Outcome) {
	l := t.line
	e, q := t.endpoint, l.queue
	if l.inFlight == 0 {
		panic("dispatch: Done more often than Next")
	}
	took := c.now - t.started
	stale := t.era != e.breaker.era
	used := e.inFlight-e.breaker.old >= e.bound(c.options.Start)
	wasQuick := e.class == quick

	l.inFlight--
	if t.moves != l.moves {
		l.elsewhere--
		e.left--
	}
	l.used, e.used = c.now, c.now
	q.inFlight--
	e.inFlight--
	c.pool.inFlight--
	c.pool.held[e.class]--
	if stale {
		e.breaker.old--
	} else if e.breaker.state == Open {
		e.breaker.probing = false
	}

	switch out {
	case Accepted, Refused:
		e.answer(c.now, took)
		c.lives(e)
		if used {
			e.grow()
		}
		e.count(out == Accepted)
	case Throttled:
		e.answer(c.now, took)
		c.lives(e)
		if !e.pace.asked(c.now, t.started, e.waiting+e.inFlight+1) {
			if e.pace.sample.sum().tooMany(limitFalls) {
				e.shrink(c.now, t.started, 1)
				e.pace.sample = stretch{from: c.now, last: c.now}
			}
		}
		e.count(false)
	case Down:
		e.mute = true
		e.count(false)
		if !stale {
			e.shrink(c.now, t.started, atHand-1)
			c.failed(e)
		}
	case Skipped:
		e.rate.putBack()
		e.pace.putBack()
		q.rate.putBack()
	}
	if out >= Accepted {
		e.ended(c.now)
		if wasQuick {
			c.pool.ended(took)
		}
	}
	c.classify(e)
	if out == Accepted || out == Refused || out == Throttled {
		c.listen(e)
	}
	c.pool.review(c.now)
	c.placeQueue(q)
	c.place(e)
}

// wait estimates how long an item pushed to l now would wait.
func (c *core) wait(l *line) time.Duration {
	e, q := l.endpoint, l.queue
	if e.paused || q.paused {
		return Forever
	}
	gap := e.gap
	if gap == 0 && e.answered {
		gap = e.took / int64(max(e.bound(c.options.Start), 1))
	}
	if gap == 0 {
		gap = int64(time.Millisecond / 4)
	}
	gap = max(gap, e.rate.every, e.pace.every, q.rate.every)
	wait := int64(e.waiting) * gap
	if e.inFlight > 0 && e.waiting > 0 {
		// Nothing comes back: that may go on for a few times as long as it has.
		wait = max(wait, 4*(c.now-max(e.lastEnd, e.since)))
	}
	if e.breaker.state == Open {
		wait += max(e.breaker.until-c.now, 0)
	}
	soonest := max(c.now, e.turn(), q.rate.at())
	return time.Duration(max(wait, soonest-c.now))
}
