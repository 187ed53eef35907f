package bench

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"time"
)

// A cluster is servers that share a store.
type cluster struct {
	r     *run
	store string
	nodes []*process
}

// cluster starts n servers on one new store and waits until each has its share.
func (r *run) cluster(n int, name string) (*cluster, error) {
	c := &cluster{r: r, store: r.store(name)}
	for range n {
		p, err := r.start(c.store)
		if err != nil {
			return nil, err
		}
		c.nodes = append(c.nodes, p)
	}
	return c, c.balanced()
}

// balanced waits until every node has shards, all shards have a node, and nothing
// has changed for a moment.
func (c *cluster) balanced() error {
	var last map[string][]int
	still := c.r.sizes.settle / 3
	since, deadline := time.Now(), time.Now().Add(patience)
	for {
		shares, err := c.shares(c.r.ctx)
		switch {
		case err != nil:
			return err
		case shares == nil || !reflect.DeepEqual(shares, last):
			last, since = shares, time.Now()
		case time.Since(since) > still:
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the shards are not shared out among %d nodes after %s: %v\n%s", len(c.nodes), patience, last, c.logs())
		}
		sleepUntil(time.Now().Add(20 * time.Millisecond))
	}
}

// shares are the shards of each node; nil while a node has none, or a shard is
// nobody's or of a node that is no more.
func (c *cluster) shares(ctx context.Context) (map[string][]int, error) {
	list, err := c.nodes[0].client.Nodes(ctx)
	if err != nil || len(list.Unowned) > 0 {
		return nil, err
	}
	shares := map[string][]int{}
	for _, n := range list.Nodes {
		switch {
		case len(n.Shards) > 0 && !n.Alive, n.Alive && len(n.Shards) == 0:
			return nil, nil
		case n.Alive:
			for _, s := range n.Shards {
				shares[n.Name] = append(shares[n.Name], s.Shard)
			}
		}
	}
	if len(shares) != len(c.nodes) {
		return nil, nil
	}
	return shares, nil
}

func (c *cluster) logs() string {
	var all strings.Builder
	for i, p := range c.nodes {
		fmt.Fprintf(&all, "node %d:\n%s\n", i+1, p.log)
	}
	return all.String()
}

// stop stops all.
func (c *cluster) stop() error {
	for _, p := range c.nodes {
		if err := p.stop(); err != nil {
			return err
		}
	}
	return nil
}

// createInBatches creates all of a plan, batch tasks a request, by as many clients
// as for one server, each at a server of its own as far as there are enough.
func (c *cluster) createInBatches(ctx context.Context, plan plan) error {
	var clients atomic.Int64
	return inSteps(ctx, plan.tasks, c.r.sizes.batch, batchClients, func(ctx context.Context) func(i, n int) error {
		at := c.nodes[int(clients.Add(1))%len(c.nodes)].creator("/v1/tasks/batch")
		return func(i, n int) error { return at.several(ctx, &plan, i, n) }
	})
}

// nodes: what it costs that a load is shared by several servers, which have no
// more CPU than one has.
func (r *run) nodes() error {
	measure := func(n int, name string) (batches, due float64, err error) {
		c, err := r.cluster(n, name)
		if err != nil {
			return 0, 0, err
		}
		if batches, err = c.throughput(0); err != nil {
			return 0, 0, err
		}
		if due, err = c.dueAtOnce(0); err != nil {
			return 0, 0, err
		}
		return batches, due, c.stop()
	}
	batches, due, err := measure(1, "one")
	if err != nil {
		return err
	}
	sharedBatches, sharedDue, err := measure(r.sizes.nodes, "several")
	if err != nil {
		return err
	}
	goal := inPostgres(atLeast(0.85))
	r.figure("one node, in batches", batches, "/s")
	r.must(r.figure("three nodes, in batches", sharedBatches, "/s").against("one node", batches), goal)
	r.figure("one node, due at once", due, "/s")
	r.must(r.figure("three nodes, due at once", sharedDue, "/s").against("one node", due), goal)
	return nil
}

// throughput is how many tasks a second are created, delivered and recorded, with
// so many waiting besides.
func (c *cluster) throughput(rest int64) (float64, error) {
	r := c.r
	l := r.newLoad(r.sizes.batches)
	begun := time.Now()
	if err := c.createInBatches(r.ctx, to(l, r.url)); err != nil {
		return 0, err
	}
	err := r.finish(c.nodes[0], l, rest)
	return float64(len(l.at)) / time.Since(begun).Seconds(), err
}

// dueAtOnce is how many stored tasks a second are delivered and recorded that
// become due at one moment. Where creating them took longer, it is done again
// with twice the time.
func (c *cluster) dueAtOnce(rest int64) (float64, error) {
	r := c.r
	for ahead := r.sizes.ahead(r.sizes.drain); ; ahead *= 2 {
		l := r.newLoad(r.sizes.drain)
		l.dueWithin(time.Now().Add(ahead), time.Millisecond)
		if err := c.createInBatches(r.ctx, to(l, r.url)); err != nil {
			return 0, err
		}
		inTime := l.arrived.Load() == 0
		if err := r.finish(c.nodes[0], l, rest); err != nil {
			return 0, err
		}
		if inTime {
			return float64(len(l.at)) / time.Since(time.UnixMilli(l.due[0])).Seconds(), nil
		}
	}
}
