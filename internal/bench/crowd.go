package bench

import (
	"slices"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/schedule"
)

// ordersCrowd: more orders than the machine can poll in time. Each must get its
// share, none may be forgotten, and memory must stay where it is. Then everybody
// pays, and all must be told.
func (r *run) ordersCrowd() error {
	c, err := newChannel(r.nextLoad(), r.sizes.crowd)
	if err != nil {
		return err
	}
	defer c.close()
	p, err := r.startOrders(r.store(""), c, schedule.FormatDuration(r.sizes.gap)+"*")
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := p.place(r.ctx, c, orderBatch, r.sizes.ramp); err != nil {
		return err
	}
	r.figure("orders placed in", time.Since(begun).Seconds(), "s")
	sleepUntil(time.Now().Add(2 * r.sizes.gap)) // until the last ones had to be asked about
	r.figure("questions offered", float64(len(c.placed))/r.sizes.gap.Seconds(), "/s")
	cpu, from, asked := r.mark(p, c)
	before := c.questions()
	sleepUntil(from.Add(r.sizes.steady))
	r.asked(p, c, cpu, from, asked)
	r.shares(c, before)

	c.paid.Store(true)
	from = time.Now()
	if err := r.settled(c.await(r.ctx)); err != nil {
		return err
	}
	if err := r.settled(p.awaitPending(r.ctx, 0)); err != nil {
		return err
	}
	r.figure("all paid, decided and told after", time.Since(from).Seconds(), "s")
	if _, _, peak := p.usage(); peak > 0 {
		r.must(r.figure("server memory, most", mib(peak), "MiB"), atMost(256))
		r.busy = max(r.busy, peak)
	}
	r.checkChannel(c)
	if err := r.checkPaid(p, c); err != nil {
		return err
	}
	return p.stop()
}

// shares notes how evenly orders were asked about since they had so many questions
// each: how often, and with what time between two questions.
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
	r.must(r.figure("questions an order, p99", at(99), "").against("p1", at(1)), timesAtMost(2))
	r.figure("between two questions, p50", between.ms(50), "ms")
	r.figure("between two questions, p99", between.ms(99), "ms")
	r.figure("between two questions, most", between.ms(100), "ms")
}

// checkPaid checks that every order is PAID in the store, and that each has one
// task that tells it.
func (r *run) checkPaid(p *process, c *channel) error {
	paid, told := 0, 0
	for _, q := range []struct {
		queue string
		is    func(*client.Task) bool
		n     *int
	}{
		{"orders", func(t *client.Task) bool { return t.OrderState == "PAID" && t.State == "succeeded" }, &paid},
		{"told", func(t *client.Task) bool { return t.Event == "order.paid" && t.State == "succeeded" }, &told},
	} {
		others := 0
		for t, err := range p.client.Tasks(r.ctx, client.Filter{Queue: q.queue}) {
			switch {
			case err != nil:
				return err
			case q.is(&t):
				*q.n++
			default:
				others++
			}
		}
		if *q.n != len(c.placed) || others > 0 {
			r.fail("queue %s has %d tasks as they should be and %d others, want %d and none", q.queue, *q.n, others, len(c.placed))
		}
	}
	return nil
}

// ordersWaiting: what orders cost whose first question is half an hour away.
func (r *run) ordersWaiting() error {
	c, err := newChannel(r.nextLoad(), r.sizes.waiting)
	if err != nil {
		return err
	}
	defer c.close()
	dir := r.store("")
	p, err := r.startOrders(dir, c, "30m, 1m*")
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := p.place(r.ctx, c, r.sizes.batch, 0); err != nil {
		return err
	}
	r.figure("orders accepted in batches", float64(len(c.placed))/time.Since(begun).Seconds(), "/s")
	waits := func(name string) error {
		sleepUntil(time.Now().Add(r.sizes.settle))
		if _, now, _ := p.usage(); now > 0 {
			r.must(r.figure(name, mib(now), "MiB"), atMost(128))
		}
		return r.kept(p, int64(len(c.placed)))
	}
	if err := waits("memory when all are created"); err != nil {
		return err
	}
	_, _, peak := p.usage()
	r.busy = max(r.busy, peak)
	if err := p.stop(); err != nil {
		return err
	}
	if p, err = r.startOrders(dir, c, "30m, 1m*"); err != nil {
		return err
	}
	r.figure("ready after", float64(p.ready.Microseconds())/1000, "ms")
	if err := waits("memory started with all waiting"); err != nil {
		return err
	}
	if n := c.asked.Load() + c.strays.Load(); n > 0 {
		r.fail("%d requests about orders that were due in half an hour", n)
	}
	return p.stop()
}
