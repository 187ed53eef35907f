package engine

import (
	"bytes"
	"container/heap"
)

// timers is a heap of items that are not due yet, the earliest first. The exported methods are for
// package heap.
type timers []timer

type timer struct {
	due int64 // Unix ms; a copy, so that a comparison needs no access to the item
	it  *item
}

func (t timers) Len() int { return len(t) }

// Less orders by due time, then by id.
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

// add inserts an item that is due at a time, Unix ms.
func (t *timers) add(it *item, due int64) { heap.Push(t, timer{due, it}) }

// remove takes an item out. The item must be in the heap.
func (t *timers) remove(it *item) { heap.Remove(t, it.timer) }

// due takes out the earliest item if it is due, and returns nil otherwise.
func (t *timers) due(now int64) *item {
	if len(*t) == 0 || (*t)[0].due > now {
		return nil
	}
	return heap.Pop(t).(*item)
}

// next returns when the earliest item is due; noTime if there is none.
func (t timers) next() int64 {
	if len(t) == 0 {
		return noTime
	}
	return t[0].due
}
