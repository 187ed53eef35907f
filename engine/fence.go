package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// fenced reads which leases of a rejected batch are outdated, and drops their shards. It returns
// false if that cannot be read.
func (l *leases) fenced(ctx context.Context, leases []store.Lease) bool {
	l.claiming.Lock()
	defer l.claiming.Unlock()
	state, err := l.store.State(ctx, "")
	if err != nil {
		return false
	}
	found := false
	var lost []uint16
	for _, lease := range leases {
		switch s := state.Shards[lease.Shard]; {
		case s.Lease == lease:
			continue
		case s.Owner == l.name(): // a claim of this node whose answer was lost
			l.renew(s.Lease)
		default:
			if now, held := l.lease(lease.Shard); held && now == lease {
				lost = append(lost, lease.Shard)
			}
		}
		found = true
	}
	l.drop(lost)
	if len(lost) > 0 {
		l.lookSoon()
	}
	return found
}

// reclaim claims the shards of these leases again, unless they have a newer lease. Shards that
// another node took are dropped.
func (l *leases) reclaim(ctx context.Context, leases []store.Lease) error {
	l.claiming.Lock()
	defer l.claiming.Unlock()
	for _, lease := range leases {
		if now, held := l.lease(lease.Shard); !held || now != lease {
			continue
		}
		newer, err := l.store.Claim(ctx, l.name(), lease.Shard, lease.Epoch)
		switch {
		case err == nil:
			l.renew(newer)
		case errors.Is(err, bellman.ErrFenced):
			if err := l.refused(ctx, lease); err != nil {
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
func (l *leases) refused(ctx context.Context, lease store.Lease) error {
	state, err := l.store.State(ctx, "")
	if err != nil {
		return fmt.Errorf("read shards: %w", err)
	}
	switch s := state.Shards[lease.Shard]; {
	case s.Owner == l.name() && s.Epoch > lease.Epoch: // a claim of this node whose answer was lost
		l.renew(s.Lease)
	case l.holding(s).mine: // this node has expired, and nobody took the shard yet
		return fmt.Errorf("%w: this node has expired", bellman.ErrFenced)
	default:
		l.drop([]uint16{lease.Shard})
		l.lookSoon()
	}
	return nil
}
