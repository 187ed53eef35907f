package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"time"
)

// A cluster is a set of servers that share a store.
type cluster struct {
	r     *run
	nodes []*process
}

// cluster starts n servers on one store and waits until each has its share.
func (r *run) cluster(n int, store string) *cluster {
	c := &cluster{r: r}
	for range n {
		c.nodes = append(c.nodes, r.start(store))
	}
	c.balanced()
	return c
}

// balanced waits until every node has shards, all shards have a node, and nothing has changed for a
// moment.
func (c *cluster) balanced() {
	var last map[string][]int
	still := c.r.sizes.settle / 3
	for since, deadline := time.Now(), time.Now().Add(patience); ; sleepUntil(time.Now().Add(20 * time.Millisecond)) {
		shares := must(c.shares(c.r.ctx))
		if shares == nil || !reflect.DeepEqual(shares, last) {
			last, since = shares, time.Now()
		} else if time.Since(since) > still {
			return
		}
		if time.Now().After(deadline) {
			var logs strings.Builder
			for i, p := range c.nodes {
				fmt.Fprintf(&logs, "node %d:\n%s\n", i+1, p.log)
			}
			try(fmt.Errorf("the shards are not shared out among %d nodes after %s: %v\n%s", len(c.nodes), patience, last, &logs))
		}
	}
}

// shares returns the shards of each node; nil while a node has none or a shard has no living owner.
func (c *cluster) shares(ctx context.Context) (map[string][]int, error) {
	list, err := c.nodes[0].client.Nodes(ctx)
	if err != nil || len(list.Unowned) > 0 {
		return nil, err
	}
	shares := map[string][]int{}
	for _, n := range list.Nodes {
		if (len(n.Shards) > 0) != n.Alive {
			return nil, nil
		}
		for _, s := range n.Shards {
			shares[n.Name] = append(shares[n.Name], s.Shard)
		}
	}
	if len(shares) != len(c.nodes) {
		return nil, nil
	}
	return shares, nil
}

func (c *cluster) stop() {
	for _, p := range c.nodes {
		try(p.stop())
	}
}

// throughput returns how many tasks a second are created, delivered and recorded, while rest other
// tasks wait.
func (c *cluster) throughput(rest int) float64 {
	return c.r.timed(c.nodes[0], c.r.sizes.batches, rest, func(l *load) {
		try(createInBatches(c.r.ctx, to(l, c.r.url), c.nodes...))
	})
}

// dueAtOnce returns how many tasks a second are delivered and recorded after they all became due at
// one moment, while rest other tasks wait. If creating the tasks takes longer, dueAtOnce starts
// again with twice the time.
func (c *cluster) dueAtOnce(rest int) float64 {
	r := c.r
	for ahead := r.sizes.ahead(r.sizes.drain); ; ahead *= 2 {
		l := r.newLoad(r.sizes.drain)
		l.dueWithin(time.Now().Add(ahead), time.Millisecond)
		try(createInBatches(r.ctx, to(l, r.url), c.nodes...))
		inTime := l.arrived.Load() == 0
		r.finish(c.nodes[0], l, int64(rest))
		if inTime {
			return float64(len(l.at)) / time.Since(time.UnixMilli(l.due[0])).Seconds()
		}
	}
}

// nodes measures the cost of sharing a load among several servers on the same CPUs.
func (r *run) nodes() {
	measure := func(n int, name string) (batches, due float64) {
		c := r.cluster(n, r.store(name))
		batches, due = c.throughput(0), c.dueAtOnce(0)
		c.stop()
		return batches, due
	}
	batches, due := measure(1, "one")
	sharedBatches, sharedDue := measure(r.sizes.nodes, "several")
	goal := inPostgres(atLeast(0.85))
	r.figure("one node, in batches", batches, "/s")
	r.require(r.figure("three nodes, in batches", sharedBatches, "/s").against("one node", batches), goal)
	r.figure("one node, due at once", due, "/s")
	r.require(r.figure("three nodes, due at once", sharedDue, "/s").against("one node", due), goal)
	r.takeovers()
}

// The load of a take-over, and when the node dies after its first task was due: at any moment
// between two heartbeats.
const (
	takeoverRate = 300 // tasks a second
	takeoverSpan = 4 * time.Second
	deathAfter   = time.Second
	deathWithin  = time.Second
)

// takeovers kills one node after another and reports how long its due tasks waited for another
// node.
func (r *run) takeovers() {
	store := r.store("takeovers")
	c := r.cluster(r.sizes.nodes, store)
	waits := newDurations()
	for i := range r.sizes.kills {
		l := newLoad(r.nextLoad(), takeoverRate*int(takeoverSpan.Seconds()))
		r.receiver.begin(l)
		begin := time.Now().Add(r.sizes.ahead(len(l.at)))
		l.dueWithin(begin, takeoverSpan)
		try(createInBatches(r.ctx, to(l, r.url), c.nodes...))
		sleepUntil(begin.Add(deathAfter + rand.N(deathWithin)))
		victim := i % len(c.nodes)
		death := time.Now()
		c.nodes[victim].kill()
		r.arrive(l)
		for task := range l.at {
			due, at := time.UnixMilli(l.due[task]), time.Unix(0, l.at[task].Load())
			if wait, is := takenOver(due, at, death); is {
				waits.add(int64(wait))
			}
		}
		if lost := int64(len(l.at)) - l.arrived.Load(); lost > 0 {
			r.fail("%d of %d tasks lost when a node was killed", lost, len(l.at))
		}
		r.failAny(count{l.early.Load(), "%d deliveries before their task was due"}) // one in flight may arrive twice
		c.nodes[victim] = r.start(store)
		c.balanced()
		r.settle(c.nodes[0].awaitPending(r.ctx, 0))
	}
	c.stop()
	if waits.h.TotalCount() == 0 {
		try(errors.New("no task waited for a take-over"))
	}
	r.require(r.figure("take-over after kill -9, p50", waits.ms(50), "ms"), inPostgres(atMost(2500)))
	r.require(r.figure("take-over after kill -9, most", waits.ms(100), "ms"), inPostgres(atMost(3500)))
}

// takenOver returns how long a task waited for its take-over, from its due time or the death,
// whichever was later. Such a task was due within a second of the death, and arrived more than 1.5
// s late.
func takenOver(due, at, death time.Time) (wait time.Duration, is bool) {
	if due.Sub(death).Abs() >= time.Second || at.Sub(due) <= 1500*time.Millisecond {
		return 0, false
	}
	if death.After(due) {
		due = death
	}
	return at.Sub(due), true
}
