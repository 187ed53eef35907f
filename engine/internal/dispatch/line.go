package dispatch

import (
	"math/bits"
	"time"
)

const (
	oldEach = 8                      // at least each eighth item of a line is the oldest, if one waits
	oldLate = 5 * int64(time.Second) // the oldest, if this late, goes …
	lateNth = 2                      // … every second time,
	lateFew = 4                      // or every fourth where young ones go first
)

// ages is into how many ages the items of a line are told apart where young ones go
// first: by attempts 0, 1, 2–3, 4–7, 8–15, and 16 or more. Elsewhere there are two,
// first attempts and retries.
const ages = 6

// A line is the items of one queue for one endpoint.
type line struct {
	id       uint64
	queue    *queue
	endpoint *endpoint
	rules    Rules
	at       elem[line] // in its endpoint's ready lines or its queue's parked ones
	offered  bool       // left the queue's parked lines to take a free slot, and has not had its turn
	i        int        // its place in core.all

	urgent     fifo
	aged       [ages]fifo // the others
	others     int        // how many
	sinceOther int        // urgent ones since the last other
	sinceOld   int        // others since the oldest had its turn
	inFlight   int
	elsewhere  int    // of them, those sent to endpoints that it left
	moves      uint32 // how often it left one
	used       int64  // when it was last touched
}

func (l *line) waiting() int { return l.urgent.n + l.others }

// age returns which of how many ages an item is of that was attempted so often.
func (r *Rules) age(attempts int) (age, of int) {
	of = 2
	if r.YoungFirst {
		of = ages
	}
	return min(bits.Len(uint(max(attempts, 0))), of-1), of
}

// list returns the list for an item that was attempted so often, how many items
// count against its bound, and that bound. Urgent ones have a bound of their own;
// so has each age where young ones go first: else those that wait longest would
// leave no room for them.
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

// A fifo is a list of nodes in the slab.
type fifo struct {
	head, tail uint32
	n          int
}

// A slab holds what waits, in nodes that the lists share: as much memory as
// there were items at the busiest time, and nothing for a line that is empty.
// Node 0 is no node. Every node in use is also in one list by time of arrival.
type slab struct {
	nodes          []node
	free           uint32
	oldest, newest uint32
	n              int
}

type node struct {
	due          int64
	next         uint32 // in its fifo, or of the free ones
	older, newer uint32
}

// push appends a node to f and returns its index.
func (s *slab) push(f *fifo, due int64) uint32 {
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
	s.nodes[i] = node{due: due, older: s.newest}
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
	s.n++
	return i
}

// pop takes the first node from f, which is not empty.
func (s *slab) pop(f *fifo) (i uint32, due int64) {
	i = f.head
	due = s.nodes[i].due
	f.head = s.nodes[i].next
	f.n--
	s.release(i)
	return i, due
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

// sift removes from f the nodes that drop says.
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
		}
		i = next
	}
	*f = kept
	return dropped
}

// take removes the item whose turn it is in l, which is not empty.
func (s *slab) take(l *line, now int64) (i uint32, due int64) {
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

// heads returns the list of the youngest items of l, and the list whose first item
// waits longest of those that were attempted before; nil if there is none.
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

// oldestDue returns the earliest due time of the heads of l, if any.
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
