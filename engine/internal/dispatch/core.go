package dispatch

import "time"

// A core is everything except the items and the lock.
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
	open   list[queue] // queues with parked lines that could go
	hush   [len(hushAfter)]list[endpoint]
	timers timers
	pool   pool

	openBreakers int
	bare         int // number of endpoints without lines
}

// An endpointKey identifies an endpoint. A queue whose tasks name no endpoint is an endpoint
// itself.
type endpointKey struct{ queue, name string }

// tick advances the time and places the endpoints and queues whose timers are due.
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

// push appends an item to a list of a line and returns the index of its node.
func (c *core) push(l *line, due int64, f *fifo, elder bool) uint32 {
	idle := l.waiting() == 0
	i := c.slab.push(f, due, elder)
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

// turn returns the next endpoint among those for which the pool has room; nil: there is none.
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

// pressed lets the pool grow if quick endpoints wait only for the pool. It reports whether the pool
// grew.
func (c *core) pressed() bool {
	if c.rings[firstOfQuick].empty() && c.rings[moreOfQuick].empty() {
		c.pool.release()
		return false
	}
	return c.pool.full() && c.pool.press(c.now)
}

// next takes the next item and returns the index of its node.
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
	i := c.slab.take(l, c.now)
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
	// The endpoint had its turn, so it goes to the end of its ring.
	was := e.ring.in
	c.place(e)
	if e.ring.in != nil && e.ring.in == was {
		was.remove(&e.ring)
		c.join(was, e)
	}
	t := Ticket{line: l, endpoint: e, moves: l.moves, started: c.now, era: e.breaker.era}
	t.More = c.turn() != nil || !c.open.empty() && c.pool.inFlight < c.pool.ceiling || c.pressed()
	return t, i
}

// end frees the slot of an attempt and applies its outcome.
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
	c.leave(t)
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

// leave ends the counting of an attempt as in flight.
func (c *core) leave(t *Ticket) {
	l, e := t.line, t.endpoint
	l.inFlight--
	if t.moves != l.moves {
		l.elsewhere--
		e.left--
	}
	l.used, e.used = c.now, c.now
	l.queue.inFlight--
	e.inFlight--
	c.pool.inFlight--
	c.pool.held[e.class]--
	if t.era != e.breaker.era {
		e.breaker.old--
	} else if e.breaker.state == Open {
		e.breaker.probing = false
	}
}

// wait estimates how long an item that is pushed to l now would wait.
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
		// No answers arrive: expect that to last a few times as long as it has lasted.
		wait = max(wait, 4*(c.now-max(e.lastEnd, e.since)))
	}
	if e.breaker.state == Open {
		wait += max(e.breaker.until-c.now, 0)
	}
	soonest := max(c.now, e.turn(), q.rate.at())
	return time.Duration(max(wait, soonest-c.now))
}
