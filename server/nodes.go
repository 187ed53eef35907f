package server

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
)

// nodes reads the nodes of a store.
type nodes struct {
	store bellman.Store
	self  string // what the names begin with under which this process joins
}

// nodes are those of the server's store.
func (s *Server) nodes() nodes {
	name := s.config.Node
	if name == "" {
		name, _ = os.Hostname() // the engine does the same
	}
	return nodes{s.store, fmt.Sprintf("%s/%d/", name, os.Getpid())}
}

// quiet is how long a node may be silent before it is taken for dead.
const quiet = 6 * time.Second

func (n nodes) Nodes(ctx context.Context) (list []bellman.NodeInfo, unowned []bellman.Lease, err error) {
	known, err := n.store.Nodes(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("read nodes: %w", err)
	}
	shards, err := n.store.Shards(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("read shards: %w", err)
	}
	at := make(map[string]int, len(known))
	for i, k := range known {
		at[k.Name] = i
		alive := time.Since(k.Beat) < quiet
		list = append(list, bellman.NodeInfo{Name: k.Name, Addr: k.Addr, Version: k.Version, Joined: k.Joined, Beat: k.Beat,
			Alive: alive, Self: alive && strings.HasPrefix(k.Name, n.self)})
	}
	for _, s := range shards {
		i, there := at[s.Owner]
		if !there || s.Owner == "" {
			unowned = append(unowned, s.Lease)
			continue
		}
		list[i].Alive = s.Alive
		list[i].Shards = append(list[i].Shards, s.Lease)
	}
	return list, unowned, nil
}
