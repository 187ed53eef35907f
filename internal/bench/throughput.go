package bench

import (
	"slices"
	"time"
)

// What River 0.51 reached on PostgreSQL 15 with two cores, at its best settings:
// 11,100 a second in a drain, and 3,600 end to end while tasks were enqueued, where
// raw was about 33,000.
const (
	riverDrain    = 0.336
	riverEndToEnd = 0.109
)

// drain: tasks are created for a moment, the server is stopped before it, and
// started when all are due. From the first delivery to the last one recorded.
func (r *run) drain() error {
	return r.besideRaw("delivered and recorded", func() (float64, error) {
		dir := r.store("")
		l, err := r.overdue(dir, r.sizes.drain, 0, (*process).stop)
		if err != nil {
			return 0, err
		}
		before := used{database: r.databaseCPU()}
		p, err := r.start(dir)
		if err != nil {
			return 0, err
		}
		if err := r.finish(p, l, 0); err != nil {
			return 0, err
		}
		took := time.Since(time.Unix(0, l.first.Load()))
		return float64(len(l.at)) / took.Seconds(), r.spent(p, before, len(l.at))
	}, atLeast(0.65), inPostgres(atLeast(1.5*riverDrain)))
}

// overdue leaves a store with tasks that all became due at one moment, when no
// server ran; rest tasks wait in it besides. end ends the server before that
// moment. Where creating took longer, it is done again with twice the time.
func (r *run) overdue(dir string, tasks int, rest int64, end func(*process) error) (*load, error) {
	for ahead := r.sizes.ahead(tasks); ; ahead *= 2 {
		p, err := r.start(dir)
		if err != nil {
			return nil, err
		}
		l := r.newLoad(tasks)
		l.dueWithin(time.Now().Add(ahead), time.Millisecond)
		if err := p.createInBatches(r.ctx, to(l, r.url)); err != nil {
			return nil, err
		}
		if err := end(p); err != nil {
			return nil, err
		}
		if l.arrived.Load() == 0 {
			sleepUntil(time.UnixMilli(l.due[0] + 50))
			return l, nil
		}
		if p, err = r.start(dir); err != nil {
			return nil, err
		}
		if err := r.finish(p, l, rest); err != nil {
			return nil, err
		}
		if err := p.stop(); err != nil {
			return nil, err
		}
		// What was in flight when it ended may have come twice, and rightly so.
		r.loads = slices.DeleteFunc(r.loads, func(other *load) bool { return other == l })
	}
}

// batches: from the first create to the last delivery recorded.
func (r *run) batches() error {
	return r.besideRaw("created, delivered and recorded", func() (float64, error) {
		return r.endToEnd(r.sizes.batches, "", func(p *process, l *load) error {
			return p.createInBatches(r.ctx, to(l, r.url))
		})
	}, atLeast(0.45), inPostgres(atLeast(3*riverEndToEnd)))
}

// singleClients is how many clients create one by one at the same time.
const singleClients = 32

// singles: as batches, but one task a request.
func (r *run) singles() error {
	return r.besideRaw("created, delivered and recorded", func() (float64, error) {
		return r.endToEnd(r.sizes.singles, "", func(p *process, l *load) error {
			return p.createSingly(r.ctx, to(l, r.url), singleClients)
		})
	}, atLeast(0.2))
}

// creates: each is durable when it is answered; nothing is delivered.
func (r *run) creates() error {
	return r.besideRaw("created", func() (float64, error) {
		p, err := r.start(r.store(""))
		if err != nil {
			return 0, err
		}
		plan := r.never(r.sizes.creates)
		before := r.used(p)
		begun := time.Now()
		if err := p.createSingly(r.ctx, plan, singleClients); err != nil {
			return 0, err
		}
		took := time.Since(begun)
		if err := r.kept(p, int64(plan.tasks)); err != nil {
			return 0, err
		}
		return float64(plan.tasks) / took.Seconds(), r.spent(p, before, plan.tasks)
	}, atLeast(0.33))
}

// kept checks that so many tasks wait.
func (r *run) kept(p *process, want int64) error {
	n, err := p.pending(r.ctx)
	if err == nil && n != want {
		r.fail("%d tasks wait, want %d", n, want)
	}
	return err
}

// endToEnd starts a server on a new store, has a load created, and returns how
// many tasks a second were created, delivered and recorded.
func (r *run) endToEnd(tasks int, store string, create func(*process, *load) error) (float64, error) {
	p, err := r.start(r.store(store))
	if err != nil {
		return 0, err
	}
	l := r.newLoad(tasks)
	before := r.used(p)
	begun := time.Now()
	if err := create(p, l); err != nil {
		return 0, err
	}
	if err := r.finish(p, l, 0); err != nil {
		return 0, err
	}
	took := time.Since(begun)
	return float64(tasks) / took.Seconds(), r.spent(p, before, tasks)
}
