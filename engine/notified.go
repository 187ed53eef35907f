package engine

import "github.com/bellmanhq/bellman"

// Committed tells the engine, and those of other nodes, that tasks which a store's
// AddTx added are committed now. It need not be called: without it the tasks are attempted up to
// a second late.
func (e *Engine) Committed(tasks ...*bellman.Task) {
	var own Hint
	others := make(map[uint16]stretch)
	e.hand.mu.Lock()
	for _, t := range tasks {
		if e.hand.owns(t.Shard) {
			look := t.VisibleAt.UnixMilli()
			own = own.Join(Hint{Added: []uint16{t.Shard}, Since: look, Until: look})
		}
		e.committer.note(others, &t.Status)
	}
	e.hand.mu.Unlock()
	if len(own.Added) > 0 {
		e.Hinted(own)
	}
	e.committer.tellOwners(others)
}
