package bench

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/bellmanhq/bellman/client"
)

// waitingMillions compares throughput, lateness and pages of a large table with those of an empty one.
func (r *run) waitingMillions() {
	empty := r.cluster(1, r.store("empty"))
	before := empty.both(0)
	empty.stop()
	full := r.filledUp()
	after := full.both(r.sizes.filled)
	for i, f := range []struct {
		name, unit string
		goal       goal
	}{
		{"in batches", "/s", atLeast(1 / 1.3)},
		{"due at once", "/s", atLeast(1 / 1.3)},
		{"arrival after due, p50", "ms", timesAtMost(1.3)},
		{"arrival after due, p99", "ms", timesAtMost(1.3)},
	} {
		r.figure(f.name+", nothing waiting", before[i], f.unit)
		r.require(r.figure(f.name+", many waiting", after[i], f.unit).against("nothing waiting", before[i]), inPostgres(f.goal))
	}
	r.pages(full.nodes[0])
	full.stop()
}

// filledUp starts a server on a store in which many tasks are due tomorrow.
func (r *run) filledUp() *cluster {
	store := r.store("full")
	p := r.start(store)
	try(p.createSingly(r.ctx, r.never(1), 1))
	try(p.stop())
	begun := time.Now()
	try(r.made[store].Fill(r.ctx, r.sizes.filled-1, begun.Add(24*time.Hour), 24*time.Hour))
	r.figure("filled with tasks waiting in", time.Since(begun).Seconds(), "s")
	r.figure("disk a waiting task", float64(r.diskOf(store))/float64(r.sizes.filled), "B")
	r.server.Checkpoint(r.ctx)
	c := r.cluster(1, store)
	r.figure("ready after", ms(c.nodes[0].ready), "ms")
	r.kept(c.nodes[0], r.sizes.filled)
	return c
}

// both measures throughput in batches and due at once, and lateness p50 and p99 in ms, while rest other
// tasks wait.
func (c *cluster) both(rest int) [4]float64 {
	batches, due := c.throughput(rest), c.dueAtOnce(rest)
	late := c.r.arrivals(c.nodes[0], rest)
	return [4]float64{batches, due, late.ms(50), late.ms(99)}
}

// pageReads is the number of reads of each page.
const pageReads = 20

// pages reads the lists that operators use, with each filter.
func (r *run) pages(p *process) {
	one := must(p.client.List(r.ctx, client.Filter{State: "pending"}, 1, ""))
	if len(one.Tasks) == 0 {
		try(errors.New("no page has a pending task"))
	}
	t := one.Tasks[0]
	host := must(url.Parse(r.url)).Host
	span := time.Duration(r.sizes.filled) * time.Millisecond / 10 // see [scratch.Database.Fill]
	from, to := client.Time{Time: t.Created.Add(-span / 2)}, client.Time{Time: t.Created.Add(-span / 4)}
	worst := newDurations()
	for _, page := range []struct {
		name   string
		filter client.Filter
		none   bool // no task fits
	}{
		{"all", client.Filter{}, false},
		{"queue", client.Filter{Queue: t.Queue}, false},
		{"pending", client.Filter{State: "pending"}, false},
		{"succeeded", client.Filter{State: "succeeded"}, false},
		{"failed, of which there are none", client.Filter{State: "failed"}, true},
		{"merchant", client.Filter{MerchantNo: t.MerchantNo}, false},
		{"order", client.Filter{OrderNo: t.OrderNo}, false},
		{"key", client.Filter{Key: t.Key}, false},
		{"event", client.Filter{Event: t.Event}, false},
		{"another event", client.Filter{Event: "payment.failed"}, true},
		{"host", client.Filter{URLHost: host}, false},
		{"some time of creation", client.Filter{CreatedFrom: from, CreatedTo: to}, false},
		{"queue and pending", client.Filter{Queue: t.Queue, State: "pending"}, false},
		{"merchant and succeeded", client.Filter{MerchantNo: t.MerchantNo, State: "succeeded"}, false},
		{"merchant and failed", client.Filter{MerchantNo: t.MerchantNo, State: "failed"}, true},
		{"host and failed", client.Filter{URLHost: host, State: "failed"}, true},
	} {
		var took []time.Duration
		cursor, found := "", 0
		for range pageReads {
			begun := time.Now()
			list, err := p.client.List(r.ctx, page.filter, 0, cursor)
			if err != nil {
				try(fmt.Errorf("page of %s: %w", page.name, err))
			}
			took = append(took, time.Since(begun))
			worst.add(int64(took[len(took)-1]))
			found += len(list.Tasks)
			cursor = list.NextCursor // the next page; after the last one the first
		}
		if (found == 0) != page.none {
			r.fail("%d tasks on the pages of %s", found, page.name)
		}
		slices.Sort(took)
		r.require(r.figure("page of "+page.name+", p50", ms(took[len(took)/2]), "ms"), inPostgres(atMost(50)))
	}
	r.require(r.figure("any page, p99", worst.ms(99), "ms"), inPostgres(atMost(50)))
	r.figure("any page, most", worst.ms(100), "ms")
}
