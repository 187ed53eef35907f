package bench

import (
	"math/rand/v2"
	"time"
)

// lateness and latency are measured on an empty store, latencyWaiting and latenessWaiting on one
// with many tasks due tomorrow, and compared with the former.
func (r *run) lateness() {
	p := r.start(r.store(""))
	p50, p99 := r.measureLateness(p, 0)
	r.require(p50, atMost(0.8))
	r.require(p99, atMost(2.5))
	try(p.stop())
}

func (r *run) latencyWaiting() { r.onWaiting(r.measureLatency, "latency") }

func (r *run) latenessWaiting() { r.onWaiting(r.measureLateness, "lateness") }

func (r *run) onWaiting(measure func(*process, int) (p50, p99 *Figure), without string) {
	p := r.startWaiting()
	p50, p99 := measure(p, r.stored)
	for _, f := range []*Figure{p50, p99} {
		base, _ := r.report.Figure(without, f.Name)
		r.require(f.against(without, base.Value), timesAtMost(1.2))
	}
	try(p.stop())
}

// warm sends some tasks through a server that has just started.
func (r *run) warm(p *process, rest int) {
	r.timed(p, 256, rest, func(l *load) { try(p.createSingly(r.ctx, to(l, r.url), 16)) })
}

// measureLateness creates tasks due at random times and measures how late they arrive, while rest
// other tasks wait.
func (r *run) measureLateness(p *process, rest int) (p50, p99 *Figure) {
	return r.percentiles("arrival after due", r.arrivals(p, rest))
}

// arrivals returns the lateness of tasks that are due at random times.
func (r *run) arrivals(p *process, rest int) durations {
	r.warm(p, rest)
	l := r.newLoad(r.sizes.late)
	l.dueWithin(time.Now().Add(r.sizes.ahead(len(l.at))), r.sizes.over)
	try(createInBatches(r.ctx, to(l, r.url), p))
	r.finish(p, l, int64(rest))
	return l.lateness()
}

// dueWithin sets due times at random.
func (l *load) dueWithin(from time.Time, span time.Duration) {
	l.due = make([]int64, len(l.at))
	for i := range l.due {
		l.due[i] = from.UnixMilli() + rand.Int64N(span.Milliseconds())
	}
}

// lateness returns how long after their due times the tasks of a load arrived.
func (l *load) lateness() durations {
	late := newDurations()
	for i := range l.at {
		if at := l.at[i].Load(); at > 0 {
			late.add(at - l.due[i]*int64(time.Millisecond))
		}
	}
	return late
}

// percentiles reports the median, with the histogram, the 99th percentile, and the longest.
func (r *run) percentiles(name string, d durations) (p50, p99 *Figure) {
	p50, p99 = r.figure(name+", p50", d.ms(50), "ms"), r.figure(name+", p99", d.ms(99), "ms")
	p50.Histogram = d.buckets()
	r.figure(name+", most", d.ms(100), "ms")
	return p50, p99
}
