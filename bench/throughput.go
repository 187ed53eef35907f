package bench

import (
	"errors"
	"time"
)

// drain: tasks are created for a moment, the server is stopped before it, and
// started when all are due. From the first delivery to the last one recorded.
func (r *run) drain() error {
	return r.besideRaw("delivered and recorded", 0.65, func() (float64, error) {
		dir := r.store("")
		p, err := r.start(dir)
		if err != nil {
			return 0, err
		}
		l, err := r.createFor(p, r.sizes.drain)
		if err != nil {
			return 0, err
		}
		if err := p.stop(); err != nil {
			return 0, err
		}
		if l.arrived.Load() > 0 {
			return 0, errSlow
		}
		sleepUntil(time.UnixMilli(l.due[0] + 50))
		if p, err = r.start(dir); err != nil {
			return 0, err
		}
		if err := r.finish(p, l, 0); err != nil {
			return 0, err
		}
		took := time.Since(time.Unix(0, l.first.Load()))
		return float64(len(l.at)) / took.Seconds(), r.spent(p, 0, len(l.at))
	})
}

// createFor creates tasks that are all due at one moment, soon after the last
// of them is created.
func (r *run) createFor(p *process, tasks int) (*load, error) {
	l := r.newLoad(tasks)
	l.dueWithin(time.Now().Add(r.sizes.ahead(tasks)), time.Millisecond)
	return l, p.createInBatches(r.ctx, to(l, r.url))
}

// errSlow is the error when tasks were due before all of them were there.
var errSlow = errors.New("tasks were delivered before they were all created: this machine is too slow for this scenario")

// batches: from the first create to the last delivery recorded.
func (r *run) batches() error {
	return r.besideRaw("created, delivered and recorded", 0.45, func() (float64, error) {
		return r.endToEnd(r.sizes.batches, "", func(p *process, l *load) error {
			return p.createInBatches(r.ctx, to(l, r.url))
		})
	})
}

// singleClients is how many clients create one by one at the same time.
const singleClients = 32

// singles: as batches, but one task a request.
func (r *run) singles() error {
	return r.besideRaw("created, delivered and recorded", 0.2, func() (float64, error) {
		return r.endToEnd(r.sizes.singles, "", func(p *process, l *load) error {
			return p.createSingly(r.ctx, to(l, r.url), singleClients)
		})
	})
}

// creates: each is durable when it is answered; nothing is delivered.
func (r *run) creates() error {
	return r.besideRaw("created", 0.33, func() (float64, error) {
		p, err := r.start(r.store(""))
		if err != nil {
			return 0, err
		}
		plan := r.never(r.sizes.creates)
		cpu, _, _ := p.usage()
		begun := time.Now()
		if err := p.createSingly(r.ctx, plan, singleClients); err != nil {
			return 0, err
		}
		took := time.Since(begun)
		if err := r.kept(p, int64(plan.tasks)); err != nil {
			return 0, err
		}
		return float64(plan.tasks) / took.Seconds(), r.spent(p, cpu, plan.tasks)
	})
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
	cpu, _, _ := p.usage()
	begun := time.Now()
	if err := create(p, l); err != nil {
		return 0, err
	}
	if err := r.finish(p, l, 0); err != nil {
		return 0, err
	}
	took := time.Since(begun)
	return float64(tasks) / took.Seconds(), r.spent(p, cpu, tasks)
}
