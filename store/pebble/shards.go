package pebble

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/pack"
	"github.com/bellmanhq/bellman/store"
)

// shards records the owner of each shard, and the registered nodes. Nodes are in memory only: one
// process at a time has the directory, so earlier registrations are void.
type shards struct {
	mu    sync.RWMutex
	list  []store.Shard // the field Alive is unused
	nodes map[string]*node
}

type node struct {
	store.Node
	ttl     time.Duration
	expires time.Time
}

// forgotten is the number of ttls that an expired node stays in the list.
const forgotten = 100

func appendShard(b []byte, shard store.Shard) []byte {
	b = binary.AppendVarint(append(b, format), shard.Epoch)
	return pack.Text(b, shard.Owner)
}

func (s *Store) readShards() error {
	s.shards.nodes = map[string]*node{}
	for i := range s.shards.list {
		s.shards.list[i].Shard = uint16(i)
	}
	return s.scan([]byte{tableShard}, func(key, row []byte) error {
		n := binary.BigEndian.Uint16(key[1:])
		shard, err := parseShard(n, row)
		if err != nil || int(n) >= len(s.shards.list) {
			return pack.ErrCorrupt
		}
		s.shards.list[n] = shard
		return nil
	})
}

// parseShard decodes the row of a shard.
func parseShard(n uint16, row []byte) (shard store.Shard, err error) {
	p := pack.Read(row)
	if p.Byte() != format {
		return shard, pack.ErrCorrupt
	}
	shard.Shard, shard.Epoch, shard.Owner = n, p.Varint(), p.Text()
	shard.Mark = shard.Owner
	return shard, p.End()
}

// alive reports whether the node is registered and has not expired.
func (s *shards) alive(name string, now time.Time) bool {
	n := s.nodes[name]
	return n != nil && now.Before(n.expires)
}

// fence checks that each lease is the newest of its shard. Under s.mu.
func (s *Store) fence(leases []store.Lease) error {
	s.shards.mu.RLock()
	defer s.shards.mu.RUnlock()
	for _, l := range leases {
		if int(l.Shard) >= len(s.shards.list) {
			return fmt.Errorf("%w: shard %d of %d", bellman.ErrFenced, l.Shard, len(s.shards.list))
		}
		if have := s.shards.list[l.Shard].Lease; have != l {
			return fmt.Errorf("%w: shard %d is at epoch %d of node %q, the lease says %d of %q", bellman.ErrFenced, l.Shard, have.Epoch, have.Mark, l.Epoch, l.Mark)
		}
	}
	return nil
}

// State reads nodes, shards and documents. Documents need no common snapshot, because no other
// process changes them.
func (s *Store) State(ctx context.Context, kind string) (st store.State, err error) {
	if err := s.enter(); err != nil {
		return st, err
	}
	defer s.leave()
	s.shards.mu.RLock()
	now := time.Now()
	for _, n := range s.shards.nodes {
		st.Nodes = append(st.Nodes, n.Node)
	}
	st.Shards = slices.Clone(s.shards.list)
	for i := range st.Shards {
		st.Shards[i].Alive = s.shards.alive(st.Shards[i].Owner, now)
	}
	s.shards.mu.RUnlock()
	slices.SortFunc(st.Nodes, func(a, b store.Node) int { return strings.Compare(a.Name, b.Name) })
	if kind != "" {
		st.Docs, err = s.docs(ctx, store.DocFilter{Kind: kind}, math.MaxInt)
	}
	return st, err
}

// Join registers a node. The registration expires unless the node beats at least every ttl.
func (s *Store) Join(_ context.Context, n store.Node, ttl time.Duration) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	if n.Name == "" || ttl <= 0 {
		return fmt.Errorf("join: node %q with ttl %v: want a name and a ttl above zero", n.Name, ttl)
	}
	s.shards.mu.Lock()
	defer s.shards.mu.Unlock()
	now := time.Now()
	if s.shards.alive(n.Name, now) {
		return fmt.Errorf("%w: a node named %q is registered already", bellman.ErrConflict, n.Name)
	}
	maps.DeleteFunc(s.shards.nodes, func(_ string, old *node) bool { return now.Sub(old.expires) > forgotten*old.ttl })
	n.Joined, n.Beat = cut(now), cut(now)
	s.shards.nodes[n.Name] = &node{n, ttl, now.Add(ttl)}
	return nil
}

// Beat extends the node's registration by ttl. ErrFenced: the registration has expired.
func (s *Store) Beat(_ context.Context, name string) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	s.shards.mu.Lock()
	defer s.shards.mu.Unlock()
	now := time.Now()
	if !s.shards.alive(name, now) {
		return fmt.Errorf("%w: node %q is not registered, or expired", bellman.ErrFenced, name)
	}
	n := s.shards.nodes[name]
	n.Beat, n.expires = cut(now), now.Add(n.ttl)
	return nil
}

// Leave removes a node's registration and releases its shards.
func (s *Store) Leave(_ context.Context, name string) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(); err != nil {
		return err
	}
	s.shards.mu.RLock()
	owned := slices.Clone(s.shards.list)
	s.shards.mu.RUnlock()
	owned = slices.DeleteFunc(owned, func(shard store.Shard) bool { return shard.Owner != name })
	for i := range owned {
		owned[i].Owner = ""
	}
	free := func() {
		s.shards.mu.Lock()
		defer s.shards.mu.Unlock()
		delete(s.shards.nodes, name)
		for _, shard := range owned {
			s.shards.list[shard.Shard].Owner = ""
		}
	}
	return s.writeShards(owned, free)
}

// Release releases one shard. ErrFenced: the lease is not the newest, or the node does not own the
// shard.
func (s *Store) Release(_ context.Context, name string, l store.Lease) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(); err != nil {
		return err
	}
	if err := s.fence([]store.Lease{l}); err != nil {
		return err
	}
	s.shards.mu.RLock()
	owner := s.shards.list[l.Shard].Owner
	s.shards.mu.RUnlock()
	if owner != name || name == "" {
		return fmt.Errorf("%w: shard %d belongs to node %q", bellman.ErrFenced, l.Shard, owner)
	}
	return s.writeShards([]store.Shard{{Lease: l}}, func() {
		s.shards.mu.Lock()
		defer s.shards.mu.Unlock()
		s.shards.list[l.Shard].Owner = ""
	})
}

// Claim assigns a shard to a node if the shard's epoch is still seen, and the owner is the node
// itself, gone or expired. Otherwise, or if the node is not registered, Claim returns ErrFenced.
func (s *Store) Claim(_ context.Context, name string, shard uint16, seen int64) (store.Lease, error) {
	if err := s.enter(); err != nil {
		return store.Lease{}, err
	}
	defer s.leave()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(); err != nil {
		return store.Lease{}, err
	}
	now := time.Now()
	s.shards.mu.RLock()
	var have store.Shard
	known := int(shard) < len(s.shards.list)
	if known {
		have = s.shards.list[shard]
	}
	mine := s.shards.alive(name, now)
	taken := have.Owner != name && s.shards.alive(have.Owner, now)
	s.shards.mu.RUnlock()
	switch {
	case !known:
		return store.Lease{}, fmt.Errorf("claim shard %d: there are %d", shard, len(s.shards.list))
	case !mine:
		return store.Lease{}, fmt.Errorf("%w: node %q is not registered, or expired", bellman.ErrFenced, name)
	case have.Epoch != seen:
		return store.Lease{}, fmt.Errorf("%w: shard %d is at epoch %d, not %d", bellman.ErrFenced, shard, have.Epoch, seen)
	case taken:
		return store.Lease{}, fmt.Errorf("%w: shard %d belongs to node %q", bellman.ErrFenced, shard, have.Owner)
	}
	have.Epoch, have.Mark, have.Owner = seen+1, name, name
	err := s.writeShards([]store.Shard{have}, func() {
		s.shards.mu.Lock()
		defer s.shards.mu.Unlock()
		s.shards.list[shard].Lease, s.shards.list[shard].Owner = have.Lease, name
	})
	if err != nil {
		return store.Lease{}, err
	}
	return have.Lease, nil
}

// writeShards writes the rows of these shards, then calls apply. Under s.mu.
func (s *Store) writeShards(list []store.Shard, apply func()) error {
	if len(list) == 0 {
		apply()
		return nil
	}
	for _, shard := range list {
		if err := s.batch.Set(shardKey(nil, shard.Shard), appendShard(nil, shard), nil); err != nil {
			s.batch.Reset()
			return err
		}
	}
	return s.writeThen(apply)
}
