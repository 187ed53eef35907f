package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// How many create tasks at once, as in bellman's scenarios.
const (
	creators      = 32 // one by one
	batchCreators = 4
)

// patience is how long nothing may arrive before tasks are taken for lost.
const patience = 30 * time.Second

// punctual is how often workers look where lateness is measured.
const punctual = 2 * time.Millisecond

// ahead is how long before they are due the tasks of lateness are created: longer
// than River's scheduler is away, which looks ahead 5 s every 5 s.
func ahead(tasks int) time.Duration { return 6*time.Second + time.Duration(tasks)*time.Second/8_000 }

// A measurement is of one peer.
type measurement struct {
	peer     peer
	receiver *receiver
	failures []string
}

func measure(ctx context.Context, p peer, s sizes) (f figures, err error) {
	m := &measurement{peer: p}
	if m.receiver, err = newReceiver(); err != nil {
		return f, err
	}
	defer m.receiver.close()
	for _, e := range p.efforts() {
		for _, one := range []struct {
			measure func(context.Context, effort, int) (float64, error)
			tasks   int
			to      *float64
			best    *effort
		}{
			{m.drain, s.drain, &f.drain, &f.best.drain},
			{m.singles, s.singles, &f.singles, &f.best.singles},
			{m.batches, s.batches, &f.batches, &f.best.batches},
		} {
			perSecond, err := one.measure(ctx, e, one.tasks)
			if err = errors.Join(err, p.forget(ctx)); err != nil {
				return f, err
			}
			if perSecond > *one.to {
				*one.to, *one.best = perSecond, e
			}
		}
	}
	late, err := m.lateness(ctx, effort{f.best.drain.workers, punctual}, s)
	if err != nil {
		return f, err
	}
	f.late, f.late99 = late[len(late)/2], late[len(late)*99/100]
	f.earliest = max(-late[0], 0)
	f.failures = m.failures
	return f, nil
}

// create creates a load's tasks, step of them at a time; due is nil or says when
// each is.
func (m *measurement) create(ctx context.Context, l *load, step, creators int, due []time.Time) error {
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range creators {
		g.Go(func() error {
			for {
				from := int(next.Add(1)-1) * step
				if from >= len(l.at) {
					return nil
				}
				tasks := make([]task, min(step, len(l.at)-from))
				for i := range tasks {
					tasks[i].number = from + i
					if due != nil {
						tasks[i].due = due[from+i]
					}
				}
				if err := m.peer.add(ctx, tasks); err != nil {
					return err
				}
			}
		})
	}
	return g.Wait()
}

func (m *measurement) createSingly(ctx context.Context, l *load) error {
	return m.create(ctx, l, 1, creators, nil)
}

// createQuickly creates in the way that takes the peer least time.
func (m *measurement) createQuickly(ctx context.Context, l *load, due []time.Time) error {
	if m.peer.most() > 1 {
		return m.create(ctx, l, m.peer.most(), batchCreators, due)
	}
	return m.create(ctx, l, 1, creators, due)
}

// finish waits until a load has arrived and the peer says that all is done.
func (m *measurement) finish(ctx context.Context, l *load, what string) error {
	before, since := int64(-1), time.Now()
	for {
		select {
		case <-l.all:
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
			if n := l.arrived.Load(); n != before {
				before, since = n, time.Now()
			} else if time.Since(since) > patience {
				m.fail(what, "%d of %d tasks never arrived", int64(len(l.at))-n, len(l.at))
				return nil
			}
			continue
		}
		break
	}
	for since = time.Now(); ; {
		done, err := m.peer.done(ctx)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if done {
			break
		}
		if time.Since(since) > patience {
			m.fail(what, "all arrived, and some are still not recorded as done")
			break
		}
		time.Sleep(time.Millisecond)
	}
	if n := l.twice.Load(); n > 0 {
		m.fail(what, "%d deliveries more than one of a task", n)
	}
	return nil
}

// fail notes what was not kept.
func (m *measurement) fail(what, format string, args ...any) {
	m.failures = append(m.failures, fmt.Sprintf("%s, %s: %s", m.peer.name(), what, fmt.Sprintf(format, args...)))
}

func (m *measurement) newLoad(tasks int) *load {
	l := newLoad(tasks)
	m.receiver.load.Store(l)
	return l
}

// drain is how many tasks a second are delivered and recorded that were stored when
// nobody worked, from the first delivery on.
func (m *measurement) drain(ctx context.Context, e effort, tasks int) (float64, error) {
	l := m.newLoad(tasks)
	if err := m.createQuickly(ctx, l, nil); err != nil {
		return 0, err
	}
	c, err := startCrew(m.peer, e, m.receiver.url)
	if err != nil {
		return 0, err
	}
	err = m.finish(ctx, l, "drain")
	took := time.Since(time.Unix(0, l.first.Load()))
	return float64(tasks) / took.Seconds(), errors.Join(err, c.stop())
}

// singles is how many tasks a second are created one by one, delivered and recorded.
func (m *measurement) singles(ctx context.Context, e effort, tasks int) (float64, error) {
	return m.endToEnd(ctx, e, tasks, "created one by one", m.createSingly)
}

// batches is the same of tasks that are created in batches; 0 where there are none.
func (m *measurement) batches(ctx context.Context, e effort, tasks int) (float64, error) {
	if m.peer.most() == 1 {
		return 0, nil
	}
	return m.endToEnd(ctx, e, tasks, "created in batches", func(ctx context.Context, l *load) error {
		return m.createQuickly(ctx, l, nil)
	})
}

func (m *measurement) endToEnd(ctx context.Context, e effort, tasks int, what string, create func(context.Context, *load) error) (float64, error) {
	c, err := startCrew(m.peer, e, m.receiver.url)
	if err != nil {
		return 0, err
	}
	l := m.newLoad(tasks)
	began := time.Now()
	if err = create(ctx, l); err == nil {
		err = m.finish(ctx, l, what)
	}
	took := time.Since(began)
	return float64(tasks) / took.Seconds(), errors.Join(err, c.stop())
}

// lateness is how long after their due times tasks arrive, in ms and ascending.
func (m *measurement) lateness(ctx context.Context, e effort, s sizes) ([]float64, error) {
	c, err := startCrew(m.peer, e, m.receiver.url)
	if err != nil {
		return nil, err
	}
	l := m.newLoad(s.late)
	from := time.Now().Add(ahead(s.late))
	due := make([]time.Time, s.late)
	for n := range due {
		due[n] = from.Add(time.Duration(rand.Int64N(s.over.Milliseconds())) * time.Millisecond)
	}
	if err = m.createQuickly(ctx, l, due); err == nil {
		err = m.finish(ctx, l, "lateness")
	}
	if err = errors.Join(err, c.stop()); err != nil {
		return nil, err
	}
	var late []float64
	for n := range due {
		if at := l.at[n].Load(); at > 0 {
			late = append(late, float64(time.Unix(0, at).Sub(due[n]).Microseconds())/1e3)
		}
	}
	if len(late) == 0 {
		return nil, fmt.Errorf("%s: no task that was due later arrived", m.peer.name())
	}
	slices.Sort(late)
	return late, nil
}
