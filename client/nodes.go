package client

import (
	"context"
	"net/http"
)

// A Node is a process that shares the tasks of a store with others.
type Node struct {
	Name    string  `json:"name" doc:"A new one at each start, and after an absence in which its shards went to others."`
	Addr    string  `json:"addr" doc:"Where its API answers; may be empty."`
	Version string  `json:"version"`
	Joined  Time    `json:"joined" format:"date-time"`
	Beat    Time    `json:"beat" format:"date-time" doc:"The last one, by the store's clock."`
	Alive   bool    `json:"alive" doc:"Its shards are its own; those of one that is not are anybody's."`
	Self    bool    `json:"self" doc:"It is the node that answers."`
	Shards  []Shard `json:"shards" nullable:"false"`
}

// A Shard is a slice of the tasks, and the epoch that it has.
type Shard struct {
	Shard int   `json:"shard"`
	Epoch int64 `json:"epoch" doc:"Larger for each new owner."`
}

// Nodes is the list of all nodes.
type Nodes struct {
	Nodes   []Node  `json:"nodes" nullable:"false"`
	Unowned []Shard `json:"unowned" nullable:"false" doc:"Shards that no node in the list has: nobody fires their tasks until one takes them."`
}

// Nodes reads the nodes that share the server's store, by name, and the shards
// that are nobody's.
func (c *Client) Nodes(ctx context.Context) (*Nodes, error) {
	return one[Nodes](ctx, c, http.MethodGet, "/v1/nodes", nil, nil)
}
