package dispatch

import (
	"math/bits"
	"time"
)

const (
	oldEach = 8                      // at least each eighth item of a line is the oldest retry
	oldLate = 5 * int64(time.Second) // an oldest retry that is later than this goes more often:
	lateNth = 2                      // it is each second item
	lateFew = 4                      // with YoungFirst, each fourth
)

// ages is the number of age classes with YoungFirst: 0, 1, 2–3, 4–7, 8–15, and 16 or more attempts.
// Without YoungFirst there are two: first attempts and retries.
const ages = 6

// A line holds the items of one queue for one endpoint.
type line struct {
	id       uint64
	queue    *queue
	endpoint *endpoint
	rules    Rules
	at       elem[line] // in endpoint.ready or queue.parked
	offered  bool       // it left queue.parked to take a free slot, and has not had its turn
	i        int        // index in core.all

	urgent     fifo
	aged       [ages]fifo // items that are not urgent, by age class
	others     int        // number of items that are not urgent
	sinceOther int        // urgent items since the last one that was not urgent
	sinceOld   int        // items that were not urgent since the last oldest retry
	inFlight   int
	elsewhere  int    // of inFlight, attempts to its former endpoints
	moves      uint32 // how often it moved to another endpoint
	used       int64  // time of its last use
}

func (l *line) waiting() int { return l.urgent.n + l.others }

// age returns the age class of an item with that many attempts, and the number of classes.
func (r *Rules) age(attempts int) (age, of int) {
	of = 2
	if r.YoungFirst {
		of = ages
	}
	return min(bits.Len(uint(max(attempts, 0))), of-1), of
}

// list returns the list for an item with that many attempts, how many items count against the bound
// of the list, and that bound. Urgent items have a bound of their own. With YoungFirst each age
// class has one, otherwise the items that wait longest would leave no room for young ones.
func (l *line) list(attempts, bound int) (f *fifo, n, most int) {
	if attempts == Urgent {
		return &l.urgent, l.urgent.n, bound
	}
	age, of := l.rules.age(attempts)
	f = &l.aged[age]
	if l.rules.YoungFirst {
		return f, f.n, max(bound/of, 1)
	}
	return f, l.others, bound
}

// elders returns how many of the items that list counts with those of f are elders.
func (l *line) elders(f *fifo) (n int) {
	if f == &l.urgent || l.rules.YoungFirst {
		return f.elders
	}
	for age := range l.aged {
		n += l.aged[age].elders
	}
	return n
}

// A fifo is a list of nodes in the slab.
type fifo struct {
	head, tail uint32
	n          int
	elders     int // of n
}

// A slab holds the waiting items in nodes that all lists share. Its memory is that of the busiest
// time; an empty line needs none. Node 0 is unused. All nodes in use also form a list by time of
// arrival.
type slab struct {
	nodes          []node
	free           uint32
	oldest, newest uint32
	n              int
}

type node struct {
	due          int64
	next         uint32 // in its fifo, or among the free nodes
	older, newer uint32
	elder        bool
}

// push appends a node to f and returns its index.
func (s *slab) push(f *fifo, due int64, elder bool) uint32 {
	i := s.free
	if i == 0 {
		if len(s.nodes) == 0 {
			s.nodes = append(s.nodes, node{})
		}
		i = uint32(len(s.nodes))
		s.nodes = append(s.nodes, node{})
	} else {
		s.free = s.nodes[i].next
	}
	s.nodes[i] = node{due: due, older: s.newest, elder: elder}
	if s.newest == 0 {
		s.oldest = i
	} else {
		s.nodes[s.newest].newer = i
	}
	s.newest = i
	if f.n == 0 {
		f.head = i
	} else {
		s.nodes[f.tail].next = i
	}
	f.tail = i
	f.n++
	if elder {
		f.elders++
	}
	s.n++
	return i
}

// pop takes the first node of f, which must not be empty.
func (s *slab) pop(f *fifo) (i uint32) {
	i = f.head
	f.head = s.nodes[i].next
	f.n--
	if s.nodes[i].elder {
		f.elders--
	}
	s.release(i)
	return i
}

func (s *slab) release(i uint32) {
	n := &s.nodes[i]
	if n.older == 0 {
		s.oldest = n.newer
	} else {
		s.nodes[n.older].newer = n.newer
	}
	if n.newer == 0 {
		s.newest = n.older
	} else {
		s.nodes[n.newer].older = n.older
	}
	n.next = s.free
	s.free = i
	s.n--
}

// sift removes the nodes of f for which drop returns true.
func (s *slab) sift(f *fifo, drop func(i uint32) bool) (dropped int) {
	var kept fifo
	for i, n := f.head, f.n; n > 0; n-- {
		next := s.nodes[i].next
		if drop(i) {
			s.release(i)
			dropped++
		} else {
			if kept.n == 0 {
				kept.head = i
			} else {
				s.nodes[kept.tail].next = i
			}
			kept.tail = i
			kept.n++
			if s.nodes[i].elder {
				kept.elders++
			}
		}
		i = next
	}
	*f = kept
	return dropped
}

// take removes the next item of l, which must not be empty.
func (s *slab) take(l *line, now int64) (i uint32) {
	if l.urgent.n > 0 && (l.sinceOther < oldEach-1 || l.others == 0) {
		l.sinceOther++
		return s.pop(&l.urgent)
	}
	l.sinceOther = 0
	l.others--
	young, old := s.heads(l)
	f := young
	if old != nil && old != young {
		nth := lateNth
		if l.rules.YoungFirst {
			nth = lateFew
		}
		late := now-s.nodes[old.head].due > oldLate
		if l.sinceOld >= oldEach-1 || late && l.sinceOld >= nth-1 {
			f = old
		}
	}
	if f == old {
		l.sinceOld = 0
	} else {
		l.sinceOld++
	}
	return s.pop(f)
}

// heads returns the list of the youngest items of l, and the list whose first item has waited
// longest among retries; nil if there is none.
func (s *slab) heads(l *line) (young, old *fifo) {
	for age := range l.aged {
		f := &l.aged[age]
		if f.n == 0 {
			continue
		}
		if young == nil {
			young = f
		}
		if age > 0 && (old == nil || s.nodes[f.head].due < s.nodes[old.head].due) {
			old = f
		}
	}
	return young, old
}

// oldestDue returns the earliest due time at the heads of the lists of l; ok is false if l is
// empty.
func (s *slab) oldestDue(l *line) (due int64, ok bool) {
	young, old := s.heads(l)
	for _, f := range []*fifo{&l.urgent, young, old} {
		if f != nil && f.n > 0 {
			if d := s.nodes[f.head].due; !ok || d < due {
				due, ok = d, true
			}
		}
	}
	return due, ok
}
