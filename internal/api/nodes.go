package api

import (
	"context"
	"net/http"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/store"
)

func (a *API) registerNodes(h part) {
	register(partOf(h, a.o.Nodes != nil, "this server knows of no nodes"), operation("list-nodes", http.MethodGet, "/v1/nodes", access.MayRead, "Nodes that share the store: their shards and epochs, their last beat, and which one answers."), a.listNodes)
}

func (a *API) listNodes(ctx context.Context, _ *struct{ Caller }) (*answer[client.Nodes], error) {
	nodes, unowned, err := a.o.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	out := client.Nodes{Nodes: make([]client.Node, len(nodes)), Unowned: shards(unowned)}
	for i, n := range nodes {
		out.Nodes[i] = client.Node{
			Name: n.Name, Addr: n.Addr, Version: n.Version, Joined: client.At(n.Joined), Beat: client.At(n.Beat),
			Alive: n.Alive, Self: n.Self, Shards: shards(n.Shards),
		}
	}
	return ok(out)
}

func shards(leases []store.Lease) []client.Shard {
	out := make([]client.Shard, len(leases))
	for i, l := range leases {
		out[i] = client.Shard{Shard: int(l.Shard), Epoch: l.Epoch}
	}
	return out
}
