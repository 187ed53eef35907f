package bench

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"
)

// A Peer is another system for the same work, which [MeasurePeer] measures.
type Peer interface {
	Batch() int        // most tasks that it creates at once; 1: it has no batches
	Efforts() []Effort // settings to try for the throughput figures

	// Work starts workers that POST the body of each task to url, until stop is called.
	Work(e Effort, url string) (stop func() error, err error)
	// Create creates up to Batch tasks.
	Create(ctx context.Context, tasks []PeerTask) error
	// Done reports whether all tasks are recorded as done.
	Done(ctx context.Context) (bool, error)
	// Forget deletes the tasks that are done.
	Forget(ctx context.Context) error
}

// An Effort is a number of workers and how often they poll.
type Effort struct {
	Workers int
	Looks   time.Duration // how often workers look for tasks
}

// A PeerTask is a task to be created.
type PeerTask struct {
	Body string
	Due  time.Time // zero: now
}

// Punctual is the polling interval of workers when lateness is measured.
const Punctual = 2 * time.Millisecond

// MeasurePeer measures drain, singles, batches and lateness of a peer as [Run] does for bellman,
// with figures of the same names. Each throughput is the best of the peer's efforts. It prints
// progress to out.
func MeasurePeer(ctx context.Context, p Peer, small bool, out io.Writer) (Report, error) {
	r := &run{ctx: ctx, sizes: full, receiver: newReceiver()}
	if small {
		r.sizes = quick
	}
	defer r.receiver.close()
	urls, err := r.receiver.listen(1, false)
	if err != nil {
		return r.report, err
	}
	r.url = urls[0]
	err = r.attempt(Scenario{run: func(r *run) { r.peer(p, out) }})
	return r.report, err
}

func (r *run) peer(p Peer, out io.Writer) {
	const created = "created, delivered and recorded"
	hardest := 0 // workers of the best drain
	for _, s := range []struct {
		name, figure string
		tasks, batch int
	}{
		{"drain", "delivered and recorded", r.sizes.drain, p.Batch()},
		{"singles", created, r.sizes.singles, 1},
		{"batches", created, r.sizes.batches, p.Batch()},
	} {
		r.scenario = s.name
		if s.name == "batches" && s.batch == 1 {
			continue
		}
		best := 0.0
		for _, e := range p.Efforts() {
			perSecond := r.peerRate(p, e, s.tasks, s.batch)
			fmt.Fprintf(out, "%s with %d workers: %.0f/s\n", s.name, e.Workers, perSecond)
			if perSecond > best && s.name == "drain" {
				hardest = e.Workers
			}
			best = max(best, perSecond)
		}
		r.figure(s.figure, best, "/s")
	}
	r.scenario = "lateness"
	r.peerLateness(p, hardest)
}

// peerRate returns how many tasks a second are delivered and recorded. In a drain, work begins when
// all tasks are created, and is measured from the first arrival.
func (r *run) peerRate(p Peer, e Effort, tasks, batch int) float64 {
	l := r.newLoad(tasks)
	var stop func() error
	begun := time.Now()
	if r.scenario == "drain" {
		r.peerCreate(p, l, batch)
		stop = must(p.Work(e, r.url))
	} else {
		stop = must(p.Work(e, r.url))
		begun = time.Now()
		r.peerCreate(p, l, batch)
	}
	r.peerFinish(p, l)
	if r.scenario == "drain" {
		begun = time.Unix(0, l.first.Load())
	}
	took := time.Since(begun)
	try(stop())
	try(p.Forget(r.ctx))
	r.check(l)
	return float64(tasks) / took.Seconds()
}

func (r *run) peerLateness(p Peer, workers int) {
	stop := must(p.Work(Effort{workers, Punctual}, r.url))
	l := r.newLoad(r.sizes.late)
	// River's scheduler looks 5 s ahead, every 5 s.
	l.dueWithin(time.Now().Add(6*time.Second+r.sizes.ahead(len(l.at))), r.sizes.over)
	r.peerCreate(p, l, p.Batch())
	r.peerFinish(p, l)
	try(stop())
	r.percentiles("arrival after due", l.lateness())
	earliest := int64(math.MinInt64)
	for i := range l.at {
		earliest = max(earliest, l.due[i]*int64(time.Millisecond)-l.at[i].Load())
	}
	r.figure("earliest before its due time", ms(max(time.Duration(earliest), 0)), "ms")
}

func (r *run) peerCreate(p Peer, l *load, batch int) {
	clients := batchClients
	if batch == 1 {
		clients = SingleClients
	}
	try(inSteps(r.ctx, len(l.at), batch, clients, func(ctx context.Context) func(i, n int) error {
		return func(i, n int) error {
			tasks := make([]PeerTask, n)
			for k := range tasks {
				tasks[k].Body = string(appendBody(nil, l.id, i+k))
				if l.due != nil {
					tasks[k].Due = time.UnixMilli(l.due[i+k])
				}
			}
			return p.Create(ctx, tasks)
		}
	}))
}

// peerFinish waits until a load has arrived and the peer has recorded all tasks as done.
func (r *run) peerFinish(p Peer, l *load) {
	r.arrive(l)
	for since := time.Now(); !must(p.Done(r.ctx)); time.Sleep(time.Millisecond) {
		try(r.ctx.Err())
		if time.Since(since) > patience {
			r.fail("some tasks are still not recorded as done")
			return
		}
	}
}
