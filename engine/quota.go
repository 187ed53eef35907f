package engine

import (
	"math"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/dispatch"
)

// A limit that holds for all nodes together is cut into pieces, each of which belongs
// to a shard: whoever owns the shard may use the piece. So a node has as much of a
// limit as its shards have, all nodes have the whole of it and never more, and none
// has to ask another. New tasks go to shards that have a piece, each by its size.
//
// A piece is large enough to be used well by whoever has it: a limit that is small is
// in one piece, one node's alone. A queue's pieces begin at a place that its name
// gives, an endpoint's at one that its own name gives, among those of the queue if
// that has less than all.
const (
	quotaParts   = 64    // of a limit, at most
	partAttempts = 16    // in flight
	partRate     = 100.0 // attempts a second
)

// cut says whether a queue has limits that are shared out by pieces. Without any it
// has as much of the default as it has shards, and its tasks stay where they come in.
func (q *Queue) clusterWide() bool { return q.whole() || q.perEndpoint }

// whole reports whether a queue has a limit over all its endpoints.
func (q *Queue) whole() bool { return q.Concurrency > 0 || q.Rate > 0 }

// own returns where the pieces of a queue's own limits begin, and how many they are.
func (q *Queue) own() (first, n uint16) {
	if n = count(q.Concurrency, q.Rate); n == quotaParts {
		return 0, n // so that an endpoint's pieces are the same for all such queues
	}
	return begin("queue", q.Name), n
}

// count is how many pieces limits are cut into; 0 is no limit.
func count(atOnce int, rate float64) uint16 {
	n := float64(quotaParts)
	if atOnce > 0 {
		n = min(n, float64(atOnce/partAttempts))
	}
	if rate > 0 {
		n = min(n, math.Floor(rate/partRate))
	}
	return uint16(max(n, 1))
}

// line returns where the pieces of one of a queue's endpoints begin among the
// queue's own, and how many they are: so many at least that the queue's own are not too small
// for them.
func (q *Queue) line(endpoint string, of uint16) (first, n uint16) {
	if !q.perEndpoint {
		return 0, of
	}
	atOnce := 0 // as was asked for
	if q.slots {
		atOnce = q.EndpointConcurrency
	}
	least := 1.0
	if q.Concurrency > 0 {
		least = max(least, math.Ceil(float64(atOnce)/partAttempts))
	}
	if q.Rate > 0 {
		least = max(least, math.Ceil(q.EndpointRate/partRate))
	}
	n = uint16(min(max(float64(count(atOnce, q.EndpointRate)), least), float64(q.EndpointConcurrency), float64(of)))
	if endpoint == "" {
		return begin("queue", q.Name) % of, n
	}
	return begin("endpoint", endpoint) % of, n
}

// begin is where the pieces of a name begin. It is the same on all nodes.
func begin(kind, name string) uint16 { return uint16(weight(0, kind+" "+name) >> 49) }

// place returns the place of a new task, by a random number. Its shard is the place
// modulo the number of shards.
func (q *Queue) place(endpoint string, random uint16) uint16 {
	first, of := q.own()
	from, n := q.line(endpoint, of)
	size := 0
	switch {
	case q.perEndpoint:
		size = q.EndpointConcurrency
	case q.Concurrency > 0:
		size = q.Concurrency
	}
	if size > 0 {
		random %= uint16(min(size, 1<<16-1)) // of what is dealt out in turn, so that a piece that has more gets more
	}
	return first + (from+random%n)%of
}

// home reports whether a shard has a piece of what limits a queue's tasks for an
// endpoint.
func (q *Queue) home(endpoint string, shard uint16, shards int) bool {
	first, of := q.own()
	from, n := q.line(endpoint, of)
	for i := range n {
		if int(first+(from+i)%of)%shards == int(shard) {
			return true
		}
	}
	return false
}

// A portion is what one node has of all shards.
type quota struct {
	owned []bool // by shard; nil: everything is this node's
	part  float64
}

// portion returns what this node has of all shards.
func (l *leases) quota() quota {
	p := quota{part: l.part()}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.total > 0 {
		p.owned = make([]bool, l.total)
		for _, s := range l.owned {
			p.owned[s] = true
		}
	}
	return p
}

// has reports whether the piece at a place is this node's.
func (p quota) has(place uint16) bool { return p.owned == nil || p.owned[int(place)%len(p.owned)] }

// share returns how much of a number that is dealt out in n pieces this node has, and
// how many of them; piece i is at the place that at says.
func (p quota) share(number int, n uint16, at func(uint16) uint16) (sum, mine int) {
	for i := range n {
		if p.has(at(i)) {
			mine++
			sum += number / int(n)
			if int(i) < number%int(n) {
				sum++
			}
		}
	}
	return sum, mine
}

// rules are a queue's limits, for one of its lines, on a node that has a portion of
// all shards. Where that has no piece of a limit, the line is only looked through:
// its tasks are moved, one at a time, to shards that have (see astray).
func (q Queue) rules(queue, endpoint string, p quota) dispatch.Rules {
	r := dispatch.Rules{
		Queue:            queue,
		Endpoint:         endpoint,
		QueueConcurrency: q.Concurrency,
		QueueRate:        q.Rate,
		YoungFirst:       q.YoungFirst,
		Concurrency:      q.EndpointConcurrency,
		Rate:             q.EndpointRate,
	}
	if !q.clusterWide() {
		r.Concurrency = scale(r.Concurrency, p.part)
		return r
	}
	first, of := q.own()
	own := func(i uint16) uint16 { return first + i }
	slots, mine := p.share(q.Concurrency, of, own)
	part := float64(mine) / float64(of)
	switch {
	case mine == 0:
		r.QueueConcurrency, r.QueueRate = 1, 0
		return r
	case q.Concurrency > 0:
		r.QueueConcurrency = slots
	}
	r.QueueRate = q.Rate * part
	if !q.perEndpoint {
		r.Concurrency = scale(r.Concurrency, part)
		return r
	}
	from, n := q.line(endpoint, of)
	if slots, mine := p.share(q.EndpointConcurrency, n, func(i uint16) uint16 { return own((from + i) % of) }); mine > 0 {
		r.Concurrency, r.Rate = slots, q.EndpointRate*float64(mine)/float64(n)
	}
	return r
}

// scale is a part of a limit, but 1 at least; 0, no limit, stays 0.
func scale(n int, part float64) int {
	if n <= 0 {
		return n
	}
	return max(int(float64(n)*part), 1)
}

// serves reports whether a node may attempt a queue's tasks for an endpoint at all: it
// has a piece of each limit.
func (p quota) serves(q *Queue, endpoint string) bool {
	first, of := q.own()
	from, n := q.line(endpoint, of)
	for i := range n {
		if p.has(first + (from+i)%of) {
			return true
		}
	}
	return false
}

// chance is the number by which a task's shard is drawn: a random one, or one that
// tasks of an ordering key have in common.
func chance(t *bellman.Task) uint16 {
	if t.OrderingKey != "" {
		return uint16(weight(0, "ordering "+t.Queue+"\x00"+t.OrderingKey) >> 48)
	}
	return uint16(t.ID[14])<<8 | uint16(t.ID[15])
}

// yieldShare tells the dispatcher that this node has less of the limits: at once where
// another will have the more of it, else soon, for there may be many lines.
func (e *Engine) yieldShare() {
	for _, q := range *e.rules.queues.Load() {
		if q.clusterWide() {
			e.reshare()
			return
		}
	}
	e.shareChanged.Store(true)
}
