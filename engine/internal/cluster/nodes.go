package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bellmanhq/bellman/store"
)

// showDead is how long a dead node without shards is listed.
const showDead = 10 * time.Minute

// Nodes returns the registered nodes by name, and the shards that none of them owns. A dead node is
// listed while it owns shards, and for ten minutes.
func (m *Member) Nodes(ctx context.Context) (nodes []NodeInfo, unowned []store.Lease, err error) {
	state, err := m.store.State(ctx, "")
	if err != nil {
		return nil, nil, fmt.Errorf("read nodes: %w", err)
	}
	known := state.Nodes
	m.mu.RLock()
	self, beat := m.node.Name, m.beat
	m.mu.RUnlock()
	moment, now := clockOf(known, self, beat), time.Now()
	at := make(map[string]int, len(known))
	for i, n := range known {
		at[n.Name] = i
		nodes = append(nodes, NodeInfo{
			Name: n.Name, Addr: n.Addr, Version: n.Version, Joined: n.Joined, Beat: n.Beat,
			Alive: now.Before(moment(n.Beat).Add(leaseTTL)),
			Self:  n.Name == self,
		})
	}
	for _, s := range state.Shards {
		i, ok := at[s.Owner]
		if !ok {
			unowned = append(unowned, s.Lease)
			continue
		}
		nodes[i].Alive = s.Alive
		nodes[i].Shards = append(nodes[i].Shards, s.Lease)
	}
	nodes = slices.DeleteFunc(nodes, func(n NodeInfo) bool {
		return !n.Alive && len(n.Shards) == 0 && now.Sub(moment(n.Beat)) > showDead
	})
	return nodes, unowned, nil
}
