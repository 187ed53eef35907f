package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// A task may wait for days after the death of its shard's owner, for example in a paused queue. So
// a death is kept in the store when its shard is released, and each later owner knows it.

// deathKind is the kind of the documents that keep deaths. The name of a document is the number of
// its shard.
const deathKind = "death"

// A Death is the last death of an owner of a shard. Zero: none of its owners has died.
type Death struct {
	Found int64  `json:"found"` // a task due before this time may have been in flight at the death, Unix ms
	Node  string `json:"node"`  // the dead owner, as Attempt.Node names it
	Kept  bool   `json:"-"`     // the store has its document
}

// Death returns the last death of an owner of a shard of this node.
func (m *Member) Death(shard uint16) Death {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.deaths[shard]
}

// death returns the death of a node that is found now. The clock of that node may have been ahead
// of this one, so it may have attempted tasks that are not due yet. This node's own clock may be
// far behind. The caller holds claiming.
func (m *Member) death(node string) Death {
	found := m.clock.Now()
	if !m.sole {
		found = found.Add(2*store.MaxSkew + max(m.roster.ahead, 0))
	}
	return Death{Found: found.UnixMilli(), Node: baseOf(node)}
}

// know records the last death of an owner of a shard, before this node claims the shard: the answer
// to the claim may be lost, or the claim may arrive late.
func (m *Member) know(shard uint16, d Death) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d == (Death{}) {
		delete(m.deaths, shard)
	} else {
		m.deaths[shard] = d
	}
}

// died returns the shards with deaths, sorted.
func (m *Member) died() []uint16 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.Sorted(maps.Keys(m.deaths))
}

// keptDeaths reads the deaths that owners have kept, within a time.
func (m *Member) keptDeaths(ctx context.Context, within time.Duration) (map[uint16]Death, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	kept := make(map[uint16]Death)
	for doc, err := range store.EachDoc(ctx, m.store, deathKind, "") {
		if err != nil {
			return nil, fmt.Errorf("read deaths: %w", err)
		}
		shard, err := strconv.ParseUint(doc.Name, 10, 16)
		if err != nil {
			continue
		}
		d := Death{Kept: true}
		if json.Unmarshal(doc.Value, &d) != nil {
			d.Found = m.clock.Now().UnixMilli()
		}
		kept[uint16(shard)] = d
	}
	return kept, nil
}

// keepDeaths writes the deaths of some shards that the store does not have yet. ErrFenced: one of
// these shards is not this node's. The caller holds claiming.
func (m *Member) keepDeaths(ctx context.Context, shards ...uint16) error {
	var b store.Batch
	for _, s := range shards {
		d := m.Death(s)
		if d == (Death{}) || d.Kept {
			continue
		}
		value, err := json.Marshal(d)
		if err != nil {
			return err
		}
		lease, held := m.lease(s)
		if !held {
			return fmt.Errorf("%w: shard %d", bellman.ErrFenced, s)
		}
		b.Leases = append(b.Leases, lease)
		b.Docs = append(b.Docs, store.Doc{Kind: deathKind, Name: strconv.Itoa(int(s)), Value: value})
	}
	if len(b.Docs) == 0 {
		return nil
	}
	if err := m.store.Commit(ctx, &b); err != nil {
		return fmt.Errorf("keep deaths: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range b.Leases {
		d := m.deaths[l.Shard]
		d.Kept = true
		m.deaths[l.Shard] = d
	}
	return nil
}
