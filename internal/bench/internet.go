package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// slowest is how much slower internet may be than its sizes say.
const slowest = 32

// grace is how long after the last task was due a pace counts as kept. Tests set a longer one.
var grace = 5 * time.Second

// internet sends to many hosts over TLS that take their time, at a fixed pace: first bellman, then
// a bare net/http client. If the machine cannot keep the pace, it is halved.
func (r *run) internet() {
	h := must(r.receiver.newHosts(r.sizes.hosts, r.dir))
	defer h.close()
	r.env = "SSL_CERT_FILE=" + h.ca
	defer func() { r.env = "" }()

	pace := r.sizes.paced
	ours, kept := r.abroad(h, pace)
	for ; !kept; ours, kept = r.abroad(h, pace) {
		if pace /= 2; pace < r.sizes.paced/slowest {
			try(fmt.Errorf("this machine cannot deliver %d a second to %d hosts", 2*pace, len(h.urls)))
		}
	}
	bare := r.bareAbroad(h, pace)
	r.require(r.figure("offered to all hosts", float64(pace), "/s"), noLess(float64(r.sizes.paced)))
	_, p99 := ours.report(r, "")
	r.require(p99, atMost(20))
	bare.report(r, "net/http: ")
}

// A trip is the measured load of one client on the hosts, without its first request to each host.
type trip struct {
	due, arrived int       // at healthy hosts
	late         durations // of those that arrived

	requests, handshakes, resumed, most int64
	cpu                                 time.Duration
	before, peak                        int64 // memory, in bytes
}

// report reports a trip. who is the beginning of the figures' names.
func (t *trip) report(r *run, who string) (p50, p99 *Figure) {
	r.figure(who+"arrived at healthy hosts", 100*float64(t.arrived)/float64(t.due), "%")
	r.figure(who+"requests on a connection used before", 100*max(0, 1-float64(t.handshakes)/float64(t.requests)), "%") // some handshakes end without a request
	r.figure(who+"handshakes", float64(t.handshakes), "")
	r.figure(who+"of them resumed a session", float64(t.resumed), "")
	r.figure(who+"requests in flight, most", float64(t.most), "")
	if t.peak > 0 {
		r.figure(who+"CPU a request", float64(t.cpu.Microseconds())/float64(t.requests), "µs")
		r.figure(who+"memory a request in flight", float64(t.peak-t.before)/float64(t.most)/1024, "KiB")
		r.figure(who+"memory, most", mib(t.peak), "MiB")
	}
	return r.percentiles(who+"arrival after due", t.late)
}

// A journey is the plan of a trip: one task for each host, then tasks that are due at random times,
// equally many for each host.
type journey struct {
	from      time.Time // when the first task is due
	begin     time.Time // when tasks begin to be due at random
	end       time.Time
	good, bad *load // to healthy hosts, and to the others
	plan      plan
}

// journey plans a trip. The first task is due at a time.
func (r *run) journey(h *hosts, pace int, from time.Time) *journey {
	ramp := r.sizes.abroad / 5
	j := &journey{from: from, begin: from.Add(ramp), end: from.Add(ramp + r.sizes.abroad)}
	hundreds := len(h.urls)/hundred + int(r.sizes.abroad.Seconds())*pace/hundred
	j.good, j.bad = newLoad(r.nextLoad(), hundreds*failing), newLoad(r.nextLoad(), hundreds*(hundred-failing))
	for _, l := range []*load{j.good, j.bad} {
		l.dueWithin(j.begin, r.sizes.abroad)
		r.receiver.begin(l)
	}
	j.plan = plan{tasks: hundreds * hundred, item: func(i int) (*load, int, string) {
		url, n := h.urls[i%len(h.urls)], i%hundred
		if n < failing {
			return j.good, i/hundred*failing + n, url
		}
		return j.bad, i/hundred*(hundred-failing) + n - failing, url
	}}
	for i := range h.urls {
		l, task, _ := j.plan.item(i)
		l.due[task] = from.Add(ramp * time.Duration(i) / time.Duration(len(h.urls))).UnixMilli()
	}
	return j
}

// abroad is bellman's trip; kept is false, without a trip, if it did not keep the pace. The tasks
// are stored already when the server starts.
func (r *run) abroad(h *hosts, pace int) (t *trip, kept bool) {
	for ahead := r.sizes.ahead(pace*int(r.sizes.abroad.Seconds())) + r.sizes.settle; ; ahead *= 2 {
		store := r.store(fmt.Sprint(pace, ahead))
		p := r.start(store)
		from := time.Now().Add(ahead)
		j := r.journey(h, pace, from)
		try(createInBatches(r.ctx, j.plan, p))
		try(p.stop())
		p = r.start(store)
		if time.Until(from) < r.sizes.settle {
			p.kill()
			continue
		}
		if t, kept = r.travel(h, p, j); !kept {
			p.kill()
			return nil, false
		}
		r.loads = append(r.loads, j.good)
		r.peak(p, "")
		try(p.stop())
		return t, true
	}
}

// bareAbroad is the trip of a bare client.
func (r *run) bareAbroad(h *hosts, pace int) *trip {
	j := r.journey(h, pace, time.Now().Add(r.sizes.settle))
	var posts []duePost
	for i := range j.plan.tasks {
		l, task, url := j.plan.item(i)
		posts = append(posts, duePost{Due: l.due[task], URL: url, Load: l.id, Task: task})
	}
	slices.SortFunc(posts, func(a, b duePost) int { return int(a.Due - b.Due) })
	p := r.spawn(role{Posts: posts, Env: r.env})
	t, _ := r.travel(h, p, j)
	try(p.stop())
	return t
}

// travel watches a client from the first to the last task, and reports whether all healthy hosts
// got theirs.
func (r *run) travel(h *hosts, p *process, j *journey) (*trip, bool) {
	ctx, cancel := context.WithDeadline(r.ctx, j.end.Add(grace))
	defer cancel()
	sleepUntil(j.from)
	memory := p.watchMemory(ctx)
	_, before, _ := p.usage()
	sleepUntil(j.begin)
	t := &trip{before: before, late: newDurations()}
	t.cpu, _, _ = p.usage()
	t.requests, t.handshakes, t.resumed = h.requests.Load(), h.handshakes.Load(), h.resumed.Load()
	h.most.Store(0)
	err := j.good.await(ctx)
	if !errors.Is(err, context.DeadlineExceeded) {
		r.settle(err)
	}
	cpu, _, _ := p.usage()
	t.cpu = cpu - t.cpu
	t.requests, t.handshakes = h.requests.Load()-t.requests, h.handshakes.Load()-t.handshakes
	t.resumed, t.most = h.resumed.Load()-t.resumed, h.most.Load()
	cancel()
	t.peak = <-memory
	for i, due := range j.good.due {
		if due < j.begin.UnixMilli() {
			continue
		}
		t.due++
		if at := j.good.at[i].Load(); at > 0 {
			t.arrived++
			t.late.add(at - due*int64(time.Millisecond))
		}
	}
	return t, err == nil
}

// watchMemory returns a channel that gets the most memory of a process until ctx ends.
func (p *process) watchMemory(ctx context.Context) <-chan int64 {
	most := make(chan int64, 1)
	go func() {
		var peak int64
		look := time.NewTicker(50 * time.Millisecond)
		defer look.Stop()
		for ctx.Err() == nil {
			_, now, _ := p.usage()
			peak = max(peak, now)
			select {
			case <-look.C:
			case <-ctx.Done():
			}
		}
		most <- peak
	}()
	return most
}
