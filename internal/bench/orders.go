package bench

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/schedule"
)

// orderSettings are those of a platform with one channel account. CHANNEL and SCHEDULE are
// placeholders.
const orderSettings = `
queues:
  told: {}
  orders:
    kind: order
    query: {method: GET, url: "CHANNEL/{order_no}"}
    close: {method: POST, url: "CHANNEL/{order_no}/close"}
    states: wechat_v3
    close_states: wechat_v3
    schedule: SCHEDULE
    expires: 12h
    on_exhausted: alert
    then: told
`

// startOrders starts a server whose orders are polled at a channel.
func (r *run) startOrders(store string, c *channel, schedule string) *process {
	settings := strings.NewReplacer("CHANNEL", c.orders, "SCHEDULE", schedule).Replace(orderSettings)
	return r.startWith(store, settings)
}

// key returns the merchant of an order and the key of its task.
func (c *channel) key(order int) (merchant, key string) {
	no := orderNoOf(c.load, order)
	merchant = fmt.Sprintf("M%04d", order*7919%1000)
	return merchant, merchant + "/" + string(no[:])
}

// appendOrder appends the JSON request for an order.
func (c *channel) appendOrder(b []byte, order int) []byte {
	merchant, key := c.key(order)
	b = fmt.Appendf(b, `{"queue":"orders","merchant_no":%q,"order_no":%q`, merchant, key[len(merchant)+1:])
	if c.costs > 0 {
		b = fmt.Appendf(b, `,"amount":%d,"currency":"CNY"`, c.costs)
	}
	return fmt.Appendf(b, `,"notify":{"url":%q}}`, c.merchants)
}

// orderBatch is the number of orders in one request. A whole second's orders in one request would
// be due at once and therefore late.
const orderBatch = 100

// place places all orders of a channel evenly over a time, or as fast as possible if the time is
// zero.
func (p *process) place(ctx context.Context, c *channel, size int, over time.Duration) error {
	begun, total := time.Now(), len(c.placed)
	return inSteps(ctx, total, size, batchClients, func(ctx context.Context) func(i, n int) error {
		cr := p.creator("/v1/tasks/batch")
		return func(i, n int) error {
			sleepUntil(begun.Add(over * time.Duration(i) / time.Duration(total)))
			sent := time.Now()
			err := cr.batch(ctx, n, func(b []byte, k int) []byte { return c.appendOrder(b, i+k) })
			for k := range n {
				c.placed[i+k].sent, c.placed[i+k].kept = sent, time.Now()
			}
			return err
		}
	})
}

// orders polls fewer orders than the machine can poll. The channel must be queried as often and as
// punctually as the schedule says, and then answers that the order is paid.
func (r *run) orders() {
	c := must(newChannel(r.nextLoad(), r.sizes.orders))
	defer c.close()
	c.pays = r.sizes.polls
	p := r.startOrders(r.store(""), c, fmt.Sprintf("%s*%d", schedule.FormatDuration(r.sizes.gap), r.sizes.polls))
	begun := time.Now()
	try(p.place(r.ctx, c, orderBatch, r.sizes.ramp))
	// All orders are placed and none is paid: the rate is measured now.
	r.asked(p, c, begun.Add(time.Duration(r.sizes.polls)*r.sizes.gap))
	sleepUntil(begun.Add(r.sizes.ramp + time.Duration(r.sizes.polls)*r.sizes.gap))
	r.settle(c.await(r.ctx))
	r.settle(p.awaitPending(r.ctx, 0))
	late := r.checkPolls(p, c)
	_, p99 := r.percentiles("question after due", late)
	r.require(p99, atMost(50))
	r.peak(p, "server memory, most")
	r.checkChannel(c)
	try(p.stop())
}

// asked reports the queries per second until a time, and their cost.
func (r *run) asked(p *process, c *channel, until time.Time) {
	before := r.used(p)
	from, asked := time.Now(), c.asked.Load()
	sleepUntil(until)
	n, took := c.asked.Load()-asked, time.Since(from)
	r.figure("questions", float64(n)/took.Seconds(), "/s")
	r.cost("server CPU a question", r.used(p).server-before.server, int(n))
}

// checkPolls compares each order's attempts with the schedule and with what the channel received,
// and returns the lateness of the queries.
func (r *run) checkPolls(p *process, c *channel) durations {
	late := make([]durations, batchClients)
	var workers, wrong, early, unlike atomic.Int64
	try(inSteps(r.ctx, len(c.placed), 1, batchClients, func(ctx context.Context) func(i, n int) error {
		mine := &late[workers.Add(1)-1]
		*mine = newDurations()
		return func(i, _ int) error {
			_, key := c.key(i)
			t, err := p.client.Task(ctx, client.ByKey("orders", key))
			if err != nil {
				return err
			}
			if t.OrderState != "PAID" || !c.placed[i].onSchedule(t.AttemptLog, r.sizes.gap, r.sizes.polls) {
				wrong.Add(1)
			}
			at := c.placed[i].at
			if len(at) != len(t.AttemptLog) {
				unlike.Add(1)
				return nil
			}
			for k, a := range t.AttemptLog {
				after := at[k] - a.Due.UnixNano()
				if mine.add(after); after < 0 {
					early.Add(1)
				}
			}
			return nil
		}
	}))
	for _, other := range late[1:] {
		late[0].h.Merge(other.h)
	}
	r.failAny(count{wrong.Load(), "%d orders that are not PAID, or were not asked about as their schedule says"},
		count{unlike.Load(), "%d orders with other questions at the channel than attempts in the log"},
		count{early.Load(), "%d questions before they were due"})
	return late[0]
}

// onSchedule reports whether an order's attempts are as many queries as polls, each due one gap
// after a moment between the start and the answer of the one before. The first is due one gap after
// the order was stored. Times in the log are whole milliseconds.
func (p *placed) onSchedule(log []client.Attempt, gap time.Duration, polls int) bool {
	from, to := p.sent.Add(-time.Millisecond), p.kept // clocks of two processes
	for i, a := range log {
		since := a.Due.Add(-gap)
		if a.Number != i+1 || a.Action != "query" || since.Before(from) || since.After(to.Add(2*time.Millisecond)) {
			return false
		}
		from = a.Started.Time
		to = from.Add(time.Duration(a.TookMS) * time.Millisecond)
	}
	return len(log) == polls
}
