package bench

import (
	"slices"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/schedule"
)

// ordersCrowd polls more orders than the machine can poll in time. Each must get its share, none
// may be forgotten, and memory must stay bounded. Then all are paid, and every merchant must be
// notified.
func (r *run) ordersCrowd() {
	c := must(newChannel(r.nextLoad(), r.sizes.crowd))
	defer c.close()
	p := r.startOrders(r.store(""), c, schedule.FormatDuration(r.sizes.gap)+"*")
	begun := time.Now()
	try(p.place(r.ctx, c, orderBatch, r.sizes.ramp))
	r.figure("orders placed in", time.Since(begun).Seconds(), "s")
	sleepUntil(time.Now().Add(2 * r.sizes.gap)) // until the last ones are due
	r.figure("questions offered", float64(len(c.placed))/r.sizes.gap.Seconds(), "/s")
	before := c.questions()
	r.asked(p, c, time.Now().Add(r.sizes.steady))
	r.shares(c, before)

	c.paid.Store(true)
	from := time.Now()
	r.settle(c.await(r.ctx))
	r.settle(p.awaitPending(r.ctx, 0))
	r.figure("all paid, decided and told after", time.Since(from).Seconds(), "s")
	r.peak(p, "server memory, most", mostMemory())
	r.checkChannel(c)
	r.checkPaid(p, c)
	try(p.stop())
}

// shares reports how evenly orders were queried since before: how often, and at which intervals.
func (r *run) shares(c *channel, before []int) {
	between := newDurations()
	shares := make([]int, len(before))
	for i := range c.placed {
		p := &c.placed[i]
		p.mu.Lock()
		shares[i] = len(p.at) - before[i]
		for k := max(before[i], 1); k < len(p.at); k++ {
			between.add(p.at[k] - p.at[k-1])
		}
		p.mu.Unlock()
	}
	slices.Sort(shares)
	at := func(percent int) float64 { return float64(shares[(len(shares)-1)*percent/100]) }
	r.figure("questions an order, p1", at(1), "")
	r.figure("questions an order, p50", at(50), "")
	r.require(r.figure("questions an order, p99", at(99), "").against("p1", at(1)), timesAtMost(2))
	r.figure("between two questions, p50", between.ms(50), "ms")
	r.figure("between two questions, p99", between.ms(99), "ms")
	r.figure("between two questions, most", between.ms(100), "ms")
}

// checkPaid checks that every order is PAID in the store, and that each has one notification.
func (r *run) checkPaid(p *process, c *channel) {
	check := func(queue string, right func(*client.Task) bool) {
		n, others := 0, 0
		for t, err := range p.client.Tasks(r.ctx, client.Filter{Queue: queue}) {
			try(err)
			if right(&t) {
				n++
			} else {
				others++
			}
		}
		if n != len(c.placed) || others > 0 {
			r.fail("queue %s has %d tasks as they should be and %d others, want %d and none", queue, n, others, len(c.placed))
		}
	}
	check("orders", func(t *client.Task) bool { return t.OrderState == "PAID" && t.State == "succeeded" })
	check("told", func(t *client.Task) bool { return t.Event == "order.paid" && t.State == "succeeded" })
}

// ordersWaiting measures the cost of orders whose first query is half an hour away.
func (r *run) ordersWaiting() {
	c := must(newChannel(r.nextLoad(), r.sizes.waiting))
	defer c.close()
	store := r.store("")
	p := r.startOrders(store, c, "30m, 1m*")
	begun := time.Now()
	try(p.place(r.ctx, c, r.sizes.batch, 0))
	r.figure("orders accepted in batches", float64(len(c.placed))/time.Since(begun).Seconds(), "/s")
	waits := func(name string) {
		sleepUntil(time.Now().Add(r.sizes.settle))
		if _, now, _ := p.usage(); now > 0 {
			r.require(r.figure(name, mib(now), "MiB"), atMost(128))
		}
		r.kept(p, len(c.placed))
	}
	waits("memory when all are created")
	r.peak(p, "")
	try(p.stop())
	p = r.startOrders(store, c, "30m, 1m*")
	r.figure("ready after", ms(p.ready), "ms")
	waits("memory started with all waiting")
	r.failAny(count{c.asked.Load() + c.strays.Load(), "%d requests about orders that were due in half an hour"})
	try(p.stop())
}
