package dispatch

// Totals are counts over all lines. They take constant time.
type Totals struct {
	InFlight  int
	Limit     int // present limit of the pool: slots for quick endpoints, plus those that others hold
	Floor     int // smallest limit of the pool
	Ceiling   int // most attempts in flight
	Waiting   int
	OldestDue int64 // due time of the item that has waited longest; 0: nothing waits

	Endpoints    int
	OpenBreakers int
}

// Totals returns the counts over all lines.
func (d *D[T]) Totals() Totals {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := &d.core
	t := Totals{
		InFlight:     c.pool.inFlight,
		Limit:        c.pool.reported(),
		Floor:        c.pool.floor,
		Ceiling:      c.pool.ceiling,
		Waiting:      c.slab.n,
		Endpoints:    len(c.endpoints),
		OpenBreakers: c.openBreakers,
	}
	if c.slab.n > 0 {
		t.OldestDue = c.slab.nodes[c.slab.oldest].due
	}
	return t
}

// An EndpointState describes an endpoint at one moment.
type EndpointState struct {
	Name      string
	Queue     string // the queue that is this endpoint itself; empty: an endpoint of any queue
	InFlight  int
	Limit     int     // attempts in flight allowed now, regardless of the pool
	Rate      float64 // its pace, in attempts a second; 0: it has none
	Waiting   int
	OldestDue int64   // 0: nothing waits
	Success   float64 // share of accepted attempts among the last hundred or so
	Attempts  int     // number of attempts that Success covers, at most a hundred
	Breaker   State
}

func (c *core) state(e *endpoint) EndpointState {
	s := EndpointState{
		Name:     e.name,
		Queue:    e.key.queue,
		InFlight: e.inFlight,
		Limit:    e.bound(c.options.Start),
		Rate:     e.pace.perSecond,
		Waiting:  e.waiting,
		Success:  e.success,
		Attempts: e.outcomes,
		Breaker:  e.breaker.state,
	}
	if c.now-e.pace.fell >= paceForget {
		s.Rate = 0
	}
	if s.Breaker == Open {
		s.Limit = 0
		if e.breaker.probing || e.breaker.until <= c.now {
			s.Limit = 1
		}
	}
	for _, l := range e.lines {
		if due, ok := c.slab.oldestDue(l); ok && (s.OldestDue == 0 || due < s.OldestDue) {
			s.OldestDue = due
		}
	}
	return s
}

// Endpoints returns the state of every endpoint, in no order. It releases the lock after every few
// hundred, so an endpoint that is added or forgotten meanwhile may be missing.
func (d *D[T]) Endpoints() []EndpointState {
	var all []EndpointState
	for from := -1; ; {
		d.mu.Lock()
		if from < 0 {
			from = len(d.core.endpoints)
			all = make([]EndpointState, 0, from)
		}
		from = min(from, len(d.core.endpoints))
		stop := max(from-chunk, 0)
		for ; from > stop; from-- {
			all = append(all, d.core.state(d.core.endpoints[from-1]))
		}
		d.mu.Unlock()
		if stop == 0 {
			return all
		}
	}
}

// A QueueState describes a queue at one moment.
type QueueState struct {
	Name      string
	InFlight  int
	Waiting   int
	Held      int   // of Waiting, items that a pause or a breaker holds
	OldestDue int64 // among items that nothing holds; 0: there are none
}

// held reports whether a pause or a breaker holds every item of l.
func (l *line) held() bool {
	return l.queue.paused || l.endpoint.paused || l.endpoint.breaker.state != Closed
}

// Held reports whether a pause or a breaker holds every item of a line. An unknown line is not
// held.
func (d *D[T]) Held(line uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.core.lines[line]
	return l != nil && l.held()
}

// Queues returns the state of every queue, in no order. It visits every line, and releases the lock
// after every few hundred.
func (d *D[T]) Queues() []QueueState {
	oldest, held := make(map[string]int64), make(map[string]int)
	for from := -1; ; {
		d.mu.Lock()
		c := &d.core
		if from < 0 {
			from = len(c.all)
		}
		from = min(from, len(c.all))
		stop := max(from-chunk, 0)
		for ; from > stop; from-- {
			l := c.all[from-1]
			if l.held() {
				held[l.queue.name] += l.waiting()
			} else if due, ok := c.slab.oldestDue(l); ok {
				if o, seen := oldest[l.queue.name]; !seen || due < o {
					oldest[l.queue.name] = due
				}
			}
		}
		if stop > 0 {
			d.mu.Unlock()
			continue
		}
		all := make([]QueueState, 0, len(c.queues))
		for _, q := range c.queues {
			all = append(all, QueueState{Name: q.name, InFlight: q.inFlight, Waiting: q.waiting, Held: held[q.name], OldestDue: oldest[q.name]})
		}
		d.mu.Unlock()
		return all
	}
}
