package bench

import (
	"context"
	"crypto/x509"
	"time"
)

// noticeClients is the number of concurrent requests of the channel, as many as the bare loop has.
const noticeClients = rawClients

// noticeSample is the number of notices that the bare loop verifies again and again.
const noticeSample = 1000

// notices: orders exist, and the channel tells that they are paid, first at a fixed rate, then as
// fast as it can. No order may be queried, although all would be due before the end.
func (r *run) notices() {
	steady := int(r.sizes.latency.Seconds() * perSecond)
	w := must(newWechat(r.dir))
	c := must(newChannel(r.nextLoad(), noticeClients+steady+r.sizes.notices))
	defer c.close()
	c.costs = orderCosts
	all := make([]notice, len(c.placed))
	try(inSteps(r.ctx, len(all), 1, batchClients, func(context.Context) func(i, n int) error {
		return func(i, _ int) (err error) {
			no := orderNoOf(c.load, i)
			all[i], err = w.notice(string(no[:]), time.Now())
			return err
		}
	}))
	bare := role{PostTo: r.url, For: r.sizes.raw, Verify: &verify{
		Public: x509.MarshalPKCS1PublicKey(&w.key.PublicKey), Notices: all[:min(noticeSample, len(all))]}}
	bareBefore := r.loop(bare)
	p := r.startWith(r.store(""), w.settings(c, r.sizes.noticed, "then: told"))
	try(p.place(r.ctx, c, orderBatch, 0))
	placed := time.Now()
	sleepUntil(placed.Add(r.sizes.settle))

	fast := func(to *sender, from, n int) {
		try(inSteps(r.ctx, n, 1, noticeClients, func(ctx context.Context) func(i, n int) error {
			return func(i, _ int) error { return c.notify(ctx, to, from+i, &all[from+i]) }
		}))
	}
	untilTold := func(n int) {
		for c.settled.Load() < int64(n) {
			try(r.ctx.Err())
			sleepUntil(time.Now().Add(time.Millisecond))
		}
		// Orders that wait for their notice are all that is left.
		r.settle(p.awaitPending(r.ctx, int64(len(all)-n)))
	}
	to := newSender(p.notice)
	defer to.close()
	fast(to, 0, noticeClients) // connections
	untilTold(noticeClients)
	from := noticeClients
	try(atRate(r.ctx, steady, perSecond, rateClients, func() func(context.Context, int) error {
		return func(ctx context.Context, i int) error { return c.notify(ctx, to, from+i, &all[from+i]) }
	}))
	from += steady
	untilTold(from)
	r.noticeLatency(c.placed[noticeClients:from])

	before, begun := r.used(p), time.Now()
	fast(to, from, r.sizes.notices)
	untilTold(len(all))
	took := time.Since(begun)
	perSecond := float64(r.sizes.notices) / took.Seconds()
	throughput := r.figure("verified, decided, told and recorded", perSecond, "/s")
	r.cost("server CPU a notice", r.used(p).server-before.server, r.sizes.notices)
	r.require(throughput.against("verify and post", (bareBefore+r.loop(bare))/2), atLeast(0.4))

	sleepUntil(placed.Add(r.sizes.noticed + time.Second))
	r.require(r.figure("queries of orders that a notice decided", float64(c.asked.Load()), ""), atMost(0))
	r.peak(p, "server memory, most")
	r.checkTold(c)
	try(p.stop())

	// The same load to a bare loop that receives it over HTTP too.
	bare.For = 0
	other := r.spawn(bare)
	another := newSender(other.notice)
	defer another.close()
	fast(another, 0, noticeClients)
	begun = time.Now()
	fast(another, from, r.sizes.notices)
	r.figure("the same, beside a bare loop that also receives", perSecond, "/s").
		against("receive, verify and post", float64(r.sizes.notices)/time.Since(begun).Seconds())
	try(other.stop())
}

// notify sends the notice of an order.
func (c *channel) notify(ctx context.Context, to *sender, order int, n *notice) error {
	p := &c.placed[order]
	p.sent = time.Now()
	err := to.send(ctx, n)
	p.kept = time.Now()
	return err
}

// noticeLatency reports how long notices took until they were answered, and until the merchant was
// told.
func (r *run) noticeLatency(orders []placed) {
	answered, told := newDurations(), newDurations()
	for i := range orders {
		p := &orders[i]
		p.mu.Lock()
		answered.add(int64(p.kept.Sub(p.sent)))
		told.add(p.first - p.sent.UnixNano())
		p.mu.Unlock()
	}
	r.figure("notice to answer, p50", answered.ms(50), "ms")
	r.figure("notice to answer, p99", answered.ms(99), "ms")
	p50, p99 := r.percentiles("notice to merchant", told)
	r.require(p50, atMost(3))
	r.require(p99, atMost(10))
}
