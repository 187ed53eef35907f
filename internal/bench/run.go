package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/bellmanhq/bellman/internal/bench/scratch"
	"github.com/bellmanhq/bellman/internal/config"
)

// A run is one Run under way.
type run struct {
	ctx   context.Context
	o     Options
	sizes sizes
	out   io.Writer

	dir    string                       // for stores; removed at the end
	server *scratch.Server              // where databases are made for stores; nil: the embedded store
	made   map[string]*scratch.Database // by their URLs, and those by way of a tap

	databasePid int // 0: not on this machine
	receiver    *receiver
	url         string // of the receiver
	report      Report
	lastLoad    int

	scenario string
	servers  []*process // of the scenario
	loads    []*load    // of the scenario
	rawAt    time.Time  // when raw was measured last
	busy     int64      // most memory that a loaded server had, in bytes
	waiting  string     // the store with many tasks for tomorrow; empty: not made yet
	stored   int        // tasks waiting in it
}

// Run measures and returns the report, which it also prints to out as a table;
// progress goes there while it runs. The report is what there is so far if an
// error ends it. A promise that was not kept is no error: see [Report.Failures].
func Run(ctx context.Context, o Options, out io.Writer) (Report, error) {
	s := full
	if o.Quick {
		s = quick
	}
	return runSized(ctx, o, s, out)
}

func runSized(ctx context.Context, o Options, s sizes, out io.Writer) (_ Report, err error) {
	kind := config.Pebble
	if o.Store != "" {
		store, err := config.ParseStore(o.Store)
		if err != nil {
			return Report{}, err
		}
		kind = store.Kind
	}
	scenarios, err := choose(o.Scenarios, kind)
	if err != nil {
		return Report{}, err
	}
	r := &run{ctx: ctx, o: o, sizes: s, out: out}
	r.report = Report{Machine: machine(), Started: time.Now().UTC(), Quick: s != full, Figures: []Figure{}, Failures: []string{}}
	if r.dir, err = os.MkdirTemp(o.Dir, "bellman-bench-"); err != nil {
		return r.report, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.dir)) }()
	if o.Store != "" {
		if err := r.connect(); err != nil {
			return r.report, err
		}
		defer func() { err = errors.Join(err, r.dropAll(), r.server.Close()) }()
	}
	r.receiver = newReceiver()
	defer r.receiver.close()
	urls, err := r.receiver.listen(1, false)
	if err != nil {
		return r.report, err
	}
	r.url = urls[0]
	others := watchOthers(r.databaseCPU)
	if !canMeasure {
		fmt.Fprintln(out, "memory and CPU of another process can be read on Linux only: they are left out")
	}
	for _, s := range scenarios {
		if err := r.one(s); err != nil {
			return r.report, fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	if r.busy > 0 {
		r.scenario = "all"
		r.must(r.figure("server memory, most of all", mib(r.busy), "MiB"), atMost(256))
	}
	r.report.Took = time.Since(r.report.Started)
	r.report.Others = others()
	fmt.Fprintln(out)
	return r.report, r.report.WriteTable(out)
}

// one runs a scenario, and ends the servers that it left.
func (r *run) one(s Scenario) (err error) {
	r.scenario = s.Name
	begun, from := time.Now(), len(r.report.Figures)
	err = s.run(r)
	var refused int64
	for _, p := range r.servers {
		p.kill()
		refused += p.refused.Load()
	}
	if refused > 0 {
		r.figure("creates answered 429", float64(refused), "")
	}
	for _, l := range r.loads {
		r.check(l)
	}
	if n := r.receiver.strays.Swap(0); n > 0 {
		r.fail("%d deliveries of tasks that were due tomorrow, or over", n)
	}
	r.servers, r.loads = nil, nil
	if err := errors.Join(err, r.dropUnwanted()); err != nil {
		return err
	}
	fmt.Fprintf(r.out, "%s (%s)", s.Name, time.Since(begun).Round(100*time.Millisecond))
	for i, f := range r.report.Figures[from:] {
		fmt.Fprintf(r.out, "%s %s %s", map[bool]string{true: ":", false: ","}[i == 0], f.Name, number(f.Value, f.Unit))
	}
	fmt.Fprintln(r.out)
	return r.ctx.Err()
}

// fail notes a promise that was not kept.
func (r *run) fail(format string, args ...any) {
	r.report.Failures = append(r.report.Failures, r.scenario+": "+fmt.Sprintf(format, args...))
}

// check holds a load against the promises, when all is over.
func (r *run) check(l *load) {
	if lost := int64(len(l.at)) - l.arrived.Load(); lost > 0 {
		r.fail("%d of %d tasks lost", lost, len(l.at))
	}
	if n := l.doubled.Load(); n > 0 {
		r.fail("%d deliveries more than one of a task", n)
	}
	if n := l.early.Load(); n > 0 {
		r.fail("%d deliveries before their task was due", n)
	}
}

// finish waits until a load has arrived and is recorded, so that rest tasks are
// left.
func (r *run) finish(p *process, l *load, rest int64) error {
	err := r.arrive(l)
	if err == nil {
		err = r.settled(p.awaitPending(r.ctx, rest))
	}
	return err
}

// arrive waits until a load has arrived, whatever else is pending.
func (r *run) arrive(l *load) error { return r.settled(l.await(r.ctx)) }

// settled makes a failure of the error that nothing happens any more.
func (r *run) settled(err error) error {
	if errors.Is(err, errStuck) {
		r.fail("%v", err)
		return nil
	}
	return err
}

// A used is processor time that was used so far.
type used struct{ server, database time.Duration }

func (r *run) used(p *process) used {
	cpu, _, _ := p.usage()
	return used{cpu, r.databaseCPU()}
}

// spent notes what the server used for a load, and stops it.
func (r *run) spent(p *process, before used, tasks int) error {
	now := r.used(p)
	_, _, peak := p.usage()
	if now.server > 0 {
		r.figure("server CPU a task", float64((now.server-before.server).Microseconds())/float64(tasks), "µs")
	}
	if now.database > 0 {
		r.figure("database CPU a task", float64((now.database-before.database).Microseconds())/float64(tasks), "µs")
	}
	if peak > 0 {
		r.figure("server memory, most", mib(peak), "MiB")
		r.busy = max(r.busy, peak)
	}
	return p.stop()
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }
