package memory

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
)

func (s *Store) alive(name string) bool {
	n := s.nodes[name]
	return n != nil && time.Now().Before(n.expires)
}

// Shards reads all shards.
func (s *Store) Shards(ctx context.Context) ([]bellman.Shard, error) {
	return locked(ctx, s, func() ([]bellman.Shard, error) {
		list := slices.Clone(s.shards[:])
		for i := range list {
			list[i].Alive = s.alive(list[i].Owner)
		}
		return list, nil
	})
}

// Join registers a node.
func (s *Store) Join(ctx context.Context, n bellman.Node, ttl time.Duration) error {
	return s.do(ctx, func() error {
		if s.alive(n.Name) {
			return fmt.Errorf("%w: a node named %q is registered already", bellman.ErrConflict, n.Name)
		}
		now := time.Now()
		n.Joined, n.Beat = cut(now), cut(now)
		s.nodes[n.Name] = &node{n, ttl, now.Add(ttl)}
		return nil
	})
}

// Beat keeps a node registered.
func (s *Store) Beat(ctx context.Context, name string) error {
	return s.do(ctx, func() error {
		if !s.alive(name) {
			return fmt.Errorf("%w: node %q", bellman.ErrFenced, name)
		}
		n, now := s.nodes[name], time.Now()
		n.Beat, n.expires = cut(now), now.Add(n.ttl)
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

// Claim takes a shard for a node.
func (s *Store) Claim(ctx context.Context, name string, shard uint16, seen int64) (bellman.Lease, error) {
	return locked(ctx, s, func() (bellman.Lease, error) {
		if int(shard) >= shardCount {
			return bellman.Lease{}, fmt.Errorf("claim shard %d: there are %d", shard, shardCount)
		}
		have := &s.shards[shard]
		if !s.alive(name) || have.Epoch != seen || have.Owner != name && s.alive(have.Owner) {
			return bellman.Lease{}, fmt.Errorf("%w: shard %d", bellman.ErrFenced, shard)
		}
		have.Owner = name
		have.Epoch++
		return have.Lease, nil
	})
}

// Nodes reads the registered nodes.
func (s *Store) Nodes(ctx context.Context) ([]bellman.Node, error) {
	return locked(ctx, s, func() ([]bellman.Node, error) {
		var list []bellman.Node
		for _, n := range s.nodes {
			list = append(list, n.Node)
		}
		slices.SortFunc(list, func(a, b bellman.Node) int { return strings.Compare(a.Name, b.Name) })
		return list, nil
	})
}

// clone copies t so that nothing is shared, with times as they are kept.
func clone(t *bellman.Task) bellman.Task {
	c := *t
	c.Header, c.Body, c.Data = maps.Clone(t.Header), bytes.Clone(t.Body), bytes.Clone(t.Data)
	for _, at := range []*time.Time{&c.StartAt, &c.Began, &c.Due, &c.Look, &c.Updated, &c.Finished} {
		*at = cut(*at)
	}
	if t.Before != nil {
		before := *t.Before
		before.Due, before.Finished = cut(before.Due), cut(before.Finished)
		c.Before = &before
	}
	return c
}

// cut is t in UTC and whole milliseconds.
func cut(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.UnixMilli(t.UnixMilli()).UTC()
}

// milli is t in Unix ms; 0 for the zero time.
func milli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
