package dispatch

import (
	"cmp"
	"math"
	"time"

	"github.com/bellmanhq/bellman/engine/internal/locks"
)

// Options are the limits of a D as a whole. The zero value works.
type Options struct {
	Floor   int // the pool's limit at first and at least, up to 3/4 of Ceiling; default 64
	Ceiling int // the pool's limit at most, over all attempts in flight; default 2048

	LineBound  int // items that wait in one line; default 1024
	TotalBound int // items that wait in all lines, but see Push; default 65536

	Start int // the limit of an endpoint that is new, or does not answer; default 8

	BreakAfter  int           // failures in a row that open an endpoint's breaker; default 10, negative: never
	CoolDown    time.Duration // before the first probe; default 1s
	MaxCoolDown time.Duration // what it doubles up to; default 1m

	IdleAfter time.Duration // a line that nothing used for so long is forgotten; default 5m
}

func (o Options) withDefaults() Options {
	o.Floor = cmp.Or(max(o.Floor, 0), 64)
	o.Ceiling = cmp.Or(max(o.Ceiling, 0), 2048)
	o.LineBound = cmp.Or(max(o.LineBound, 0), 1024)
	o.TotalBound = cmp.Or(max(o.TotalBound, 0), 65536)
	o.Start = cmp.Or(max(o.Start, 0), 8)
	o.BreakAfter = cmp.Or(o.BreakAfter, 10)
	o.CoolDown = cmp.Or(max(o.CoolDown, 0), time.Second)
	o.MaxCoolDown = max(cmp.Or(o.MaxCoolDown, time.Minute), o.CoolDown)
	o.IdleAfter = cmp.Or(max(o.IdleAfter, 0), 5*time.Minute)
	return o
}

// Forever is what [D.Wait] says of a paused line.
const Forever = time.Duration(math.MaxInt64)

// A D holds items that are due, and says which goes next. All methods may be
// called from several goroutines at once.
type D[T any] struct {
	mu    locks.Mutex
	core  core
	items []T // by node
}

// New returns a D that knows no line.
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

// Resize replaces Options.Floor and Options.Ceiling; 0 is the default. Attempts in
// flight beyond a smaller ceiling keep their slots until they end. After it Next may
// give more.
func (d *D[T]) Resize(now int64, floor, ceiling int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := &d.core
	c.tick(now)
	c.options.Floor, c.options.Ceiling = floor, ceiling
	c.options = c.options.withDefaults()
	c.pool.resize(c.options.Floor, c.options.Ceiling)
}

// A Pushed says what became of an item.
type Pushed uint8

// What may become of an item.
const (
	Kept    Pushed = iota // it waits its turn
	Full                  // not kept: its line, or everything, is at its bound
	Unknown               // not kept: its line is not open, or was forgotten: Open it and try again
)

// Urgent, for the number of attempts, says that somebody waits for this item: it
// goes to the front of its line.
const Urgent = -1

// Push puts an item that is due, and was attempted so often, in its line. A line
// that is empty takes an item whatever else waits, and the line of an endpoint that answers
// quickly takes a sixteenth of LineBound, so that no endpoint is shut out by others.
func (d *D[T]) Push(now int64, line uint64, due int64, attempts int, item T) Pushed {
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
	i := c.push(l, due, f)
	for int(i) >= len(d.items) {
		var none T
		d.items = append(d.items, none)
	}
	d.items[i] = item
	return Kept
}

// least is how many items a line takes whatever else waits.
func (c *core) least(l *line) int {
	if l.endpoint.class == quick && l.endpoint.breaker.state == Closed {
		return max(c.options.LineBound/16, 1)
	}
	return 1
}

// A Ticket is the right to make one attempt, and holds its slot until Done.
type Ticket struct {
	Due  int64 // as pushed
	More bool  // another Next might give one now: whoever got this may start somebody to ask

	line     *line
	endpoint *endpoint // the line's when it began
	moves    uint32    // of the line until then
	started  int64
	era      uint32
}

// Endpoint is the endpoint that the attempt is to go to.
func (t Ticket) Endpoint() string { return t.endpoint.key.name }

// Next gives the item whose turn it is, if any may go now. The caller makes the
// attempt and calls Done or DoneNext, exactly once. An item that is void by now
// (cancelled, or its shard was lost) is reported as Skipped at once.
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

// Done reports how the attempt of a ticket went, and gives back its slot. A
// second Done for one ticket breaks the counts; it panics where it is noticed.
func (d *D[T]) Done(now int64, t Ticket, out Outcome) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.core.tick(now)
	d.core.end(&t, out)
}

// Hold sends nothing to the endpoint of a ticket before until, which it asked for. It is
// called before the ticket's Done. A later time that was asked for before stands.
func (d *D[T]) Hold(now int64, t Ticket, until int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.core.tick(now)
	t.endpoint.held = max(t.endpoint.held, until)
	d.core.place(t.endpoint)
}

// DoneNext is Done and then Next, for somebody who goes on until there is
// nothing to do.
func (d *D[T]) DoneNext(now int64, t Ticket, out Outcome) (Ticket, T, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.core.tick(now)
	d.core.end(&t, out)
	return d.next()
}

// Wake returns when to call Next although nothing was pushed or done: when the
// next of those that wait only for a rate, a probe, or the pool to grow may go.
// It is false if there is none. It may be too early, and never is too late.
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

// Wait estimates how long an item pushed to a line now would wait: what waits
// for the endpoint times the pace of late, and what is left of an open
// breaker's time. It is Forever if the line is paused, and 0 if it is not known.
func (d *D[T]) Wait(now int64, line uint64) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := &d.core
	c.now = max(c.now, now)
	if l := c.lines[line]; l != nil {
		return c.wait(l)
	}
	return 0
}

// Room returns how many more items a line takes that are not the youngest, and what Wait says of it. Of a line where
// they would wait for longer than patience, a few are enough. A line that is not known has room for a few.
func (d *D[T]) Room(now int64, line uint64, patience time.Duration) (n int, wait time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := &d.core
	c.now = max(c.now, now)
	l := c.lines[line]
	if l == nil {
		return handful, 0
	}
	_, has, most := l.list(math.MaxInt32, c.options.LineBound)
	if c.slab.n >= c.options.TotalBound {
		most = min(most, c.least(l))
	}
	if wait = c.wait(l); wait > patience {
		most = min(most, handful)
	}
	return most - has, wait
}

const handful = 16 // items of a line that is blocked

// Remove takes out of a line the items that drop says, and returns how many.
// It looks at every item of the line; drop must not call d.
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
