package api

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
)

// twoNodes are one that is alive, and one that is not.
func twoNodes(context.Context) ([]engine.NodeInfo, []store.Lease, error) {
	return []engine.NodeInfo{
		{Name: "a/1/x", Addr: "10.0.0.1:2355", Version: "1.2.3", Joined: t0, Beat: t0.Add(time.Minute),
			Alive: true, Self: true, Shards: []store.Lease{{Shard: 0, Epoch: 7}, {Shard: 2, Epoch: 1}}},
		{Name: "b/1/y", Joined: t0, Beat: t0},
	}, []store.Lease{{Shard: 1, Epoch: 4}}, nil
}

func noNodes(context.Context) ([]engine.NodeInfo, []store.Lease, error) {
	return nil, nil, errors.New("the password is pw")
}

func TestNodesAreRefused(t *testing.T) {
	if w := make1(t, Options{}).do("GET", "/v1/nodes", ""); w.Code != 501 {
		t.Errorf("without nodes: %d %s; want 501", w.Code, w.Body)
	}
	if w := make1(t, Options{Nodes: noNodes}).do("GET", "/v1/nodes", ""); w.Code != 500 {
		t.Errorf("a store that fails: %d %s; want 500", w.Code, w.Body)
	}
}
