package bench

import (
	"slices"
	"time"
)

// drain: tasks become due while no server runs. It is measured from the first delivery to the last
// recorded one.
func (r *run) drain() {
	r.besideRaw("delivered and recorded", func() float64 {
		store := r.store("")
		l := r.overdue(store, r.sizes.drain, 0, func(p *process) { try(p.stop()) })
		before := used{database: r.databaseCPU()}
		p := r.start(store)
		r.finish(p, l, 0)
		took := time.Since(time.Unix(0, l.first.Load()))
		r.spent(p, before, len(l.at))
		return float64(len(l.at)) / took.Seconds()
	}, atLeast(0.75), inPostgres(atLeast(0.62)))
}

// overdue returns a store whose tasks became due at one moment while no server ran, with rest other
// waiting tasks. end ends the server before that moment. If creating the tasks takes longer,
// overdue starts again with twice the time.
func (r *run) overdue(store string, tasks int, rest int64, end func(*process)) *load {
	for ahead := r.sizes.ahead(tasks); ; ahead *= 2 {
		p := r.start(store)
		l := r.newLoad(tasks)
		l.dueWithin(time.Now().Add(ahead), time.Millisecond)
		try(createInBatches(r.ctx, to(l, r.url), p))
		end(p)
		if l.arrived.Load() == 0 {
			sleepUntil(time.UnixMilli(l.due[0] + 50))
			return l
		}
		p = r.start(store)
		r.finish(p, l, rest)
		try(p.stop())
		// A task in flight when the server ended may arrive twice; that is promised.
		r.loads = slices.DeleteFunc(r.loads, func(other *load) bool { return other == l })
	}
}

// batches is measured from the first create to the last recorded delivery.
func (r *run) batches() {
	r.besideRaw("created, delivered and recorded", func() float64 {
		return r.endToEnd("", r.sizes.batches, func(p *process, l *load) { try(createInBatches(r.ctx, to(l, r.url), p)) })
	}, atLeast(0.58), inPostgres(atLeast(0.45)))
}

// SingleClients is the number of clients that create one task per request concurrently: as many as
// the bare loop has.
const SingleClients = rawClients

// singles is batches with one task per request.
func (r *run) singles() {
	r.besideRaw("created, delivered and recorded", func() float64 {
		return r.endToEnd("", r.sizes.singles, func(p *process, l *load) { try(p.createSingly(r.ctx, to(l, r.url), SingleClients)) })
	}, atLeast(0.28))
}

// creates: each task is durable when its create is answered, and nothing is delivered.
func (r *run) creates() {
	r.besideRaw("created", func() float64 {
		p := r.start(r.store(""))
		plan := r.never(r.sizes.creates)
		before := r.used(p)
		begun := time.Now()
		try(p.createSingly(r.ctx, plan, SingleClients))
		took := time.Since(begun)
		r.kept(p, plan.tasks)
		r.spent(p, before, plan.tasks)
		return float64(plan.tasks) / took.Seconds()
	}, atLeast(0.42))
}

// kept checks the number of waiting tasks.
func (r *run) kept(p *process, want int) {
	if n := must(p.pending(r.ctx)); n != int64(want) {
		r.fail("%d tasks wait, want %d", n, want)
	}
}

// endToEnd starts a server on a new store and returns how many tasks a second are created,
// delivered and recorded.
func (r *run) endToEnd(store string, tasks int, create func(*process, *load)) float64 {
	p := r.start(r.store(store))
	before := r.used(p)
	perSecond := r.timed(p, tasks, 0, func(l *load) { create(p, l) })
	r.spent(p, before, tasks)
	return perSecond
}

// timed returns how many tasks a second are created, delivered and recorded, while rest other tasks
// wait.
func (r *run) timed(p *process, tasks, rest int, create func(*load)) float64 {
	l := r.newLoad(tasks)
	begun := time.Now()
	create(l)
	r.finish(p, l, int64(rest))
	return float64(tasks) / time.Since(begun).Seconds()
}
