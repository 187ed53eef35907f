package api

import (
	"context"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
)

func (a *API) listNodes(ctx context.Context, _ *struct{ Caller }) (*answer[client.Nodes], error) {
	nodes, unowned, err := a.o.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	return ok(client.Nodes{Nodes: each(nodes, node), Unowned: each(unowned, shard)})
}

func node(n *engine.NodeInfo) client.Node {
	return client.Node{
		Name: n.Name, Addr: n.Addr, Version: n.Version, Joined: client.At(n.Joined), Beat: client.At(n.Beat),
		Alive: n.Alive, Self: n.Self, Shards: each(n.Shards, shard),
	}
}

func shard(l *store.Lease) client.Shard { return client.Shard{Shard: int(l.Shard), Epoch: l.Epoch} }
