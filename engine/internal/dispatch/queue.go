package dispatch

import "math"

// A queue has limits that hold for all its lines. A line that has its turn while its queue may not
// send is parked in the queue.
type queue struct {
	name        string
	concurrency int // 0: no limit
	rate        rate
	paused      bool

	lines    int
	inFlight int
	waiting  int
	parked   list[line]
	offered  int         // lines that left parked to take a free slot, and have not had their turn
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

// placeQueue puts q among the queues with parked lines that could go, takes it out, or sets its
// timer. Call it after every change that may affect this.
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

// enter puts a line that was empty in its place.
func (c *core) enter(l *line) {
	if q := l.queue; q.blocked(c.now) || !q.parked.empty() {
		q.parked.pushBack(&l.at)
		c.placeQueue(q)
		return
	}
	l.endpoint.ready.pushBack(&l.at)
	c.place(l.endpoint)
}

// park moves a line from the ready lines of its endpoint to the parked lines of its queue: to the
// end, or to the front if it was offered a slot and did not get it.
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

// unpark moves the first parked line of q to the ready lines of its endpoint.
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

// offer unparks lines of queues that may send: a few at a time, and no more than could find a slot.
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

// probe is called when no ready line finds a slot. It reports whether it unparked another line.
// While other lines are ready, that must be one that would find a slot: probe checks a few, and
// moves the others to the end.
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
