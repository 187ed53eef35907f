package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/server"
	"github.com/bellmanhq/bellman/store"
)

// reconcile compares the bill of a day with as many orders. Both differ in a known number of orders
// of each kind of difference: all must be found, and no other.
func (r *run) reconcile() {
	w := must(newWechat(r.dir))
	c := must(newChannel(r.nextLoad(), 0))
	defer c.close()
	c.costs = orderCosts
	b := newBilled(w, c.load, r.sizes.billed, r.sizes.planted)
	lines := must(b.write(r.dir))
	defer b.file.Close()
	c.more = b.serve
	settings := w.settings(c, 6*time.Hour, "then: told")
	at := r.store("")
	r.fillOrders(at, settings, c, b)

	r.env = "GOMEMLIMIT=" + smallMachine
	p := r.startWith(at, settings)
	r.env = ""
	before, begun := r.used(p), time.Now()
	run := must(p.client.Reconcile(r.ctx, client.StartReconciliation{Queue: "orders", Date: b.date}))
	for run.State == "waiting" || run.State == "running" {
		if run.Tries > 0 {
			try(fmt.Errorf("the bill is not compared: %s", run.Error))
		}
		sleepUntil(time.Now().Add(10 * time.Millisecond))
		run = must(p.client.Reconciliation(r.ctx, run.ID))
	}
	took := time.Since(begun)
	if run.State != "done" {
		try(fmt.Errorf("the reconciliation is %s: %s", run.State, run.Error))
	}
	now := r.used(p)
	r.figure("lines of the bill", float64(lines), "")
	r.figure("orders", float64(b.orders()), "")
	r.require(r.figure("compared in", took.Seconds(), "s"), atMost(60))
	if now.server > 0 {
		r.figure("server CPU", (now.server - before.server).Seconds(), "s")
	}
	r.peak(p, "server memory with GOMEMLIMIT="+smallMachine+", most", atMost(128))
	r.differences(p, run.ID, b)
	try(p.stop())
}

// smallMachine is the GOMEMLIMIT that the documents name for a small machine.
const smallMachine = "84MiB"

// differences compares what was found with what was planted.
func (r *run) differences(p *process, id string, b *billed) {
	found, seen := map[bill.DifferenceKind]int{}, make([]bool, b.planted*len(plantedKinds))
	var invented int64
	for cursor := ""; ; {
		page := must(p.client.Differences(r.ctx, id, "", 200, cursor))
		for _, d := range page.Differences {
			i, ok := b.number(d.ChannelOrderNo)
			if kind := bill.DifferenceKind(d.Kind); !ok || i >= len(seen) || seen[i] || b.kind(i) != kind {
				invented++
			} else {
				seen[i] = true
				found[kind]++
			}
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	var lost int64
	for _, kind := range bill.Kinds() {
		f := r.figure("found of "+string(kind), float64(found[kind]), "").against("planted", float64(b.planted))
		r.require(f, atLeast(1))
		lost += int64(b.planted - found[kind])
	}
	r.require(r.figure("invented", float64(invented), ""), atMost(0))
	r.failAny(count{lost, "%d planted differences not found"}, count{invented, "%d differences that were not planted"})
}

// fillOrders creates the orders of a bill. One that is paid and one that waits are created and
// decided as any order is. The server's own tasks of them are then copied in the store: the order's
// and, of the paid one, the record of its notice.
func (r *run) fillOrders(at, settings string, c *channel, b *billed) {
	p := r.startWith(at, settings)
	waits, paid := 0, b.numbers-1
	cr := p.creator("/v1/tasks/batch")
	try(cr.batch(r.ctx, 2, func(into []byte, k int) []byte { return c.appendOrder(into, []int{waits, paid}[k]) }))
	n := must(b.wechat.notice(b.no(paid), b.noon))
	to := newSender(p.notice)
	defer to.close()
	try(to.send(r.ctx, &n))
	r.settle(p.awaitPending(r.ctx, 1))
	try(p.stop())

	s := must(server.OpenStore(r.ctx, at, server.StoreOptions{Existing: true}))
	defer func() { try(s.Close()) }()
	tasks, _, err := s.List(r.ctx, store.Filter{Queue: "orders"}, bellman.ID{}, 100)
	try(err)
	var open, settled []*bellman.Task
	for _, t := range tasks {
		if t.OrderNo == b.no(waits) {
			open = append(open, t)
		} else {
			settled = append(settled, t)
		}
	}
	if len(open) != 1 || len(settled) != 2 || order.StateOf(open[0]) != order.StatePending {
		try(fmt.Errorf("%d tasks of an order that waits and %d of one that is paid: want 1 and 2", len(open), len(settled)))
	}
	const orders = 500 // of one commit
	begun := time.Now()
	try(inSteps(r.ctx, b.numbers, orders, batchClients, func(ctx context.Context) func(i, n int) error {
		return func(i, n int) error {
			batch := new(store.Batch)
			for k := i; k < i+n; k++ {
				no := b.scattered(k)
				of, was := settled, paid
				switch kind := b.kind(no); {
				case kind == bill.MissingHere, no == waits, no == paid:
					continue
				case kind == bill.StateDiffers:
					of, was = open, waits
				}
				created := b.noon.Add(-11*time.Hour + time.Duration(k)*(10*time.Hour)/time.Duration(b.numbers))
				for _, t := range of {
					batch.Adds = append(batch.Adds, store.Add{Task: copyOf(t, b.no(was), b.no(no), created)})
				}
			}
			if len(batch.Adds) == 0 {
				return nil
			}
			err := s.Commit(ctx, batch)
			for _, add := range batch.Adds {
				err = errors.Join(err, add.Err)
			}
			return err
		}
	}))
	r.figure("orders copied in", time.Since(begun).Seconds(), "s")
}

// copyOf returns a task as it would be for an order with another number, created at a time.
func copyOf(t *bellman.Task, from, to string, created time.Time) *bellman.Task {
	c, first := *t, bellman.FirstID(created)
	c.ID = bellman.NewID()
	copy(c.ID[:6], first[:6])
	c.Key, c.OrderNo = strings.ReplaceAll(t.Key, from, to), strings.ReplaceAll(t.OrderNo, from, to)
	c.Body, c.Data = bytes.ReplaceAll(t.Body, []byte(from), []byte(to)), bytes.ReplaceAll(t.Data, []byte(from), []byte(to))
	if alias := t.Alias(); alias != "" {
		c.Origin = &bellman.Origin{Alias: strings.ReplaceAll(alias, from, to)}
	}
	return &c
}
