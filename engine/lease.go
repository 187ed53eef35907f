package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
)

// How nodes hold their shards. A node whose beat is older than the TTL is
// dead to the others; it stops trusting itself a margin earlier.
const (
	leaseTTL    = 6 * time.Second
	leaseBeat   = 2 * time.Second
	leaseMargin = time.Second
)

// leases are the shards that this node owns, each with its newest epoch.
type leases struct {
	base string // the node's name without what sets this incarnation apart

	mu      sync.RWMutex
	node    bellman.Node // as it joined last: each time under a new name
	held    map[uint16]bellman.Lease
	owned   []uint16  // held's keys, for picking
	trusted time.Time // on the monotonic clock: until then the shards are ours for sure
}

// acquire claims every shard that is this node's or nobody's, each under a new
// epoch. anew registers the node under a new name first; without it that is
// done only if the node is not registered any longer.
func (l *leases) acquire(ctx context.Context, store bellman.Store, anew bool) error {
	sent := time.Now()
	l.mu.Lock()
	node := l.node
	l.mu.Unlock()
	if anew || store.Beat(ctx, node.Name) != nil {
		node.Name = fmt.Sprintf("%s/%s", l.base, bellman.NewID())
		if err := store.Join(ctx, node, leaseTTL); err != nil {
			return fmt.Errorf("join as node %s: %w", node.Name, err)
		}
	}
	shards, err := store.Shards(ctx)
	if err != nil {
		return fmt.Errorf("read shards: %w", err)
	}
	held := make(map[uint16]bellman.Lease, len(shards))
	var owned []uint16
	for _, s := range shards {
		if s.Alive && s.Owner != node.Name {
			continue
		}
		lease, err := store.Claim(ctx, node.Name, s.Shard, s.Epoch)
		if errors.Is(err, bellman.ErrFenced) {
			continue // another node was quicker
		}
		if err != nil {
			return fmt.Errorf("claim shard %d: %w", s.Shard, err)
		}
		held[s.Shard] = lease
		owned = append(owned, s.Shard)
	}
	if len(owned) == 0 {
		return fmt.Errorf("all %d shards belong to other nodes", len(shards))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.node, l.held, l.owned = node, held, owned
	l.trusted = sent.Add(leaseTTL - leaseMargin)
	return nil
}

// holdLeases is the goroutine that keeps this node's shards. A node that was
// away for longer than the TTL is dead to the others: it never comes back under
// its old name, but joins under a new one and takes what is nobody's.
func (e *Engine) holdLeases(ctx context.Context) error {
	ticker := time.NewTicker(leaseBeat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		sent := time.Now()
		err := e.store.Beat(ctx, e.leases.name())
		switch {
		case err == nil:
			e.leases.trust(sent)
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, bellman.ErrClosed):
			return fmt.Errorf("beat: %w", err)
		case errors.Is(err, bellman.ErrFenced):
			e.log.Warn("this node was away for too long; it joins anew", "node", e.leases.name())
			if err := e.leases.acquire(ctx, e.store, true); err != nil {
				e.log.Error("shards cannot be claimed", "err", err)
			}
		default:
			e.log.Error("beat failed", "err", err)
		}
		e.pump() // firing stops while the leases are not to be trusted
	}
}

// name returns the name under which this node joined last.
func (l *leases) name() string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.node.Name
}

// trust extends the leases after a beat that was sent at a moment of the
// monotonic clock.
func (l *leases) trust(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trusted = sent.Add(leaseTTL - leaseMargin)
}

// trusting reports whether the shards are this node's for sure.
func (l *leases) trusting() bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return time.Now().Before(l.trusted)
}

// pick returns a shard of this node's for a new task.
func (l *leases) pick(id bellman.ID) uint16 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if len(l.owned) == 0 {
		return 0
	}
	return l.owned[(int(id[14])<<8|int(id[15]))%len(l.owned)]
}

// shards returns the shards of this node.
func (l *leases) shards() []uint16 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.owned
}

// of appends to buf the leases under which the outcomes in b are written.
func (l *leases) of(b *bellman.Batch, buf []bellman.Lease) []bellman.Lease {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var seen [1 << 16 / 64]uint64
	for i := range b.Changes {
		s := b.Changes[i].To.Shard
		if seen[s/64]&(1<<(s%64)) != 0 {
			continue
		}
		seen[s/64] |= 1 << (s % 64)
		if lease, ok := l.held[s]; ok {
			buf = append(buf, lease)
		}
	}
	return buf
}
