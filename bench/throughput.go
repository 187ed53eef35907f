package bench

import (
	"os"
	"time"
)

// drain: tasks are created for a moment, the server is stopped before it, and
// started when all are due. From the first delivery to the last one recorded.
func (r *run) drain() error {
	return r.besideRaw("delivered and recorded", 0.65, func() (float64, error) {
		for wait := 2*time.Second + time.Duration(r.sizes.drain)*time.Second/12_000; ; wait *= 2 {
			dir := r.store(wait.String())
			l, inTime, err := r.createFor(dir, r.sizes.drain, wait)
			if err != nil {
				return 0, err
			}
			if !inTime {
				if err := os.RemoveAll(dir); err != nil {
					return 0, err
				}
				continue // this machine is slower: more time
			}
			sleepUntil(time.UnixMilli(l.due[0] + 50))
			p, err := r.start(dir)
			if err != nil {
				return 0, err
			}
			if err := r.finish(p, l, 0); err != nil {
				return 0, err
			}
			took := time.Since(time.Unix(0, l.first.Load()))
			return float64(len(l.at)) / took.Seconds(), r.spent(p, 0, len(l.at))
		}
	})
}

// createFor creates tasks that are due after wait, and stops the server before
// that; inTime is false if it did not get so far.
func (r *run) createFor(dir string, tasks int, wait time.Duration) (l *load, inTime bool, err error) {
	p, err := r.start(dir)
	if err != nil {
		return nil, false, err
	}
	if l, err = r.newLoad(tasks); err != nil {
		return nil, false, err
	}
	due := time.Now().Add(wait)
	l.due = make([]int64, tasks)
	for i := range l.due {
		l.due[i] = due.UnixMilli()
	}
	if _, err := p.createInBatches(r.ctx, to(l, r.url)); err != nil {
		return nil, false, err
	}
	if err := p.stop(); err != nil {
		return nil, false, err
	}
	return l, time.Now().Before(due), nil
}

// batches: from the first create to the last delivery recorded.
func (r *run) batches() error {
	return r.besideRaw("created, delivered and recorded", 0.45, func() (float64, error) {
		return r.endToEnd(r.sizes.batches, "", func(p *process, l *load) error {
			_, err := p.createInBatches(r.ctx, to(l, r.url))
			return err
		})
	})
}

// singleClients is how many clients create one by one at the same time.
const singleClients = 32

// singles: as batches, but one task a request.
func (r *run) singles() error {
	return r.besideRaw("created, delivered and recorded", 0.2, func() (float64, error) {
		return r.endToEnd(r.sizes.singles, "", func(p *process, l *load) error {
			_, err := p.createSingly(r.ctx, to(l, r.url), singleClients)
			return err
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
		l, err := r.newLoad(r.sizes.creates)
		if err != nil {
			return 0, err
		}
		plan := to(l, r.url)
		plan.due = time.Now().Add(24 * time.Hour)
		cpu, _, _ := p.usage()
		begun := time.Now()
		if _, err := p.createSingly(r.ctx, plan, singleClients); err != nil {
			return 0, err
		}
		took := time.Since(begun)
		if n := l.arrived.Load(); n > 0 {
			r.fail("%d tasks delivered a day early", n)
		}
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
	l, err := r.newLoad(tasks)
	if err != nil {
		return 0, err
	}
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
