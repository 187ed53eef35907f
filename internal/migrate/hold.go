package migrate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sleep"
	"github.com/bellmanhq/bellman/store"
)

// A move holds the shards of a store like a node.
const (
	silent  = holdFor + 2*time.Second // a node without a heartbeat for this long is dead
	lookAge = 500 * time.Millisecond
	holdFor = 6 * time.Second // without a heartbeat; nobody waits for a move that died
)

// A holder owns all shards of a store until leave.
type holder struct {
	store  store.Store
	node   string
	leases []store.Lease
	died   bool            // a former owner died: its attempts in flight are not recorded
	lost   context.Context // cancelled when the store takes this node for dead
	stop   context.CancelCauseFunc
	beats  sync.WaitGroup
}

// hold registers a node and claims every shard. While another living node owns one, it calls wait
// with that node's name and tries again; without wait it gives up after a while.
func hold(ctx context.Context, s store.Store, name string, wait func(owner string)) (_ *holder, err error) {
	h := &holder{store: s, node: name + "/" + bellman.NewID().String()}
	if err := s.Join(ctx, store.Node{Name: h.node, Version: "move"}, holdFor); err != nil {
		return nil, err
	}
	h.lost, h.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	h.beats.Go(h.keep)
	defer func() {
		if err != nil {
			err = errors.Join(err, h.leave())
		}
	}()
	for began := time.Now(); ; {
		owner, err := h.claim(ctx)
		switch {
		case err != nil:
			return nil, err
		case owner == "":
			return h, nil
		case wait != nil:
			wait(owner)
		case time.Since(began) > silent:
			return nil, fmt.Errorf("node %s runs on it: stop that first", owner)
		}
		if !sleep.For(ctx, lookAge) {
			return nil, context.Cause(ctx)
		}
	}
}

// claim claims the missing shards, and returns the owner of one that it cannot get.
func (h *holder) claim(ctx context.Context) (owner string, err error) {
	state, err := h.store.State(ctx, "")
	if err != nil {
		return "", err
	}
	h.leases = h.leases[:0]
	for _, s := range state.Shards {
		switch {
		case s.Owner == h.node:
			h.leases = append(h.leases, s.Lease)
		case s.Owner != "" && s.Alive:
			owner = s.Owner
		default:
			h.died = h.died || s.Owner != ""
			l, err := h.store.Claim(ctx, h.node, s.Shard, s.Epoch)
			if errors.Is(err, bellman.ErrFenced) {
				owner = "another"
				continue
			}
			if err != nil {
				return "", fmt.Errorf("claim shard %d: %w", s.Shard, err)
			}
			h.leases = append(h.leases, l)
		}
	}
	return owner, nil
}

// keep sends heartbeats until leave.
func (h *holder) keep() {
	ticker := time.NewTicker(store.LeaseBeat)
	defer ticker.Stop()
	for {
		select {
		case <-h.lost.Done():
			return
		case <-ticker.C:
		}
		err := h.store.Beat(h.lost, h.node)
		if errors.Is(err, bellman.ErrFenced) || errors.Is(err, bellman.ErrClosed) {
			h.stop(fmt.Errorf("this move was away for too long, and has lost the store's shards; run it again: %w", err))
			return
		}
	}
}

// during returns a ctx that ends when the shards are lost.
func (h *holder) during(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	context.AfterFunc(h.lost, func() { cancel(context.Cause(h.lost)) })
	return ctx
}

// leave releases all shards. After an error they become free within holdFor. If a former owner
// died, leave releases nothing: the next owner then finds shards of a dead node, and queries before
// it sends again what may have been in flight.
func (h *holder) leave() error {
	h.stop(nil)
	h.beats.Wait()
	if h.died {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(h.lost), holdFor)
	defer cancel()
	if err := h.store.Leave(ctx, h.node); err != nil {
		return fmt.Errorf("release the shards of node %s: %w", h.node, err)
	}
	return nil
}

// registered reports whether any node is registered, alive or dead.
func registered(ctx context.Context, s store.Store) (bool, error) {
	state, err := s.State(ctx, "")
	return len(state.Nodes) > 0, err
}

// gone waits until no node of a store sends heartbeats, and reports those that do.
func gone(ctx context.Context, s store.Store, tell func(nodes []string)) error {
	type seen struct{ beat, since time.Time }
	last := map[string]seen{}
	for {
		state, err := s.State(ctx, "")
		if err != nil {
			return err
		}
		now := time.Now()
		var living []string
		for _, n := range state.Nodes {
			if n.Version == "move" {
				continue // hold waits for it
			}
			if was, known := last[n.Name]; !known || !was.beat.Equal(n.Beat) {
				last[n.Name] = seen{n.Beat, now}
			}
			if now.Sub(last[n.Name].since) < silent {
				living = append(living, n.Name)
			}
		}
		if len(living) == 0 {
			return nil
		}
		tell(living)
		if !sleep.For(ctx, lookAge) {
			return context.Cause(ctx)
		}
	}
}
