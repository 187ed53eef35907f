package sim

import (
	"context"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// An exclusive store is one that a single process has at a time, as the embedded one. Who
// opens it finds no node registered, and the shards with the owners that they had. What a
// process has not written when it ends is never written. Nobody but the process changes
// anything, so an engine does not look again each second for what others did.

// Use says whether the store is exclusive.
func (w *wire) Use() store.Use { return store.Use{Exclusive: w.life.world.plan.sole} }

// open makes an exclusive store a life's.
func (t *truth) open(l *life) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.sole {
		return
	}
	t.opened = l
	for name := range t.nodes {
		if t.alive(name) {
			t.bury(name)
		}
	}
}

// bury makes the store forget a node, whose shards keep their owner. Call it with the mutex held.
func (t *truth) bury(name string) {
	ctx := context.Background()
	state, err := t.Store.State(ctx, "")
	if err == nil {
		err = t.Store.Leave(ctx, name)
		t.mirrored(func(r *replica) { r.store.Leave(ctx, name) })
	}
	if err != nil {
		panic(err)
	}
	for _, s := range state.Shards {
		if s.Owner == name { // nobody gave it back
			t.heirless[s.Shard] = name
		}
	}
	t.nodes[name] = time.Time{} // whatever the database's clock is set to
}

// expire makes the store take a node for dead at once, as it is to the others when its process
// stood still. In a bubble all processes have one monotonic clock, which cannot stand still for one
// of them; so this one goes on as it would then: with leases that it trusts, and that nobody grants
// it.
func (w *world) expire(n *node) {
	l := n.current()
	w.note(func(g *ledger) {
		for name, of := range g.joinedBy {
			if l != nil && of == l && g.alive(name) {
				w.truth.bury(name)
				l.taken = time.Now()
				g.tell(bellman.ID{}, "%s is taken for dead", name)
			}
		}
	})
	n.mu.Lock()
	defer n.mu.Unlock()
	n.taken = time.Now()
}

// closed reports whether a life has no exclusive store open: it has closed it, or has ended. Call
// it with the mutex held.
func (t *truth) closed(l *life) bool {
	if !t.sole || l == nil {
		return false
	}
	select {
	case <-l.ended:
		return true
	default:
		return l != t.opened || !l.alive()
	}
}

// orphaned says of shards who had them.
func (t *truth) orphaned(shards []store.Shard) {
	for i := range shards {
		if s := &shards[i]; s.Owner == "" {
			s.Owner = t.heirless[s.Shard]
		}
	}
}
