package client

import (
	"context"
	"net/http"
)

// A Node is a process that shares the tasks of a store with others.
type Node struct {
	Name    string  `json:"name" doc:"Changes at each start, and after an absence in which other nodes claimed its shards."`
	Addr    string  `json:"addr" doc:"Address of its API; may be empty."`
	Version string  `json:"version"`
	Joined  Time    `json:"joined" format:"date-time"`
	Beat    Time    `json:"beat" format:"date-time" doc:"Time of the last heartbeat, by the store's clock."`
	Alive   bool    `json:"alive" doc:"The node is alive. Other nodes may claim the shards of a node that is not."`
	Self    bool    `json:"self" doc:"The node that answers this request."`
	Shards  []Shard `json:"shards" nullable:"false"`
}

// A Shard is a slice of the tasks, with its epoch.
type Shard struct {
	Shard int   `json:"shard"`
	Epoch int64 `json:"epoch" doc:"Grows with each new owner."`
}

// Nodes is the list of all nodes.
type Nodes struct {
	Nodes   []Node  `json:"nodes" nullable:"false"`
	Unowned []Shard `json:"unowned" nullable:"false" doc:"Shards without an owner: their tasks are not attempted until a node claims them."`
}

// Nodes reads the nodes that share the server's store, by name, and the shards without an owner.
func (c *Client) Nodes(ctx context.Context) (*Nodes, error) {
	return one[Nodes](ctx, c, http.MethodGet, "/v1/nodes", nil, nil)
}
