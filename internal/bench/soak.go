package bench

import (
	"cmp"
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/schedule"
)

// soakGoal is how far a sample may be from the mean, in percent, in a soak of the full length.
const soakGoal = 5

// soakSamples is the number of samples, unless they would be too short, or keep too many tasks in
// memory.
const (
	soakSamples  = 60
	soakLeast    = 6
	soakShortest = 500 * time.Millisecond
	soakLongest  = 2 * time.Minute
)

// soakRetention is the share of the length for which ended tasks are kept. The first sixth is not
// judged; the store is full long before it ends.
const soakRetention = 24

// A soak offers the same load for a long time. Each sample has a load of its own, so that memory
// does not grow with the length.
type soak struct {
	r     *run
	p     *process
	store string
	every time.Duration // between samples
	count int           // samples, fewer if the pace is not kept
	until time.Time     // when no further sample begins, once there are soakLeast
	rate  int           // tasks a second

	open    []*load // offered, and not yet all arrived, in order
	arrived int64   // of the loads that are not open

	at     time.Time // of the last sample
	before used
	self   time.Duration // CPU time of this process until then
	soFar  int64         // arrived until then

	all                                                     durations // lateness after the first sixth
	arrivals, late, server, database, harness, disk, memory []float64 // by sample
}

// soak runs one server at half of its capacity, with a short retention, and reports how steady it
// is.
func (r *run) soak() {
	length := cmp.Or(r.o.For, r.sizes.soak)
	s := &soak{r: r, store: r.store(""), rate: r.o.Rate, all: newDurations()}
	s.every = min(max(length/soakSamples, soakShortest), soakLongest)
	s.count = max(int(length/s.every), soakLeast)
	keep := max(length/soakRetention, time.Second).Truncate(time.Second)
	s.p = r.startWith(s.store, "retention: {succeeded: "+schedule.FormatDuration(keep)+"}")
	if s.rate == 0 {
		capacity := r.timed(s.p, r.sizes.singles, 0, func(l *load) { try(s.p.createSingly(r.ctx, to(l, r.url), SingleClients)) })
		r.figure("capacity: created one by one, delivered and recorded", capacity, "/s")
		s.rate = max(int(capacity/2), 1)
	}
	r.figure("offered", float64(s.rate), "/s")
	s.until = time.Now().Add(length)
	s.measure()
	s.report(length)
	r.peak(s.p, "server memory, most")
	if _, most, _ := memoryOf(os.Getpid()); most > 0 {
		r.figure("load generator and receiver: memory, most", mib(most), "MiB")
	}
	try(s.p.stop())
}

// measure takes all samples, and waits until everything has arrived.
func (s *soak) measure() {
	ctx, cancel := context.WithCancel(s.r.ctx)
	g, ctx := errgroup.WithContext(ctx)
	defer g.Wait()
	defer cancel()
	offered := make(chan *load)
	s.at, s.before = time.Now(), s.r.used(s.p)
	s.self, _ = cpuOf(os.Getpid())
	g.Go(func() error {
		defer close(offered)
		for i := range s.count {
			if i >= soakLeast && time.Now().After(s.until) {
				return nil
			}
			l, err := s.offer(ctx)
			if err != nil {
				return err
			}
			select {
			case offered <- l:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for l := range offered {
		s.sample(l)
	}
	try(g.Wait())
	for len(s.open) > 0 {
		s.close()
	}
	s.r.settle(s.p.awaitPending(s.r.ctx, 0))
}

// offer creates the tasks of one sample at the rate. Each is due about a second after its creation.
func (s *soak) offer(ctx context.Context) (*load, error) {
	l := newLoad(s.r.nextLoad(), max(int(s.every.Seconds()*float64(s.rate)), 1))
	lead := min(time.Second, s.every)
	l.due = make([]int64, len(l.at))
	gap := time.Second / time.Duration(s.rate)
	for i, now := 0, time.Now(); i < len(l.due); i++ {
		l.due[i] = now.Add(time.Duration(i)*gap + lead/2 + rand.N(lead)).UnixMilli()
	}
	s.r.receiver.begin(l)
	plan := to(l, s.r.url)
	return l, atRate(ctx, len(l.at), s.rate, keptOpen, func() func(context.Context, int) error {
		c := s.p.creator("/v1/tasks")
		return func(ctx context.Context, i int) error { return c.one(ctx, &plan, i) }
	})
}

// sample measures what has happened since the last sample, when all tasks of a load were created.
func (s *soak) sample(l *load) {
	s.open = append(s.open, l)
	arrived := s.arrived
	for _, l := range s.open {
		arrived += l.arrived.Load()
	}
	at, now := time.Now(), s.r.used(s.p)
	tasks := float64(max(arrived-s.soFar, 1))
	s.arrivals = append(s.arrivals, float64(arrived-s.soFar)/at.Sub(s.at).Seconds())
	s.server = append(s.server, float64((now.server-s.before.server).Microseconds())/tasks)
	s.database = append(s.database, float64((now.database-s.before.database).Microseconds())/tasks)
	self, _ := cpuOf(os.Getpid())
	s.harness = append(s.harness, float64((self-s.self).Microseconds())/tasks)
	s.at, s.before, s.self, s.soFar = at, now, self, arrived
	_, memory, _ := s.p.usage()
	s.memory = append(s.memory, mib(memory))
	s.disk = append(s.disk, mib(s.r.diskOf(s.store)))
	for len(s.open) > slots/2 || len(s.open) > 0 && s.open[0].arrived.Load() == int64(len(s.open[0].at)) {
		s.close()
	}
}

// close waits until the oldest open load has arrived, checks it and forgets it. A delivery after
// that counts as a stray.
func (s *soak) close() {
	l := s.open[0]
	s.open = s.open[1:]
	s.r.arrive(l)
	s.r.check(l)
	s.r.receiver.forget(l)
	s.arrived += l.arrived.Load()
	late := l.lateness()
	if s.late = append(s.late, late.ms(99)); len(s.late) > s.count/6 {
		s.all.h.Merge(late.h)
	}
}

func (s *soak) report(length time.Duration) {
	var goals []goal
	if length >= full.soak {
		for _, store := range []string{config.Pebble, config.Postgres, config.MySQL, config.Redis} {
			goals = append(goals, goal{store: store, bound: soakGoal})
		}
	}
	disk := "disk"
	if s.r.kind() == config.Redis {
		disk = "memory of Redis"
	}
	s.r.percentiles("arrival after due", s.all)
	s.steady("arrived", "/s", s.arrivals)
	s.steady("arrival after due, p99", "ms", s.late, goals...)
	s.steady("server CPU a task", "µs", s.server, goals...)
	s.steady("database CPU a task", "µs", s.database, goals...)
	s.steady("load generator and receiver: CPU a task", "µs", s.harness) // does the same work throughout: shows the host's changes
	s.steady(disk, "MiB", s.disk, goals...)
	s.steady("server memory", "MiB", s.memory)
}

// steady reports the end of a series against its beginning, and how far the samples are from their
// mean. The first sixth does not count. A series of zeros is unknown, and left out.
func (s *soak) steady(name, unit string, values []float64, goals ...goal) {
	if slices.Max(values) == 0 {
		return
	}
	sixth := len(values) / 6
	second, last, rest := mean(values[sixth:2*sixth]), mean(values[len(values)-sixth:]), values[sixth:]
	f := s.r.figure(name+", last sixth", last, unit).against("second sixth", second)
	f.Series = &Series{Name: name, EverySeconds: s.every.Seconds(), Values: values}
	middle := mean(rest)
	furthest := max(slices.Max(rest)-middle, middle-slices.Min(rest))
	s.r.require(s.r.figure(name+", furthest from its mean", 100*furthest/middle, "%"), goals...)
}

func mean(values []float64) (sum float64) {
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
