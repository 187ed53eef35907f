package dispatch

import "time"

const (
	oldEach = 8                      // at least each eighth item of a line is an old one, if one waits
	oldLate = 5 * int64(time.Second) // an old one this late goes …
	lateNth = 2                      // … every second time,
	lateFew = 4                      // or every fourth where young ones go first
)

// A line is the items of one queue for one endpoint.
type line struct {
	id       uint64
	queue    *queue
	endpoint *endpoint
	rules    Rules
	at       elem[line] // in its endpoint's ready lines or its queue's parked ones
	offered  bool       // left the queue's parked lines to take a free slot, and has not had its turn
	i        int        // its place in core.all

	urgent, young, old fifo
	sinceOther         int // urgent ones since the last other
	sinceOld           int // young ones since the last old one
	inFlight           int
	used               int64 // when it was last touched
}

func (l *line) waiting() int { return l.urgent.n + l.young.n + l.old.n }

// list returns the list for an item that was attempted so often, how many items
// count against its bound, and that bound. Urgent ones have a bound of their own;
// so have young and old ones where young ones go first: else those that wait
// longest would leave no room for them.
func (l *line) list(attempts, bound int) (f *fifo, n, most int) {
	switch {
	case attempts == Urgent:
		return &l.urgent, l.urgent.n, bound
	case l.rules.Young == 0 && attempts == 0:
		return &l.young, l.young.n + l.old.n, bound
	case l.rules.Young == 0:
		return &l.old, l.young.n + l.old.n, bound
	case attempts < l.rules.Young:
		return &l.young, l.young.n, bound - bound/2
	default:
		return &l.old, l.old.n, max(bound/2, 1)
	}
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
func (s *slab) take(l *line, now int64) (i uint32, due int64, old bool) {
	others := l.young.n + l.old.n
	if l.urgent.n > 0 && (l.sinceOther < oldEach-1 || others == 0) {
		l.sinceOther++
		i, due = s.pop(&l.urgent)
		return i, due, false
	}
	l.sinceOther = 0
	old = l.young.n == 0
	if !old && l.old.n > 0 {
		nth := lateNth
		if l.rules.Young > 0 {
			nth = lateFew
		}
		late := now-s.nodes[l.old.head].due > oldLate
		old = l.sinceOld >= oldEach-1 || late && l.sinceOld >= nth-1
	}
	if old {
		l.sinceOld = 0
		i, due = s.pop(&l.old)
	} else {
		l.sinceOld++
		i, due = s.pop(&l.young)
	}
	return i, due, old
}

// oldestDue returns the earliest due time of the heads of l, if any.
func (s *slab) oldestDue(l *line) (due int64, ok bool) {
	for _, f := range []*fifo{&l.urgent, &l.young, &l.old} {
		if f.n > 0 {
			if d := s.nodes[f.head].due; !ok || d < due {
				due, ok = d, true
			}
		}
	}
	return due, ok
}
