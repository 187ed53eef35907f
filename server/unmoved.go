package server

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/migrate"
	"github.com/bellmanhq/bellman/store"
)

// refuseMoved returns an error if the store's tasks were moved to another store, or are being
// moved.
func (s *Server) refuseMoved(ctx context.Context) error {
	err := migrate.Refuse(ctx, s.store)
	if refused, is := errors.AsType[*migrate.RefusedError](err); is {
		if err = fmt.Errorf("store: %w", err); refused.Moved {
			return &ConfigError{err} // another start fails in the same way
		}
	}
	return err
}

// An unmoved store is one to which a server writes only as long as its tasks are not being moved to
// another store. A move takes a server for dead that was silent for long, for example cut off from
// the database. When that server is back, it must not claim shards, because every task would be
// attempted twice. It must also not accept anything, because a move copies nothing later.
type unmoved struct {
	store.Store
	refuse func(context.Context) error
	heard  atomic.Pointer[time.Time] // when the last answered heartbeat was sent
}

func (u *unmoved) Unwrap() store.Store { return u.Store }

// Join registers a node. A move marks the store before it looks for nodes, so it sees this node, or
// Join sees the mark. Then the error wraps bellman.ErrClosed, and the engine stops.
func (u *unmoved) Join(ctx context.Context, n store.Node, ttl time.Duration) error {
	sent := time.Now()
	if err := u.Store.Join(ctx, n, ttl); err != nil {
		return err
	}
	err := u.refuse(ctx)
	if err == nil {
		u.heard.Store(&sent)
		return nil
	}
	if _, is := errors.AsType[*migrate.RefusedError](err); is {
		err = fmt.Errorf("%w: %w", bellman.ErrClosed, err)
	}
	if left := u.Store.Leave(ctx, n.Name); left != nil {
		err = fmt.Errorf("%w; %w", err, left)
	}
	return err
}

// Beat keeps a node registered.
func (u *unmoved) Beat(ctx context.Context, node string) error {
	sent := time.Now()
	err := u.Store.Beat(ctx, node)
	if err == nil {
		u.heard.Store(&sent)
	}
	return err
}

// Commit writes a batch. A move claims all shards, so the store rejects every batch with a lease.
// It would accept one without a lease, such as a new task of a node that has just lost its shards.
// A move waits for the nodes whose heartbeats it sees. So after a silence Commit looks for the mark
// of a move once the batch is written: if there is none, a later move copies the batch.
func (u *unmoved) Commit(ctx context.Context, b *store.Batch) error {
	err := u.Store.Commit(ctx, b)
	if err != nil || len(b.Leases) > 0 || !u.silent() {
		return err
	}
	if err := u.refuse(ctx); err != nil {
		return fmt.Errorf("%w: %v", bellman.ErrUnknown, err) // ErrUnreachable would say that nothing was written
	}
	return nil
}

// silent reports whether the last answered heartbeat was sent so long ago that others may have
// taken this node for dead. The monotonic clock stands still while a virtual machine is paused.
func (u *unmoved) silent() bool {
	heard := u.heard.Load()
	if heard == nil {
		return true
	}
	now := time.Now()
	return max(now.Sub(*heard), now.Round(0).Sub(heard.Round(0))) >= store.LeaseTTL
}
