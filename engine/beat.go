package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bellmanhq/bellman"
)

// beat is the goroutine that keeps this node registered. A node that was away
// for longer than the TTL is dead to the others: it never comes back under its
// old name, but joins under a new one, and trusts none of its shards until it has
// looked whose they are.
func (e *Engine) beat(ctx context.Context) error {
	ticker := time.NewTicker(leaseBeat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		err := e.beatOnce(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, bellman.ErrClosed):
			return fmt.Errorf("beat: %w", err)
		case errors.Is(err, bellman.ErrFenced):
			e.log.Warn("this node was away for too long; it joins anew", "node", e.leases.name())
			err = e.rejoin(ctx)
			e.lookSoon()
			if err != nil && ctx.Err() == nil {
				e.log.Error("this node cannot join anew", "err", err)
			}
		case err != nil:
			e.log.Error("beat failed", "err", err)
		}
		e.pump() // firing stops while the leases are not to be trusted
		e.wakeBefore(0)
	}
}

// beatOnce beats. An answer that takes longer than the TTL is worth nothing.
func (e *Engine) beatOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, leaseTTL)
	defer cancel()
	name, sent := e.leases.name(), time.Now()
	err := e.store.Beat(ctx, name)
	if err == nil {
		e.leases.trust(name, sent)
	}
	return err
}

// join registers this node under a new name.
func (e *Engine) join(ctx context.Context) error {
	e.leases.mu.RLock()
	node := e.leases.node
	e.leases.mu.RUnlock()
	node.Name = fmt.Sprintf("%s/%s", e.leases.base, bellman.NewID())
	sent := time.Now()
	if err := e.store.Join(ctx, node, leaseTTL); err != nil {
		return fmt.Errorf("join as node %s: %w", node.Name, err)
	}
	e.leases.joined(node, sent)
	return nil
}

// rejoin joins under a new name while nobody claims shards under the old one.
func (e *Engine) rejoin(ctx context.Context) error {
	e.leases.turn.Lock()
	defer e.leases.turn.Unlock()
	return e.join(ctx)
}
