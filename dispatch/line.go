package dispatch

import "time"

const (
	retryEach = 8                      // at least each eighth item of a line is a retry, if one waits
	retryLate = 5 * int64(time.Second) // a retry this late goes every second time
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

	first, retry fifo
	sinceRetry   int // first attempts since the last retry
	inFlight     int
	used         int64 // when it was last touched
}

func (l *line) waiting() int { return l.first.n + l.retry.n }

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
func (s *slab) take(l *line, now int64) (i uint32, due int64, retry bool) {
	retry = l.first.n == 0
	if !retry && l.retry.n > 0 {
		late := now-s.nodes[l.retry.head].due > retryLate
		retry = l.sinceRetry >= retryEach-1 || late && l.sinceRetry >= 1
	}
	if retry {
		l.sinceRetry = 0
		i, due = s.pop(&l.retry)
	} else {
		l.sinceRetry++
		i, due = s.pop(&l.first)
	}
	return i, due, retry
}

// oldestDue returns the earlier due time of the two heads of l, if any.
func (s *slab) oldestDue(l *line) (due int64, ok bool) {
	for _, f := range []*fifo{&l.first, &l.retry} {
		if f.n > 0 {
			if d := s.nodes[f.head].due; !ok || d < due {
				due, ok = d, true
			}
		}
	}
	return due, ok
}
