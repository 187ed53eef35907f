package engine

import (
	"cmp"
	"math"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/cluster"
	"github.com/bellmanhq/bellman/engine/internal/dispatch"
)

// A cluster-wide limit is divided into parts, and each part belongs to a shard. The owner of the
// shard may use the part. So all nodes together use the whole limit and never more, and no node
// asks another. New tasks go to shards with a part, in proportion to its size.
//
// A part is large enough to be used well by one node; a small limit is one part. The parts of a
// queue start at a shard that its name determines. The parts of an endpoint start at one of these
// that the endpoint's name determines.
const (
	quotaParts   = 64    // parts of a limit, at most
	partAttempts = 16    // concurrent attempts of one part
	partRate     = 100.0 // attempts a second of one part
)

// clusterWide reports whether a queue has cluster-wide limits. Without any, a node has as much of
// the default limit as it has shards, and tasks stay where they are accepted.
func (q *Queue) clusterWide() bool { return q.whole() || q.perEndpoint }

// whole reports whether a queue has a limit over all its endpoints.
func (q *Queue) whole() bool { return q.Concurrency > 0 || q.Rate > 0 }

// own returns the first part of a queue's own limits, and their number.
func (q *Queue) own() (first, n uint16) {
	if q.common != nil && (q.rated || q.whole()) {
		return q.common.first, q.common.of
	}
	if n = count(q.Concurrency, q.Rate); n == quotaParts {
		return 0, n // then the parts of an endpoint are the same for all such queues
	}
	return begin("queue", q.Name), n
}

// setCommon gives queues their common parts.
func setCommon(queues map[string]Queue) {
	c := &common{of: quotaParts, most: math.MaxInt, least: 1}
	first := "" // the queue that determines where the parts start: of those with limits, the first by name
	for name, q := range queues {
		if l, ok := q.Handler.(bellman.Limiter); !ok || !l.Limits() {
			continue
		}
		q.common = c
		queues[name] = q
		c.most = min(c.most, q.EndpointConcurrency)
		if q.slots {
			c.slots = min(cmp.Or(c.slots, q.EndpointConcurrency), q.EndpointConcurrency)
		}
		if !q.whole() {
			continue
		}
		if first == "" || name < first {
			first = name
		}
		c.of = min(c.of, count(q.Concurrency, q.Rate))
		c.ratePart = c.ratePart || q.Rate > 0
		if q.slots && q.Concurrency > 0 {
			c.least = max(c.least, math.Ceil(float64(q.EndpointConcurrency)/partAttempts))
		}
	}
	if c.of < quotaParts {
		c.first = begin("queue", first)
	}
}

// partsOf returns the number of parts of an endpoint with a rate.
func (c *common) partsOf(rate float64) uint16 {
	least := c.least
	if c.ratePart {
		least = max(least, math.Ceil(rate/partRate))
	}
	return uint16(min(max(float64(count(c.slots, rate)), least), float64(c.most), float64(c.of)))
}

// count returns the number of parts of a limit; 0 means no limit.
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

// line returns the first part of an endpoint's limits among the queue's own parts, and their
// number: enough that the queue's parts are not too small for them.
func (q *Queue) line(endpoint string, of uint16) (first, n uint16) {
	if !q.perEndpoint {
		return 0, of
	}
	if q.rated {
		return begin("endpoint", endpoint) % of, q.common.partsOf(q.EndpointRate)
	}
	atOnce := 0 // as configured
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

// begin returns the first part for a name. It is the same on all nodes.
func begin(kind, name string) uint16 { return uint16(cluster.Weight(0, kind+" "+name) >> 49) }

// place returns the place of a new task for a random number. Its shard is the place modulo the
// number of shards.
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
		random %= uint16(min(size, 1<<16-1)) // so that a larger part gets more tasks
	}
	return first + (from+random%n)%of
}

// home reports whether a shard has a part of the limits for an endpoint of the queue.
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

// A quota is a node's part of all shards.
type quota struct {
	owned []bool // by shard; nil: all
	part  float64
}

// quotaOf returns this node's part of all shards.
func quotaOf(m *cluster.Member) quota {
	owned, total := m.Share()
	p := quota{part: m.Part()}
	if total > 0 {
		p.owned = make([]bool, total)
		for _, s := range owned {
			p.owned[s] = true
		}
	}
	return p
}

// has reports whether the part at a place is this node's.
func (p quota) has(place uint16) bool { return p.owned == nil || p.owned[int(place)%len(p.owned)] }

// share divides number into n parts, and returns the sum of this node's parts and how many they
// are. at gives the place of part i.
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

// rules returns the dispatcher's rules for a line on a node with this quota. If the node has no
// part of a limit, it takes one task of the line at a time, to move it to a shard that has a part
// (see gate.withinLimits).
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
	case mine == 0 && q.whole():
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

// scale returns a part of a limit, at least 1; 0 means no limit and stays 0.
func scale(n int, part float64) int {
	if n <= 0 {
		return n
	}
	return max(int(float64(n)*part), 1)
}

// serves reports whether a node has a part of the limits for an endpoint of the queue.
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

// chance returns the number that selects a task's shard: random, or the same for all tasks of an
// ordering key.
func chance(t *bellman.Task) uint16 {
	if t.OrderingKey != "" {
		return uint16(cluster.Weight(0, "ordering "+t.Queue+"\x00"+t.OrderingKey) >> 48)
	}
	return uint16(t.ID[14])<<8 | uint16(t.ID[15])
}
