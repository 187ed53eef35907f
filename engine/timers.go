package engine

import (
	"bytes"
	"container/heap"
)

// timers are the items that are not due yet, the earliest first: a heap. Its exported methods are for
// package heap alone.
type timers []timer

type timer struct {
	due int64 // Unix ms; beside the item, so that a comparison does not fetch that from memory
	it  *item
}

func (t timers) Len() int { return len(t) }

// Less orders items of one millisecond by their ids.
func (t timers) Less(i, j int) bool {
	if t[i].due != t[j].due {
		return t[i].due < t[j].due
	}
	return bytes.Compare(t[i].it.ID[:], t[j].it.ID[:]) < 0
}

func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].it.timer, t[j].it.timer = i, j
}

func (t *timers) Push(x any) {
	last := x.(timer)
	last.it.timer = len(*t)
	*t = append(*t, last)
}

func (t *timers) Pop() any {
	last := len(*t) - 1
	it := (*t)[last].it
	(*t)[last] = timer{}
	*t = (*t)[:last]
	return it
}

// add puts an item in, which is due at a time.
func (t *timers) add(it *item, due int64) { heap.Push(t, timer{due, it}) }

// remove takes an item out that is in.
func (t *timers) remove(it *item) { heap.Remove(t, it.timer) }

// due takes the earliest item out if it is due now; nil: none is.
func (t *timers) due(now int64) *item {
	if len(*t) == 0 || (*t)[0].due > now {
		return nil
	}
	return heap.Pop(t).(*item)
}

// next is when the earliest item is due; noTime: there is none.
func (t timers) next() int64 {
	if len(t) == 0 {
		return noTime
	}
	return t[0].due
}
