package memory

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// A node is registered until it expires.
type node struct {
	store.Node
	ttl     time.Duration
	expires time.Time
}

func (s *Store) alive(name string) bool { return s.now().Before(s.nodes[name].expires) }

// State reads nodes, shards and documents.
func (s *Store) State(ctx context.Context, kind string) (store.State, error) {
	return alone(ctx, s, func() (st store.State, err error) {
		for _, name := range slices.Sorted(maps.Keys(s.nodes)) {
			st.Nodes = append(st.Nodes, s.nodes[name].Node)
		}
		st.Shards = slices.Clone(s.shards[:])
		now := s.now()
		for i := range st.Shards {
			st.Shards[i].Alive = now.Before(s.nodes[st.Shards[i].Owner].expires)
		}
		if kind != "" {
			st.Docs = s.docsOf(store.DocFilter{Kind: kind})
		}
		return st, nil
	})
}

// Join registers a node.
func (s *Store) Join(ctx context.Context, n store.Node, ttl time.Duration) error {
	return s.do(ctx, func() error {
		if s.alive(n.Name) {
			return fmt.Errorf("%w: a node named %q is registered already", bellman.ErrConflict, n.Name)
		}
		now := s.now()
		n.Joined, n.Beat = cut(now), cut(now)
		s.nodes[n.Name] = node{n, ttl, now.Add(ttl)}
		return nil
	})
}

// Beat keeps a node registered.
func (s *Store) Beat(ctx context.Context, name string) error {
	return s.do(ctx, func() error {
		if !s.alive(name) {
			return fmt.Errorf("%w: node %q", bellman.ErrFenced, name)
		}
		n, now := s.nodes[name], s.now()
		n.Beat, n.expires = cut(now), now.Add(n.ttl)
		s.nodes[name] = n
		return nil
	})
}

// Leave ends a node's registration and frees its shards.
func (s *Store) Leave(ctx context.Context, name string) error {
	return s.do(ctx, func() error {
		delete(s.nodes, name)
		for i := range s.shards {
			if s.shards[i].Owner == name {
				s.shards[i].Owner = ""
			}
		}
		return nil
	})
}

// Release gives one shard back.
func (s *Store) Release(ctx context.Context, name string, l store.Lease) error {
	return s.do(ctx, func() error {
		if int(l.Shard) >= len(s.shards) || s.shards[l.Shard].Lease != l || s.shards[l.Shard].Owner != name || name == "" {
			return fmt.Errorf("%w: shard %d", bellman.ErrFenced, l.Shard)
		}
		s.shards[l.Shard].Owner = ""
		return nil
	})
}

// Claim takes a shard for a node.
func (s *Store) Claim(ctx context.Context, name string, shard uint16, seen int64) (store.Lease, error) {
	return alone(ctx, s, func() (none store.Lease, err error) {
		if int(shard) >= len(s.shards) {
			return none, fmt.Errorf("claim shard %d: there are %d", shard, len(s.shards))
		}
		have := &s.shards[shard]
		if !s.alive(name) || have.Epoch != seen || have.Owner != name && s.alive(have.Owner) {
			return none, fmt.Errorf("%w: shard %d", bellman.ErrFenced, shard)
		}
		have.Owner = name
		have.Epoch++
		have.Mark = name
		return have.Lease, nil
	})
}

// clone returns a deep copy of t, with times in the precision of the other stores.
func clone(t *bellman.Task) *bellman.Task {
	c := *t
	c.Header, c.Body, c.Data = maps.Clone(t.Header), bytes.Clone(t.Body), bytes.Clone(t.Data)
	if t.Before != nil {
		before := *t.Before
		before.Due, before.Finished = cut(before.Due), cut(before.Finished)
		c.Before = &before
	}
	if t.Last != nil {
		last := *t.Last
		c.Last = &last
	}
	for _, at := range []*time.Time{&c.StartAt, &c.Began, &c.Due, &c.VisibleAt, &c.Updated, &c.Finished} {
		*at = cut(*at)
	}
	return &c
}

// cut returns t in UTC and whole milliseconds.
func cut(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.UnixMilli(t.UnixMilli()).UTC()
}
