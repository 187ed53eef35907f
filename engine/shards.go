package engine

import "github.com/bellmanhq/bellman/store"

// What the engine does when shards come and go (host).

func (e *Engine) gained(shards []uint16) {
	e.hand.own(shards)
	e.loader.found.all(shards)
	e.loader.wake()
	e.reshare()
}

func (e *Engine) left(shards ...uint16) {
	items := e.hand.leave(shards...)
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
				e.runner.contents.release(it)
			}
			return ok
		})
	}
}
