package bench

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/bellmanhq/bellman/client"
)

// waitingMillions: what throughput, lateness and pages are with a table of many
// rows, against an empty one.
func (r *run) waitingMillions() error {
	empty, err := r.cluster(1, "empty")
	if err != nil {
		return err
	}
	before, err := empty.both(0)
	if err != nil {
		return err
	}
	if err := empty.stop(); err != nil {
		return err
	}
	full, err := r.filledUp()
	if err != nil {
		return err
	}
	after, err := full.both(int64(r.sizes.filled))
	if err != nil {
		return err
	}
	for i, name := range []string{"in batches", "due at once"} {
		r.figure(name+", nothing waiting", before.perSecond[i], "/s")
		r.must(r.figure(name+", many waiting", after.perSecond[i], "/s").against("nothing waiting", before.perSecond[i]), inPostgres(atLeast(1/1.3)))
	}
	for i, name := range []string{"arrival after due, p50", "arrival after due, p99"} {
		r.figure(name+", nothing waiting", before.late[i], "ms")
		r.must(r.figure(name+", many waiting", after.late[i], "ms").against("nothing waiting", before.late[i]), inPostgres(timesAtMost(1.3)))
	}
	if err := r.pages(full.nodes[0]); err != nil {
		return err
	}
	return full.stop()
}

// filledUp starts a server on a store in which many tasks wait for tomorrow.
func (r *run) filledUp() (*cluster, error) {
	store := r.store("full")
	p, err := r.start(store)
	if err != nil {
		return nil, err
	}
	if err := p.createSingly(r.ctx, r.never(1), 1); err != nil {
		return nil, err
	}
	if err := p.stop(); err != nil {
		return nil, err
	}
	begun := time.Now()
	if err := r.made[store].Fill(r.ctx, r.sizes.filled-1, begun.Add(24*time.Hour), 24*time.Hour); err != nil {
		return nil, err
	}
	r.figure("filled with tasks waiting in", time.Since(begun).Seconds(), "s")
	bytes, err := r.diskOf(store)
	if err != nil {
		return nil, err
	}
	r.figure("disk a waiting task", float64(bytes)/float64(r.sizes.filled), "B")
	r.server.Checkpoint(r.ctx)
	if p, err = r.start(store); err != nil {
		return nil, err
	}
	r.figure("ready after", float64(p.ready.Microseconds())/1000, "ms")
	c := &cluster{r: r, store: store, nodes: []*process{p}}
	if err := c.balanced(); err != nil {
		return nil, err
	}
	return c, r.kept(p, int64(r.sizes.filled))
}

// A pair is what is held against the same with a smaller table.
type pair struct {
	perSecond [2]float64 // in batches, due at once
	late      [2]float64 // p50 and p99, in ms
}

// both measures throughput and lateness, with so many tasks waiting besides.
func (c *cluster) both(rest int64) (m pair, err error) {
	if m.perSecond[0], err = c.throughput(rest); err != nil {
		return m, err
	}
	if m.perSecond[1], err = c.dueAtOnce(rest); err != nil {
		return m, err
	}
	late, err := c.r.arrivals(c.nodes[0], rest)
	m.late = [2]float64{late.ms(50), late.ms(99)}
	return m, err
}

// pageReads is how often each page is read.
const pageReads = 20

// pages reads what an operator looks at, by each filter that there is.
func (r *run) pages(p *process) error {
	one, err := p.client.List(r.ctx, client.Filter{State: "pending"}, 1, "")
	if err != nil {
		return err
	}
	if len(one.Tasks) == 0 {
		return errors.New("no page has a pending task")
	}
	t := one.Tasks[0]
	u, err := url.Parse(r.url)
	if err != nil {
		return err
	}
	host := u.Host
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
				return fmt.Errorf("page of %s: %w", page.name, err)
			}
			took = append(took, time.Since(begun))
			worst.add(int64(took[len(took)-1]))
			found += len(list.Tasks)
			cursor = list.NextCursor // on to the next page, and round again
		}
		if (found == 0) != page.none {
			r.fail("%d tasks on the pages of %s", found, page.name)
		}
		slices.Sort(took)
		r.must(r.figure("page of "+page.name+", p50", float64(took[len(took)/2].Microseconds())/1000, "ms"), inPostgres(atMost(50)))
	}
	r.must(r.figure("any page, p99", worst.ms(99), "ms"), inPostgres(atMost(50)))
	r.figure("any page, most", worst.ms(100), "ms")
	return nil
}
