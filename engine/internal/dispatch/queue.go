package dispatch

import "math"

// A queue's limits hold over all its lines. A line that has its turn while its
// queue may not send is parked here until it may.
type queue struct {
	name        string
	concurrency int // 0: no limit
	rate        rate
	paused      bool

	lines    int
	inFlight int
	waiting  int
	parked   list[line]
	offered  int         // lines that left parked for a free slot, and have not had their turn
	open     elem[queue] // in core.open while parked lines could go
	timer    timer
}

func (q *queue) blocked(now int64) bool {
	return q.paused || q.concurrency > 0 && q.inFlight >= q.concurrency || q.rate.at() > now
}

// free returns how many more attempts the queue may have in flight.
func (q *queue) free() int {
	if q.concurrency == 0 {
		return math.MaxInt
	}
	return q.concurrency - q.inFlight
}

// placeQueue puts q among the queues with parked lines that could go, or takes
// it out, or sets its timer. It is called after whatever may change that.
func (c *core) placeQueue(q *queue) {
	if q.parked.empty() || q.blocked(c.now) {
		q.open.leave()
		if !q.parked.empty() && !q.paused && q.rate.at() > c.now {
			c.timers.set(&q.timer, q.rate.at())
		} else {
			c.timers.clear(&q.timer)
		}
		return
	}
	c.timers.clear(&q.timer)
	if q.open.in == nil {
		c.open.pushBack(&q.open)
	}
}

// enter puts a line that has just got something to send where it belongs.
func (c *core) enter(l *line) {
	if q := l.queue; q.blocked(c.now) || !q.parked.empty() {
		q.parked.pushBack(&l.at)
		c.placeQueue(q)
		return
	}
	l.endpoint.ready.pushBack(&l.at)
	c.place(l.endpoint)
}

// park moves a line from its endpoint's ready lines to its queue's parked ones:
// to the end, or to the front if it was offered a slot and did not get it.
func (c *core) park(l *line) {
	q := l.queue
	l.at.leave()
	if l.offered {
		c.settle(l)
		q.parked.pushFront(&l.at)
	} else {
		q.parked.pushBack(&l.at)
	}
	c.placeQueue(q)
}

// settle ends an offer: the line had its turn, or its endpoint may not send.
func (c *core) settle(l *line) {
	if l.offered {
		l.offered = false
		l.queue.offered--
		l.endpoint.offered--
	}
}

// unpark moves the first parked line of q to its endpoint's ready lines.
func (c *core) unpark(q *queue) {
	l := q.parked.head.of
	l.at.leave()
	e := l.endpoint
	e.ready.pushBack(&l.at)
	c.place(e)
	if e.ring.in != nil {
		l.offered = true
		q.offered++
		e.offered++
	}
	c.placeQueue(q)
}

// offer lets parked lines of queues that may send take part, as many as could
// find a slot, and a few at a time.
func (c *core) offer() {
	for range 4 {
		el := c.open.head
		if el == nil {
			return
		}
		q := el.of
		switch {
		case q.blocked(c.now):
			c.placeQueue(q)
		case q.offered >= q.free():
			c.open.moveBack(el)
		default:
			c.unpark(q)
		}
	}
}

// probe is called when nobody who takes part finds a slot, and reports whether
// it let another line take part. Where others wait it must be one that would
// find a slot: it looks at a few, and sends those that would not to the end.
func (c *core) probe() bool {
	idle := true
	for t := range tiers {
		idle = idle && c.rings[t].empty()
	}
	for range 8 {
		el := c.open.head
		if el == nil {
			return false
		}
		q := el.of
		l := q.parked.head.of
		if idle || c.when(l.endpoint) <= c.now && c.pool.room(l.endpoint.tier()) {
			c.unpark(q)
			return true
		}
		q.parked.moveBack(&l.at)
		c.open.moveBack(el)
	}
	return false
}
