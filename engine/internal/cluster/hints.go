package cluster

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

// hints sends and receives hints. All of it is best effort: the store has the same information.
type hints struct {
	send func(context.Context, string, Hint) // nil: no hints are sent

	mu      locks.Mutex
	to      map[string]*Hint // by address with a send in progress: the next hint; nil: none
	closed  bool
	sending sync.WaitGroup

	peers   []store.Node         // the other live nodes
	leaving map[string]time.Time // nodes that announced their stop, and when
	offered map[uint16]bool      // shards that others released for this node
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

// tell sends a hint to the node at addr. While a send is in progress, later hints are merged.
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

// next returns the merged hint for an address.
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

// CloseHints waits until all hints are sent. Later hints are dropped.
func (m *Member) CloseHints() { m.hints.close() }

func (t *hints) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.sending.Wait()
}

// Hinted applies a hint from another node, as far as it concerns nodes and shards. It returns at
// once. The hint may come over a network from any trusted node, and its content may be arbitrary.
func (m *Member) Hinted(h Hint) {
	if len(h.Released) > 0 || h.Leaving || len(h.Added)+len(h.Docs)+len(h.Changed) == 0 {
		m.hints.take(h)
		m.lookSoon()
	}
	if slices.Contains(h.Docs, m.docs) {
		m.lookSoon()
	}
}

// take records the shards that a hint offers, and that its sender is leaving.
func (t *hints) take(h Hint) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if h.Leaving {
		maps.DeleteFunc(t.leaving, func(_ string, at time.Time) bool { return time.Since(at) > forgetLeft })
		t.leaving[h.From] = time.Now()
	}
	for _, s := range h.Released {
		t.offered[s] = true
	}
}

// left reports whether a node announced its stop.
func (t *hints) left(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.leaving[name]
	return ok
}

// offer records shards that others released for this node.
func (t *hints) offer(shards map[uint16]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.Copy(t.offered, shards)
}

// takeOffered returns and resets the shards that others released for this node.
func (t *hints) takeOffered() map[uint16]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	offered := t.offered
	t.offered = make(map[uint16]bool)
	return offered
}

// Peers returns the other nodes that are alive and not leaving, by name.
func (m *Member) Peers() []store.Node {
	nodes := slices.DeleteFunc(slices.Clone(m.hints.known()), func(n store.Node) bool { return m.hints.left(n.Name) })
	slices.SortFunc(nodes, func(a, b store.Node) int { return strings.Compare(a.Name, b.Name) })
	return nodes
}

// Tell sends a hint from this node to an address.
func (m *Member) Tell(addr string, h Hint) {
	h.From = m.Name()
	m.hints.tell(addr, h)
}

// TellAll sends a hint to every other node.
func (m *Member) TellAll(h Hint) {
	for _, n := range m.hints.known() {
		m.Tell(n.Addr, h)
	}
}

// know sets the other live nodes.
func (t *hints) know(peers []store.Node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.peers = peers
}

// known returns the other live nodes. The caller must not modify the slice.
func (t *hints) known() []store.Node {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.peers
}
