package engine

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bellmanhq/bellman/engine/internal/locks"
	"github.com/bellmanhq/bellman/store"
)

// hints are what this node has to tell others, and was told. All of it is best
// effort: what a hint says can be found in the store.
type hints struct {
	send func(context.Context, string, Hint) // nil: nobody is told anything

	mu      locks.Mutex
	to      map[string]*Hint // by address, of which one is being told; nil: nothing more is to be told
	closed  bool
	sending sync.WaitGroup

	peers   []store.Node         // the other nodes that are alive
	leaving map[string]time.Time // nodes that said that they stop, and when
	offered map[uint16]bool      // shards that others gave back for this node to claim
}

func newHints(send func(context.Context, string, Hint)) *hints {
	return &hints{
		send:    send,
		to:      make(map[string]*Hint),
		leaving: make(map[string]time.Time),
		offered: make(map[uint16]bool),
	}
}

const (
	hintTimeout = time.Second
	forgetLeft  = 10 * time.Minute
)

// tell tells the node at an address something, soon. While it is being told, what
// more there is to say gathers.
func (t *hints) tell(addr string, h Hint) {
	if t.send == nil || addr == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	waiting, busy := t.to[addr]
	if busy {
		if waiting != nil {
			h = waiting.Join(h)
		}
		t.to[addr] = &h
		return
	}
	t.to[addr] = nil
	t.sending.Go(func() {
		for more := true; more; h, more = t.next(addr) {
			ctx, cancel := context.WithTimeout(context.Background(), hintTimeout)
			t.send(ctx, addr, h)
			cancel()
		}
	})
}

// next returns what gathered for an address.
func (t *hints) next(addr string) (h Hint, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	waiting := t.to[addr]
	if waiting == nil {
		delete(t.to, addr)
		return h, false
	}
	t.to[addr] = nil
	return *waiting, true
}

// close waits until what there was to say was said.
func (t *hints) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.sending.Wait()
}

// Hinted takes in what another node tells. It returns at once, and may be called
// with anything that came over a network from a node that may be trusted.
func (e *Engine) Hinted(h Hint) {
	t := e.hints
	if len(h.Released) > 0 || h.Leaving || len(h.Added)+len(h.Docs)+len(h.Changed) == 0 {
		t.mu.Lock()
		if h.Leaving {
			for name, at := range t.leaving {
				if time.Since(at) > forgetLeft {
					delete(t.leaving, name)
				}
			}
			t.leaving[h.From] = time.Now()
		}
		t.mu.Unlock()
		for _, s := range h.Released {
			t.offer(map[uint16]bool{s: true})
		}
		e.leases.lookSoon()
	}
	if len(h.Changed) > 0 {
		e.agenda.renew(h.Changed)
		e.loader.wake()
	}
	if len(h.Added) > 0 {
		e.loader.rescans.span(h.Added, h.Since, h.Until)
		e.loader.wake()
	}
	if slices.Contains(h.Docs, pauseKind) {
		e.leases.lookSoon()
	}
}

// left reports whether a node said that it stops.
func (t *hints) left(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.leaving[name]
	return ok
}

// offer notes shards that others gave back for this node to claim.
func (t *hints) offer(shards map[uint16]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.Copy(t.offered, shards)
}

// takeOffered returns the shards that were given back for this node to claim
// since it was asked last.
func (t *hints) takeOffered() map[uint16]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	offered := t.offered
	t.offered = make(map[uint16]bool)
	return offered
}

// others returns the other nodes that are alive and not leaving, by name.
func (t *hints) others() []store.Node {
	t.mu.Lock()
	defer t.mu.Unlock()
	nodes := slices.DeleteFunc(slices.Clone(t.peers), func(n store.Node) bool { return !t.leaving[n.Name].IsZero() })
	slices.SortFunc(nodes, func(a, b store.Node) int { return strings.Compare(a.Name, b.Name) })
	return nodes
}

// tell tells the node at an address something, in the name of this one.
func (l *leases) tell(addr string, h Hint) {
	h.From = l.name()
	l.hints.tell(addr, h)
}

// tellAll tells every other node something.
func (l *leases) tellAll(h Hint) {
	l.hints.mu.Lock()
	peers := l.hints.peers
	l.hints.mu.Unlock()
	for _, n := range peers {
		l.tell(n.Addr, h)
	}
}

// know notes which other nodes there are, and where they are reached.
func (t *hints) know(peers []store.Node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.peers = peers
}
