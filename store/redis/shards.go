package redis

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/pack"
	"github.com/bellmanhq/bellman/store"
)

// Only the server's clock decides which nodes are alive.

// State reads nodes, shards and documents in one script, because idle nodes call State again and
// again.
func (s *Store) State(ctx context.Context, kind string) (st store.State, err error) {
	if err := s.enter(); err != nil {
		return st, err
	}
	defer s.leave()
	what := "shards"
	if kind != "" {
		what = "glance"
	}
	reply, err := s.run(ctx, glance, what, kind)
	if err != nil {
		return st, fmt.Errorf("read nodes and shards: %w", err)
	}
	parts, _ := reply.([]any)
	part := func(i int) (p []any) {
		if i < len(parts) {
			p, _ = parts[i].([]any)
		}
		return p
	}
	ms := func(row []any, i int) time.Time {
		n, failed := strconv.ParseInt(text(row, i), 10, 64)
		if failed != nil && err == nil {
			err = fmt.Errorf("read nodes: %w", pack.ErrCorrupt)
		}
		return pack.FromMilli(n)
	}
	for _, row := range part(1) {
		n, _ := row.([]any)
		st.Nodes = append(st.Nodes, store.Node{Name: text(n, 0), Addr: text(n, 1), Version: text(n, 2), Joined: ms(n, 3), Beat: ms(n, 4)})
	}
	for i, row := range part(2) {
		r, _ := row.([]any)
		epoch, failed := strconv.ParseInt(text(r, 0), 10, 64)
		if failed != nil {
			return st, fmt.Errorf("the field e%d of %sS was deleted: stop all nodes and set it to a number above %d", i, s.prefix, int64(epochAnew))
		}
		st.Shards = append(st.Shards, store.Shard{Lease: store.Lease{Shard: uint16(i), Epoch: epoch, Mark: text(r, 3)}, Owner: text(r, 1), Alive: text(r, 2) != ""})
	}
	if len(st.Shards) != s.shards {
		return st, fmt.Errorf("the store %s is gone, or another: it has %d shards, and had %d when it was opened", s.prefix, len(st.Shards), s.shards)
	}
	fields := part(3)
	for i := 0; i+1 < len(fields); i += 2 {
		st.Docs = append(st.Docs, store.Doc{Kind: kind, Name: text(fields, i), Value: []byte(text(fields, i+1))})
	}
	slices.SortFunc(st.Nodes, func(a, b store.Node) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(st.Docs, func(a, b store.Doc) int { return cmp.Compare(a.Name, b.Name) })
	return st, err
}

// epochAnew is larger than the epoch of any shard.
const epochAnew = 1 << 40

// node runs the script for nodes, and reports whether it accepted the call.
func (s *Store) node(ctx context.Context, what string, args ...any) (bool, error) {
	if err := s.enter(); err != nil {
		return false, err
	}
	defer s.leave()
	reply, err := s.run(ctx, nodes, append([]any{what}, args...)...)
	if err != nil {
		return false, fmt.Errorf("%s: %w", what, err)
	}
	return reply == int64(1), nil
}

// Join registers a node. The registration expires unless the node beats at least every ttl.
func (s *Store) Join(ctx context.Context, n store.Node, ttl time.Duration) error {
	if n.Name == "" || len(n.Name) > maxName || ttl < time.Millisecond {
		return fmt.Errorf("join: node %.40q with ttl %v: want a name of at most %d bytes and a ttl of a millisecond or more", n.Name, ttl, maxName)
	}
	joined, err := s.node(ctx, "join", n.Name, n.Addr, n.Version, ttl.Milliseconds())
	if err == nil && !joined {
		err = fmt.Errorf("join: %w: a node named %q is registered already", bellman.ErrConflict, n.Name)
	}
	return err
}

// Beat extends the node's registration by ttl. ErrFenced: the registration had expired.
func (s *Store) Beat(ctx context.Context, name string) error {
	alive, err := s.node(ctx, "beat", name)
	if err == nil && !alive {
		err = fmt.Errorf("%w: node %q is not registered, or expired", bellman.ErrFenced, name)
	}
	return err
}

// Leave removes a node's registration and releases its shards.
func (s *Store) Leave(ctx context.Context, name string) error {
	_, err := s.node(ctx, "leave", name)
	return err
}

// Release releases one shard.
func (s *Store) Release(ctx context.Context, name string, l store.Lease) error {
	done, err := s.node(ctx, "release", name, int(l.Shard), l.Epoch)
	if err == nil && !done {
		err = fmt.Errorf("%w: shard %d is not at epoch %d, or not of node %q", bellman.ErrFenced, l.Shard, l.Epoch, name)
	}
	return err
}

// Claim assigns a shard to a node. It stores a random mark beside the epoch, and the fence compares
// both. If a fail-over loses a claim, another node may reach the same epoch, but never the same
// mark.
func (s *Store) Claim(ctx context.Context, name string, shard uint16, seen int64) (store.Lease, error) {
	mark := strings.ToLower(rand.Text())
	taken, err := s.node(ctx, "claim", name, int(shard), seen, mark)
	switch {
	case err != nil:
		return store.Lease{}, err
	case int(shard) >= s.shards:
		return store.Lease{}, fmt.Errorf("claim shard %d: there are %d", shard, s.shards)
	case !taken:
		return store.Lease{}, fmt.Errorf("%w: shard %d is not at epoch %d, or has an owner, or node %q is not registered", bellman.ErrFenced, shard, seen, name)
	}
	return store.Lease{Shard: shard, Epoch: seen + 1, Mark: mark}, nil
}
