package bench

import (
	"context"
	"slices"
	"time"
)

// perSecond is the rate of the latency scenario.
const perSecond = 500

// latencyRounds is the number of rounds, each in turn with bare posts.
const latencyRounds = 5

// latency measures from create to arrival on an empty store, and compares each round's percentiles
// with those of bare posts at the same pace.
func (r *run) latency() {
	p := r.start(r.store(""))
	var ours, bare [2][]float64 // p50 and p99 of each round
	p50, p99 := r.latencies(p, 0, func(arrived durations) {
		posted := r.postSteadily()
		for i, percent := range []float64{50, 99} {
			ours[i] = append(ours[i], arrived.ms(percent))
			bare[i] = append(bare[i], posted.ms(percent))
		}
	})
	r.require(p50, atMost(0.8))
	r.require(p99, atMost(3))
	for i, f := range []struct {
		name string
		most float64
	}{{"p50", 1.3}, {"p99", 2}} {
		r.require(r.figure("create to arrival, "+f.name+", median of the rounds", median(ours[i]), "ms").
			against("a bare post", median(bare[i])), timesAtMost(f.most))
	}
	try(p.stop())
}

func (r *run) measureLatency(p *process, rest int) (p50, p99 *Figure) {
	return r.latencies(p, rest, func(durations) {})
}

// latencies creates tasks at a fixed rate in several rounds, while rest other tasks wait. round is
// called after each.
func (r *run) latencies(p *process, rest int, round func(arrived durations)) (p50, p99 *Figure) {
	r.warm(p, rest)
	answered, arrived := newDurations(), newDurations()
	for range latencyRounds {
		l := r.newLoad(int(r.sizes.latency.Seconds() * perSecond / latencyRounds))
		plan := to(l, r.url)
		a, b := r.steadily(l, func() func(context.Context, int) error {
			c := p.creator("/v1/tasks")
			return func(ctx context.Context, i int) error { return c.one(ctx, &plan, i) }
		})
		r.settle(p.awaitPending(r.ctx, int64(rest)))
		answered.h.Merge(a.h)
		arrived.h.Merge(b.h)
		round(b)
	}
	r.figure("create to answer, p50", answered.ms(50), "ms")
	r.figure("create to answer, p99", answered.ms(99), "ms")
	return r.percentiles("create to arrival", arrived)
}

// postSteadily posts to the receiver at the same pace from a process of its own, as the server is,
// and keeps nothing. It returns how long after it was due each post arrived.
func (r *run) postSteadily() (arrived durations) {
	l := r.newLoad(int(r.sizes.latency.Seconds() * perSecond / latencyRounds))
	l.due = make([]int64, len(l.at))
	posts := make([]duePost, len(l.at))
	begin := time.Now().Add(r.sizes.settle).UnixMilli()
	for i := range posts {
		l.due[i] = begin + int64(i)*1000/perSecond
		posts[i] = duePost{Due: l.due[i], URL: r.url, Load: l.id, Task: i}
	}
	p := r.spawn(role{Posts: posts})
	r.arrive(l)
	try(p.stop())
	return l.lateness()
}

// steadily creates a load at the fixed rate, whether or not earlier requests are answered. It
// returns how long after its sending each was answered and arrived.
func (r *run) steadily(l *load, client func() func(context.Context, int) error) (answered, arrived durations) {
	sent := make([]int64, len(l.at))
	took := make([]int64, len(l.at))
	try(atRate(r.ctx, len(l.at), perSecond, rateClients, func() func(context.Context, int) error {
		do := client()
		return func(ctx context.Context, i int) error {
			sent[i] = time.Now().UnixNano()
			err := do(ctx, i)
			took[i] = time.Now().UnixNano() - sent[i]
			return err
		}
	}))
	r.arrive(l)
	answered, arrived = newDurations(), newDurations()
	for i := range l.at {
		answered.add(took[i])
		if at := l.at[i].Load(); at > 0 {
			arrived.add(at - sent[i])
		}
	}
	return answered, arrived
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
