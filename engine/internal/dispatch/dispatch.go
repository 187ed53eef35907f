package dispatch

import (
	"cmp"
	"math"
	"time"

	"github.com/bellmanhq/bellman/engine/internal/locks"
)

// Options are the limits of a D as a whole. The zero value has the defaults.
type Options struct {
	Floor   int // initial and smallest limit of the pool, at most 3/4 of Ceiling; default 64
	Ceiling int // most attempts in flight; default 2048

	LineBound  int // most items that wait in one line; default 1024
	TotalBound int // most items that wait in all lines, with the exceptions of Push; default 65536

	Start int // limit of an endpoint that is new or does not answer; default 8

	Patience time.Duration // a line in which items would wait longer has few places while elders wait outside; default 2s

	BreakAfter int // consecutive failures that open a breaker; default 10; negative: never
}

func (o Options) withDefaults() Options {
	o.Floor = cmp.Or(max(o.Floor, 0), 64)
	o.Ceiling = cmp.Or(max(o.Ceiling, 0), 2048)
	o.LineBound = cmp.Or(max(o.LineBound, 0), 1024)
	o.TotalBound = cmp.Or(max(o.TotalBound, 0), 65536)
	o.Start = cmp.Or(max(o.Start, 0), 8)
	o.Patience = cmp.Or(o.Patience, 2*time.Second)
	o.BreakAfter = cmp.Or(o.BreakAfter, 10)
	return o
}

// Forever is the result of [D.Wait] for a paused line.
const Forever = time.Duration(math.MaxInt64)

// A D holds items that are due and decides which goes next. All methods are safe for concurrent
// use.
type D[T any] struct {
	mu    locks.Mutex
	core  core
	items []T // by node
}

// New returns a D without lines.
func New[T any](options Options) *D[T] {
	o := options.withDefaults()
	d := &D[T]{core: core{
		options:         o,
		lines:           make(map[uint64]*line),
		byKey:           make(map[endpointKey]*endpoint),
		queues:          make(map[string]*queue),
		pausedQueues:    make(map[string]bool),
		pausedEndpoints: make(map[string]bool),
		pool:            newPool(o.Floor, o.Ceiling),
	}}
	locks.Name(&d.mu, "dispatch")
	return d
}

// Resize replaces Options.Floor and Options.Ceiling; 0 means the default. Attempts in flight beyond
// a smaller ceiling keep their slots until they end. After Resize, Next may return more items.
func (d *D[T]) Resize(now int64, floor, ceiling int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := &d.core
	c.tick(now)
	c.options.Floor, c.options.Ceiling = floor, ceiling
	c.options = c.options.withDefaults()
	c.pool.resize(c.options.Floor, c.options.Ceiling)
}

// A Pushed is the result of a Push.
type Pushed uint8

// Results of a Push.
const (
	Kept    Pushed = iota // the item waits in its line
	Low                   // the item waits in its line, which has few elders left: fetch more
	Full                  // the item was not kept: there is no place for it
	Unknown               // the item was not kept: its line is not open. Open it and push again
)

// A Rank says whether older items of the same line wait outside the D, because the line had no
// place for them. Such items are elders. While there are any, newer items take at most half of the
// places. Otherwise they would take every place, because they arrive more often than elders are
// fetched.
type Rank uint8

// Ranks of items.
const (
	Alone Rank = iota // no item waits outside
	Newer             // older items wait outside
	Elder             // the item waited outside
)

// Urgent, given as the number of attempts, puts an item at the front of its line: somebody waits
// for it.
const Urgent = -1

// Push puts a due item in its line; attempts is how often it was attempted. The rank of urgent
// items does not matter. TotalBound does not hold for an empty line, so that no endpoint is shut
// out by others. For the line of an endpoint that answers quickly it holds beyond a sixteenth of
// LineBound.
func (d *D[T]) Push(now int64, line uint64, due int64, attempts int, rank Rank, item T) Pushed {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := &d.core
	l := c.lines[line]
	if l == nil {
		return Unknown
	}
	f, n, most := l.list(attempts, c.options.LineBound)
	if n >= most || n >= c.least(l) && c.slab.n >= c.options.TotalBound {
		return Full
	}
	c.now = max(c.now, now)
	pushed := Kept
	if rank == Newer && f != &l.urgent {
		elders, places := l.elders(f), c.places(l, most, c.wait(l))
		if n-elders >= places/2 {
			return Full
		}
		if elders <= places/4 {
			pushed = Low
		}
	}
	i := c.push(l, due, f, rank == Elder)
	for int(i) >= len(d.items) {
		var none T
		d.items = append(d.items, none)
	}
	d.items[i] = item
	return pushed
}

// least is how many items a line takes regardless of TotalBound.
func (c *core) least(l *line) int {
	if l.endpoint.class == quick && l.endpoint.breaker.state == Closed {
		return max(c.options.LineBound/16, 1)
	}
	return 1
}

// A Ticket is the right to make one attempt. It holds a slot until Done.
type Ticket struct {
	More bool // another call of Next might return an item now

	line     *line
	endpoint *endpoint // the line's endpoint at the start of the attempt
	moves    uint32    // line.moves at the start of the attempt
	started  int64
	era      uint32
}

// Endpoint is the endpoint to which the attempt must go.
func (t Ticket) Endpoint() string { return t.endpoint.key.name }

// Next returns the next item, if any may go now. The caller makes the attempt and then calls Done
// or DoneNext exactly once. If the item is void by now (cancelled, or its shard was lost), the
// caller reports Skipped at once.
func (d *D[T]) Next(now int64) (Ticket, T, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.core.tick(now)
	return d.next()
}

func (d *D[T]) next() (Ticket, T, bool) {
	var none T
	t, i, ok := d.core.next()
	if !ok {
		return Ticket{}, none, false
	}
	item := d.items[i]
	d.items[i] = none // nothing here keeps it alive
	return t, item, true
}

// Done reports the outcome of a ticket's attempt and frees its slot. A second Done for a ticket
// corrupts the counts; it panics where that is noticed.
func (d *D[T]) Done(now int64, t Ticket, out Outcome) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.core.tick(now)
	d.core.end(&t, out)
}

// Hold sends nothing to the endpoint of a ticket before until, because the endpoint asked for that.
// Call it before the ticket's Done. A later time of another call stands.
func (d *D[T]) Hold(now int64, t Ticket, until int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.core.tick(now)
	t.endpoint.held = max(t.endpoint.held, until)
	d.core.place(t.endpoint)
}

// DoneNext is Done followed by Next, in one step.
func (d *D[T]) DoneNext(now int64, t Ticket, out Outcome) (Ticket, T, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.core.tick(now)
	d.core.end(&t, out)
	return d.next()
}

// Wake returns when to call Next although nothing was pushed or done: when the first item that
// waits only for a rate, a probe or the growth of the pool may go. ok is false if there is none.
// The time may be too early, and is never too late.
func (d *D[T]) Wake(now int64) (at int64, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := &d.core
	c.now = max(c.now, now)
	if len(c.timers) > 0 {
		at, ok = c.timers[0].at, true
	}
	if look, pressed := c.pool.look(c.now); pressed && (!ok || look < at) {
		at, ok = look, true
	}
	return max(at, c.now), ok
}

// Wait estimates how long an item that is pushed to a line now would wait for its endpoint: the
// items that wait there times its recent pace, plus the remaining time of an open breaker. It
// returns Forever if the line is paused, and 0 if it is unknown or waits only for the pool.
func (d *D[T]) Wait(now int64, line uint64) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := &d.core
	c.now = max(c.now, now)
	if l := c.lines[line]; l != nil && !c.ready(l) {
		return c.wait(l)
	}
	return 0
}

// ready reports whether an item of a quick endpoint's line may go as soon as the pool has a slot.
func (c *core) ready(l *line) bool {
	e := l.endpoint
	return l.at.in == &e.ready && e.ring.in != nil && e.class == quick && !l.queue.blocked(c.now)
}

// Room returns how many more elders with that many attempts a line should get, and how long an item
// would wait in it, also for the pool. Push keeps that many now. A line in which items would wait
// longer than Options.Patience should get only a few. So should an unknown line.
func (d *D[T]) Room(now int64, line uint64, attempts int) (n int, wait time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := &d.core
	c.now = max(c.now, now)
	l := c.lines[line]
	if l == nil {
		return handful, 0
	}
	_, has, most := l.list(attempts, c.options.LineBound)
	wait = c.wait(l)
	n = max(c.options.TotalBound-c.slab.n, c.least(l)-has) // the other lines may have taken the rest
	return min(n, c.places(l, most, wait)-has), wait
}

const handful = 16 // items of a line in which they wait long

// places is how many items a list of l should have while elders wait outside. most is the bound of
// the list, and wait how long an item would wait.
func (c *core) places(l *line, most int, wait time.Duration) int {
	if c.slab.n >= c.options.TotalBound {
		most = min(most, c.least(l))
	}
	if wait > c.options.Patience {
		most = min(most, handful)
	}
	return most
}

// Remove removes the items of a line for which drop returns true, and returns their number. It
// looks at every item of the line. drop must not call d.
func (d *D[T]) Remove(line uint64, drop func(T) bool) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := &d.core
	l := c.lines[line]
	if l == nil || l.waiting() == 0 {
		return 0
	}
	void := func(i uint32) bool {
		if !drop(d.items[i]) {
			return false
		}
		var none T
		d.items[i] = none
		return true
	}
	n := c.slab.sift(&l.urgent, void)
	for age := range l.aged {
		dropped := c.slab.sift(&l.aged[age], void)
		l.others -= dropped
		n += dropped
	}
	l.endpoint.waiting -= n
	l.queue.waiting -= n
	if l.waiting() == 0 {
		c.settle(l)
		l.at.leave()
		c.placeQueue(l.queue)
		c.place(l.endpoint)
	}
	return n
}
