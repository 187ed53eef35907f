package bench

import (
	"math/rand/v2"
	"time"
)

// takeover: a node is killed, again and again. How long after that its tasks that
// were due right then fire, and what the others notice of it.
func (r *run) takeover() error {
	c, err := r.cluster(r.sizes.nodes, "")
	if err != nil {
		return err
	}
	again, others := newDurations(), newDurations()
	for kill := range r.sizes.kills {
		i := kill % len(c.nodes)
		if err := r.kill(c, i, again, others); err != nil {
			return err
		}
		if err := c.replace(i); err != nil {
			return err
		}
	}
	r.must(r.figure("fire again after a kill, p50", again.ms(50)/1000, "s"), inPostgres(atMost(6.5)))
	r.must(r.figure("fire again after a kill, most", again.ms(100)/1000, "s"), inPostgres(atMost(8)))
	r.figure("the others' tasks after due, p99", others.ms(99), "ms")
	return c.stop()
}

// Between the last create and the kill, and between that and the tasks' due times,
// so that none is in flight at the death.
const (
	beforeKill = 500 * time.Millisecond
	afterKill  = 20 * time.Millisecond
	dueOver    = 50 * time.Millisecond
)

// kill kills one node, and notes how long after it the tasks fire that it owned,
// and how late those of the others are.
func (r *run) kill(c *cluster, victim int, again, others durations) error {
	// The later in a node's beat the sooner it is missed.
	sleepUntil(time.Now().Add(rand.N(2 * time.Second)))
	doomed, rest := r.newLoad(r.sizes.doomed), r.newLoad(r.sizes.doomed)
	for {
		at := time.Now().Add(beforeKill + r.sizes.ahead(2*r.sizes.doomed))
		// A node keeps what it is told in shards of its own.
		doomed.dueWithin(at.Add(afterKill), dueOver)
		rest.dueWithin(at.Add(afterKill), dueOver)
		owner := &cluster{r: r, nodes: c.nodes[victim : victim+1]}
		if err := owner.createInBatches(r.ctx, to(doomed, r.url)); err != nil {
			return err
		}
		if err := c.others(victim).createInBatches(r.ctx, to(rest, r.url)); err != nil {
			return err
		}
		if time.Until(at) > 0 {
			sleepUntil(at)
			break
		}
		if err := r.arrive(doomed); err != nil { // too slow: once more
			return err
		}
		if err := r.arrive(rest); err != nil {
			return err
		}
		doomed, rest = r.newLoad(r.sizes.doomed), r.newLoad(r.sizes.doomed)
	}
	killed := time.Now()
	c.nodes[victim].kill()
	if err := r.arrive(doomed); err != nil {
		return err
	}
	if err := r.finish(c.nodes[(victim+1)%len(c.nodes)], rest, 0); err != nil {
		return err
	}
	for i := range doomed.at {
		if at := doomed.at[i].Load(); at > 0 {
			again.add(at - killed.UnixNano())
		}
	}
	others.h.Merge(rest.lateness().h)
	return nil
}
