package bench

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/schedule"
)

// many are the tasks of a large table.
type many struct {
	state string // as clients name it
	tasks int
	until time.Time     // when the last of them was created
	over  time.Duration // until then, in which they were created
	times float64       // how much slower than beside an empty table throughput and lateness may be
	page  float64       // how long any page may take, in ms
}

func (r *run) waitingMillions() {
	n := r.sizes.filled
	full, _ := r.besideMany(many{state: "pending", tasks: n, over: time.Duration(n) * time.Millisecond / 10, times: 1.3, page: 50})
	full.stop()
}

// endedDays is the number of days in which the ended tasks of a large table were created, fewer
// than the default retention.
const endedDays = 20

func (r *run) endedMillions() {
	full, store := r.besideMany(many{state: "succeeded", tasks: r.sizes.ended, over: endedDays * 24 * time.Hour, times: 1.1, page: 100})
	full.stop()
	r.retention(store)
}

// besideMany compares throughput, lateness and pages of a large table with those of an empty one.
func (r *run) besideMany(m many) (full *cluster, store string) {
	empty := r.cluster(1, r.store("empty"))
	before := empty.both(0)
	empty.stop()
	full, store = r.filledUp(&m)
	rest := 0
	if m.state == "pending" {
		rest = m.tasks
	}
	after := full.both(rest)
	for i, f := range []struct {
		name, unit string
		goal       goal
	}{
		{"in batches", "/s", atLeast(1 / m.times)},
		{"due at once", "/s", atLeast(1 / m.times)},
		{"arrival after due, p50", "ms", timesAtMost(m.times)},
		{"arrival after due, p99", "ms", timesAtMost(m.times)},
	} {
		r.figure(f.name+", none "+m.state, before[i], f.unit)
		r.require(r.figure(f.name+", many "+m.state, after[i], f.unit).against("none "+m.state, before[i]), inPostgres(f.goal))
	}
	r.pages(full.nodes[0], m)
	return full, store
}

// filledUp starts a server on a store with many tasks. Those that are pending are due tomorrow.
func (r *run) filledUp(m *many) (*cluster, string) {
	store := r.store("full")
	p := r.start(store)
	fill, pending := r.made[store].FillEnded, 0
	if m.state == "pending" {
		fill = func(ctx context.Context, tasks int, _ time.Duration) error {
			return r.made[store].Fill(ctx, tasks, time.Now().Add(24*time.Hour), 24*time.Hour)
		}
		pending = m.tasks
		try(p.createSingly(r.ctx, r.never(1), 1))
	} else {
		r.timed(p, 1, 0, func(l *load) { try(p.createSingly(r.ctx, to(l, r.url), 1)) })
	}
	try(p.stop())
	m.until = time.Now()
	try(fill(r.ctx, m.tasks-1, m.over))
	r.figure("filled in", time.Since(m.until).Seconds(), "s")
	r.figure("disk a "+m.state+" task", float64(r.diskOf(store))/float64(m.tasks), "B")
	r.server.Checkpoint(r.ctx)
	c := r.cluster(1, store)
	r.figure("ready after", ms(c.nodes[0].ready), "ms")
	r.kept(c.nodes[0], pending)
	return c, store
}

// deletedWithin is how long the tasks of a day may take to be deleted.
const deletedWithin = time.Hour

// retention reports how long it takes to delete the first day of a store's ended tasks, and the
// lateness of others meanwhile.
func (r *run) retention(store string) {
	keep := (endedDays - 1) * 24 * time.Hour
	p := r.startWith(store, fmt.Sprintf("retention: {succeeded: %s}", schedule.FormatDuration(keep)))
	begun := time.Now()
	first := client.Filter{CreatedTo: client.Time{Time: begun.Add(-keep)}}
	var took time.Duration
	deleted := make(chan error, 1)
	go func() {
		for {
			list, err := p.client.List(r.ctx, first, 1, "")
			if took = time.Since(begun); err == nil && len(list.Tasks) > 0 && took > deletedWithin {
				err = fmt.Errorf("after %s there are tasks whose retention is over", deletedWithin)
			}
			if err != nil || len(list.Tasks) == 0 {
				deleted <- err
				return
			}
			sleepUntil(time.Now().Add(100 * time.Millisecond))
		}
	}()
	late := newDurations()
	for waiting := true; waiting; {
		late.h.Merge(r.arrivals(p, 0).h)
		select {
		case err := <-deleted:
			try(err)
			waiting = false
		default:
		}
	}
	tasks := float64(r.sizes.ended) / endedDays
	r.figure("tasks of a day", tasks, "")
	r.figure("a day deleted in", took.Seconds(), "s")
	r.figure("deleted", tasks/took.Seconds(), "/s")
	_, p99 := r.percentiles("arrival after due while a day is deleted", late)
	r.require(p99, inPostgres(atMost(10)))
	try(p.stop())
}

// both measures throughput in batches and due at once, and lateness p50 and p99 in ms, while rest
// other tasks wait.
func (c *cluster) both(rest int) [4]float64 {
	batches, due := c.throughput(rest), c.dueAtOnce(rest)
	late := c.r.arrivals(c.nodes[0], rest)
	return [4]float64{batches, due, late.ms(50), late.ms(99)}
}

// pageReads is the number of reads of each page.
const pageReads = 20

// pages reads the lists that operators use, with each filter.
func (r *run) pages(p *process, m many) {
	from, to := client.Time{Time: m.until.Add(-m.over / 2)}, client.Time{Time: m.until.Add(-m.over / 4)}
	one := must(p.client.List(r.ctx, client.Filter{State: m.state, CreatedTo: client.Time{Time: m.until}}, 1, ""))
	if len(one.Tasks) == 0 {
		try(fmt.Errorf("no page has a %s task that was created before %v", m.state, m.until))
	}
	t := one.Tasks[0]
	host := must(url.Parse(r.url)).Host
	worst := newDurations()
	for _, page := range []struct {
		name   string
		filter client.Filter
		none   bool // no task fits
	}{
		{"all", client.Filter{}, false},
		{"queue", client.Filter{Queue: t.Queue}, false},
		{"pending", client.Filter{State: "pending"}, m.state != "pending"},
		{"succeeded", client.Filter{State: "succeeded"}, false},
		{"failed, of which there are none", client.Filter{State: "failed"}, true},
		{"merchant", client.Filter{MerchantNo: t.MerchantNo}, false},
		{"order", client.Filter{OrderNo: t.OrderNo}, false},
		{"key", client.Filter{Key: t.Key}, false},
		{"event", client.Filter{Event: t.Event}, false},
		{"another event", client.Filter{Event: "payment.failed"}, true},
		{"host", client.Filter{URLHost: host}, false},
		{"some time of creation", client.Filter{CreatedFrom: from, CreatedTo: to}, false},
		{"queue and " + m.state, client.Filter{Queue: t.Queue, State: m.state}, false},
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
		r.require(r.figure("page of "+page.name+", p50", ms(took[len(took)/2]), "ms"), inPostgres(atMost(m.page)))
	}
	r.require(r.figure("any page, p99", worst.ms(99), "ms"), inPostgres(atMost(m.page)))
	r.figure("any page, most", worst.ms(100), "ms")
}
