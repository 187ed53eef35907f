package dispatch

import "math"

const (
	minTime = math.MinInt64 // the distant past
	never   = math.MaxInt64
)

// A timer places an endpoint or a queue again at a time.
type timer struct {
	at       int64
	i        int // index in the heap plus one; 0: not in the heap
	endpoint *endpoint
	queue    *queue
}

// timers is a heap, the earliest first.
type timers []*timer

// set starts or moves a timer.
func (h *timers) set(t *timer, at int64) {
	if t.i != 0 {
		if t.at == at {
			return
		}
		t.at = at
		h.down(h.up(t.i - 1))
		return
	}
	t.at = at
	*h = append(*h, t)
	t.i = len(*h)
	h.up(t.i - 1)
}

// clear stops a timer.
func (h *timers) clear(t *timer) {
	if t.i == 0 {
		return
	}
	i, last := t.i-1, len(*h)-1
	h.swap(i, last)
	(*h)[last] = nil
	*h = (*h)[:last]
	t.i = 0
	if i < last {
		h.down(h.up(i))
	}
}

func (h *timers) swap(i, j int) {
	s := *h
	s[i], s[j] = s[j], s[i]
	s[i].i, s[j].i = i+1, j+1
}

func (h *timers) up(i int) int {
	for i > 0 {
		parent := (i - 1) / 2
		if (*h)[parent].at <= (*h)[i].at {
			break
		}
		h.swap(i, parent)
		i = parent
	}
	return i
}

func (h *timers) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(*h) {
			return
		}
		if r := child + 1; r < len(*h) && (*h)[r].at < (*h)[child].at {
			child = r
		}
		if (*h)[i].at <= (*h)[child].at {
			return
		}
		h.swap(i, child)
		i = child
	}
}
