package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// Fenced reads which leases of a rejected batch are outdated, and drops their shards. It returns
// false if that cannot be read.
func (m *Member) Fenced(ctx context.Context, leases []store.Lease) bool {
	m.claiming.Lock()
	defer m.claiming.Unlock()
	state, err := m.store.State(ctx, "")
	if err != nil {
		return false
	}
	found := false
	var lost []uint16
	for _, lease := range leases {
		switch s := state.Shards[lease.Shard]; {
		case s.Lease == lease:
			continue
		case s.Owner == m.Name(): // a claim of this node whose answer was lost
			m.renew(s.Lease)
		default:
			if now, held := m.lease(lease.Shard); held && now == lease {
				lost = append(lost, lease.Shard)
			}
		}
		found = true
	}
	m.drop(lost)
	if len(lost) > 0 {
		m.lookSoon()
	}
	return found
}

// Reclaim claims the shards of these leases again, unless they have a newer lease. Shards that
// another node took are dropped.
func (m *Member) Reclaim(ctx context.Context, leases []store.Lease) error {
	m.claiming.Lock()
	defer m.claiming.Unlock()
	for _, lease := range leases {
		if now, held := m.lease(lease.Shard); !held || now != lease {
			continue
		}
		newer, err := m.store.Claim(ctx, m.Name(), lease.Shard, lease.Epoch)
		switch {
		case err == nil:
			m.renew(newer)
		case errors.Is(err, bellman.ErrFenced):
			if err := m.refused(ctx, lease); err != nil {
				return fmt.Errorf("claim shard %d: %w", lease.Shard, err)
			}
		default:
			return fmt.Errorf("claim shard %d: %w", lease.Shard, err)
		}
	}
	return nil
}

// refused reads why a held shard could not be claimed again. An error means: try again. The caller
// holds claiming.
func (m *Member) refused(ctx context.Context, lease store.Lease) error {
	state, err := m.store.State(ctx, "")
	if err != nil {
		return fmt.Errorf("read shards: %w", err)
	}
	switch s := state.Shards[lease.Shard]; {
	case s.Owner == m.Name() && s.Epoch > lease.Epoch: // a claim of this node whose answer was lost
		m.renew(s.Lease)
	case m.holdings([]store.Shard{s})[0].mine: // this node has expired, and nobody took the shard yet
		return fmt.Errorf("%w: this node has expired", bellman.ErrFenced)
	default:
		m.drop([]uint16{lease.Shard})
		m.lookSoon()
	}
	return nil
}
