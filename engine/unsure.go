package engine

import "github.com/bellmanhq/bellman"

// A commit whose outcome is not known may have written what somebody asked for. Who asked
// is told that nobody knows, and the hand has nothing of it: unless the loader goes back to
// where such tasks would be, one that was written is not seen before the next deep sweep, and
// one that was changed is attempted as it was.

// unsure returns the looks, in Unix ms, of pending tasks that ops add or change by hand, and the
// tasks that they change.
func unsure(ops []*op) (looks []int64, changed []bellman.ID) {
	for _, o := range ops {
		for i := range o.adds {
			looks = append(looks, o.adds[i].Task.VisibleAt.UnixMilli())
		}
		if o.change == nil {
			continue
		}
		changed = append(changed, o.change.ID)
		if !o.change.To.State.Ended() {
			looks = append(looks, o.change.To.VisibleAt.UnixMilli())
		}
		for i := range o.change.Follow {
			looks = append(looks, o.change.Follow[i].Task.VisibleAt.UnixMilli())
		}
	}
	return looks, changed
}

// lookFor makes the loader go back to some looks, and read some tasks again.
func (e *Engine) lookFor(looks []int64, changed []bellman.ID) {
	if len(looks) == 0 && len(changed) == 0 {
		return
	}
	e.hand.renew(changed)
	e.hand.mu.Lock()
	for _, look := range looks {
		e.hand.miss(look)
	}
	e.hand.mu.Unlock()
	e.kickLoader()
}
