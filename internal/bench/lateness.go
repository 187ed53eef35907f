package bench

import (
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"
)

// perSecond is the pace of the latency scenario.
const perSecond = 500

// latency on an empty store.
func (r *run) latency() error {
	p, err := r.start(r.store(""))
	if err != nil {
		return err
	}
	p50, p99, err := r.measureLatency(p, 0)
	if err != nil {
		return err
	}
	r.must(p50, atMost(0.8))
	r.must(p99, atMost(3))
	return p.stop()
}

// lateness on an empty store.
func (r *run) lateness() error {
	p, err := r.start(r.store(""))
	if err != nil {
		return err
	}
	p50, p99, err := r.measureLateness(p, 0)
	if err != nil {
		return err
	}
	r.must(p50, atMost(0.8))
	r.must(p99, atMost(2.5))
	return p.stop()
}

// latencyWaiting and latenessWaiting hold the same against what they are
// without tasks that wait.
func (r *run) latencyWaiting() error {
	p, err := r.startWaiting()
	if err != nil {
		return err
	}
	p50, p99, err := r.measureLatency(p, int64(r.stored))
	if err != nil {
		return err
	}
	r.asWithout(p50, p99, "latency")
	return p.stop()
}

func (r *run) latenessWaiting() error {
	p, err := r.startWaiting()
	if err != nil {
		return err
	}
	p50, p99, err := r.measureLateness(p, int64(r.stored))
	if err != nil {
		return err
	}
	r.asWithout(p50, p99, "lateness")
	return p.stop()
}

func (r *run) asWithout(p50, p99 *Figure, scenario string) {
	for _, f := range []*Figure{p50, p99} {
		base, _ := r.report.Figure(scenario, f.Name)
		r.must(f.against(scenario, base.Value), timesAtMost(1.2))
	}
}

// warm sends some tasks through a server that has just started.
func (r *run) warm(p *process, rest int64) error {
	l := r.newLoad(256)
	if err := p.createSingly(r.ctx, to(l, r.url), 16); err != nil {
		return err
	}
	return r.finish(p, l, rest)
}

// measureLatency creates tasks at a fixed pace, whether or not the ones before
// are answered, and measures each from right before its create is sent to its
// arrival. rest tasks wait besides.
func (r *run) measureLatency(p *process, rest int64) (p50, p99 *Figure, err error) {
	if err := r.warm(p, rest); err != nil {
		return nil, nil, err
	}
	gap := time.Second / perSecond
	l := r.newLoad(int(r.sizes.latency / gap))
	sent, answered := make([]int64, len(l.at)), make([]int64, len(l.at))
	plan := to(l, r.url)
	idle := make(chan *creator, 1024) // clients that have nothing to do
	g, ctx := errgroup.WithContext(r.ctx)
	begun := time.Now().Add(10 * time.Millisecond)
	for i := range l.at {
		sleepUntil(begun.Add(time.Duration(i) * gap))
		if ctx.Err() != nil {
			break
		}
		g.Go(func() error {
			var c *creator
			select {
			case c = <-idle:
			default:
				c = p.creator("/v1/tasks")
			}
			sent[i] = time.Now().UnixNano()
			err := c.one(ctx, &plan, i)
			answered[i] = time.Now().UnixNano()
			select {
			case idle <- c:
			default:
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	if err := r.finish(p, l, rest); err != nil {
		return nil, nil, err
	}
	took, durable := newDurations(), newDurations()
	for i := range l.at {
		durable.add(answered[i] - sent[i])
		if at := l.at[i].Load(); at > 0 {
			took.add(at - sent[i])
		}
	}
	r.figure("create to answer, p50", durable.ms(50), "ms")
	r.figure("create to answer, p99", durable.ms(99), "ms")
	p50, p99, _ = r.percentiles("create to arrival", took)
	return p50, p99, nil
}

// measureLateness creates tasks due at random times and measures how long after
// that they arrive. rest tasks wait besides.
func (r *run) measureLateness(p *process, rest int64) (p50, p99 *Figure, err error) {
	late, err := r.arrivals(p, rest)
	if err != nil {
		return nil, nil, err
	}
	p50, p99, _ = r.percentiles("arrival after due", late)
	return p50, p99, nil
}

// arrivals are how long after their due times tasks arrive that are due at random.
func (r *run) arrivals(p *process, rest int64) (late durations, err error) {
	if err := r.warm(p, rest); err != nil {
		return late, err
	}
	l := r.newLoad(r.sizes.late)
	l.dueWithin(time.Now().Add(r.sizes.ahead(len(l.at))), r.sizes.over)
	if err := p.createInBatches(r.ctx, to(l, r.url)); err != nil {
		return late, err
	}
	if err := r.finish(p, l, rest); err != nil {
		return late, err
	}
	return l.lateness(), nil
}

// dueWithin sets due times at random.
func (l *load) dueWithin(from time.Time, span time.Duration) {
	l.due = make([]int64, len(l.at))
	for i := range l.due {
		l.due[i] = from.UnixMilli() + rand.Int64N(span.Milliseconds())
	}
}

// lateness is how long after their due times the tasks of a load arrived.
func (l *load) lateness() durations {
	late := newDurations()
	for i := range l.at {
		if at := l.at[i].Load(); at > 0 {
			late.add(at - l.due[i]*int64(time.Millisecond))
		}
	}
	return late
}

// percentiles notes the median, with the histogram, the 99th percentile, and the
// longest.
func (r *run) percentiles(name string, d durations) (p50, p99, most *Figure) {
	at := len(r.report.Figures)
	r.figure(name+", p50", d.ms(50), "ms").Histogram = d.buckets()
	r.figure(name+", p99", d.ms(99), "ms")
	r.figure(name+", most", d.ms(100), "ms")
	return &r.report.Figures[at], &r.report.Figures[at+1], &r.report.Figures[at+2]
}
