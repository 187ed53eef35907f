package dispatch

import "fmt"

// check recounts all running totals, and returns an error for the first that is wrong.
func (c *core) check() error {
	var inFlight, waiting, offered, open, bare int
	var held [classes]int
	for _, e := range c.endpoints {
		var eInFlight, eWaiting, eOffered, ready int
		for _, l := range e.lines {
			others := 0
			for age := range l.aged {
				f := &l.aged[age]
				others += f.n
				elders := 0
				for i, n := f.head, f.n; n > 0; i, n = c.slab.nodes[i].next, n-1 {
					if c.slab.nodes[i].elder {
						elders++
					}
				}
				if elders != f.elders {
					return fmt.Errorf("line %d has %d elders of age %d, counted %d", l.id, elders, age, f.elders)
				}
			}
			if others != l.others {
				return fmt.Errorf("line %d has %d others than urgent ones, counted %d", l.id, l.others, others)
			}
			if l.elsewhere < 0 || l.elsewhere > l.inFlight {
				return fmt.Errorf("line %d: %d in flight, %d elsewhere", l.id, l.inFlight, l.elsewhere)
			}
			eInFlight += l.inFlight - l.elsewhere
			eWaiting += l.waiting()
			if l.offered {
				eOffered++
			}
			switch {
			case l.waiting() == 0 && l.at.in != nil:
				return fmt.Errorf("line %d is empty and in a list", l.id)
			case l.waiting() > 0 && l.at.in != &e.ready && l.at.in != &l.queue.parked:
				return fmt.Errorf("line %d has items and is in no list", l.id)
			case l.at.in == &e.ready:
				ready++
			case l.offered:
				return fmt.Errorf("line %d is offered and not ready", l.id)
			}
		}
		if len(e.lines) == 0 {
			bare++
		}
		if eInFlight += e.left; eInFlight != e.inFlight || e.left < 0 || eWaiting != e.waiting || eOffered != e.offered {
			return fmt.Errorf("endpoint %s: in flight %d, waiting %d, offered %d; counted %d, %d, %d",
				e.name, e.inFlight, e.waiting, e.offered, eInFlight, eWaiting, eOffered)
		}
		if e.ring.in == nil && eOffered > 0 {
			return fmt.Errorf("endpoint %s is in no ring and has offers", e.name)
		}
		if e.ring.in != nil && (ready == 0 || e.ring.in != &c.rings[e.tier()]) {
			return fmt.Errorf("endpoint %s is in the wrong ring, tier %d", e.name, e.tier())
		}
		if listens := e.class != silent && e.inFlight > 0; listens != (e.hush.in != nil) {
			return fmt.Errorf("endpoint %s: listened to %t, want %t", e.name, e.hush.in != nil, listens)
		}
		if e.limit < 1 || e.breaker.old < 0 || e.breaker.old > e.inFlight {
			return fmt.Errorf("endpoint %s: limit %d of %d, old %d of %d", e.name, e.limit, e.concurrency, e.breaker.old, e.inFlight)
		}
		if e.inFlight > e.concurrency {
			return fmt.Errorf("endpoint %s: %d in flight, limit %d", e.name, e.inFlight, e.concurrency)
		}
		if e.breaker.state == Open {
			open++
		}
		inFlight += e.inFlight
		waiting += e.waiting
		offered += e.offered
		held[e.class] += e.inFlight
	}
	if bare != c.bare {
		return fmt.Errorf("%d endpoints without a line, counted %d", c.bare, bare)
	}
	var qInFlight, qWaiting, qOffered int
	for _, q := range c.queues {
		if q.concurrency > 0 && q.inFlight > q.concurrency {
			return fmt.Errorf("queue %s: %d in flight, limit %d", q.name, q.inFlight, q.concurrency)
		}
		qInFlight += q.inFlight
		qWaiting += q.waiting
		qOffered += q.offered
	}
	p := &c.pool
	if inFlight != p.inFlight || inFlight != qInFlight || held != p.held {
		return fmt.Errorf("in flight: pool %d %v, endpoints %d %v, queues %d", p.inFlight, p.held, inFlight, held, qInFlight)
	}
	if waiting != c.slab.n || waiting != qWaiting || offered != qOffered || open != c.openBreakers {
		return fmt.Errorf("waiting %d %d %d, offered %d %d, open %d %d", c.slab.n, waiting, qWaiting, offered, qOffered, open, c.openBreakers)
	}
	if p.inFlight > p.ceiling || p.limit < p.floor || p.limit > p.top {
		return fmt.Errorf("pool: %d in flight, limit %d, floor %d, ceiling %d", p.inFlight, p.limit, p.floor, p.ceiling)
	}
	return nil
}

// mayGo searches all lines for one whose item may go now.
func (c *core) mayGo() *line {
	for _, l := range c.all {
		e := l.endpoint
		if l.waiting() > 0 && !l.queue.blocked(c.now) && !e.paused && e.allowed(c.options.Start) &&
			(e.breaker.state != Open || e.breaker.until <= c.now) && e.turn() <= c.now && c.pool.room(e.tier()) {
			return l
		}
	}
	return nil
}
