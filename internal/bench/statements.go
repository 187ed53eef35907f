package bench

import (
	"time"

	"github.com/bellmanhq/bellman/internal/bench/scratch"
)

// statements: what a delivery asks of the database. Counting takes CPU, so the
// throughput is not what it would be.
func (r *run) statements() error {
	err := r.tapped(func(store string, tap *scratch.Tap) error {
		p, err := r.start(store)
		if err != nil {
			return err
		}
		l := r.newLoad(r.sizes.batches)
		before := tap.Statements()
		if err := p.createInBatches(r.ctx, to(l, r.url)); err != nil {
			return err
		}
		if err := r.recorded(p, l); err != nil {
			return err
		}
		r.perTask("statements a task, in batches", tap.Statements()-before, len(l.at))
		return p.stop()
	})
	if err != nil {
		return err
	}
	return r.tapped(func(store string, tap *scratch.Tap) error {
		l, err := r.overdue(store, r.sizes.drain, 0, (*process).stop)
		if err != nil {
			return err
		}
		before := tap.Statements()
		p, err := r.start(store)
		if err != nil {
			return err
		}
		if err := r.recorded(p, l); err != nil {
			return err
		}
		r.perTask("statements a task, in a drain with its start", tap.Statements()-before, len(l.at))
		return p.stop()
	})
}

func (r *run) perTask(name string, statements int64, tasks int) {
	r.must(r.figure(name, float64(statements)/float64(tasks), ""), inPostgres(atMost(0.1)))
}

// recorded waits until a load has arrived and is recorded, and asks the database
// hardly anything meanwhile.
func (r *run) recorded(p *process, l *load) error {
	if err := r.arrive(l); err != nil {
		return err
	}
	sleepUntil(time.Now().Add(r.sizes.settle))
	return r.finish(p, l, 0)
}

// tapped calls f with a new store that is reached by way of a tap.
func (r *run) tapped(f func(store string, tap *scratch.Tap) error) error {
	tap, err := r.tap()
	if err != nil {
		return err
	}
	defer tap.Close() // the servers behind it are told, or have ended
	return f(tap.URL, tap)
}

// idle: a server with nothing to do, on an empty database.
func (r *run) idle() error {
	return r.tapped(func(store string, tap *scratch.Tap) error {
		p, err := r.start(store)
		if err != nil {
			return err
		}
		sleepUntil(time.Now().Add(r.sizes.settle))
		before, statements, begun := r.used(p), tap.Statements(), time.Now()
		sleepUntil(begun.Add(r.sizes.quiet))
		now, took := r.used(p), time.Since(begun).Seconds()
		r.must(r.figure("statements", float64(tap.Statements()-statements)/took, "a second"), inPostgres(atMost(2)))
		if canMeasure {
			r.must(r.figure("server CPU", 100*(now.server-before.server).Seconds()/took, "%"), inPostgres(atMost(0.5)))
		}
		if now.database > 0 {
			r.figure("database CPU", 100*(now.database-before.database).Seconds()/took, "%")
		}
		return p.stop()
	})
}
