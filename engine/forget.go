package engine

import (
	"github.com/bellmanhq/bellman/store"
)

// forget takes items out of their lines that are no longer in hand.
func (e *Engine) forget(items []*item) {
	gone := make(map[*item]struct{}, len(items))
	lines := make(map[store.Line]struct{})
	for _, it := range items {
		gone[it] = struct{}{}
		lines[it.Line] = struct{}{}
	}
	for line := range lines {
		e.dispatch.Remove(uint64(line), func(it *item) bool {
			_, ok := gone[it]
			if ok {
				e.release(it)
			}
			return ok
		})
	}
}
