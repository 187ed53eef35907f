package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/bellmanhq/bellman/internal/bench/scratch"
)

// A run is the state of one call of Run.
type run struct {
	ctx   context.Context
	o     Options
	sizes sizes
	out   io.Writer

	dir    string                       // of embedded stores; removed at the end
	server *scratch.Server              // database server in which stores are created; nil: the embedded store
	made   map[string]*scratch.Database // by their URLs

	databasePid int // 0: not on this machine
	receiver    *receiver
	url         string // of the receiver
	report      Report
	lastLoad    int

	scenario string
	servers  []*process // of the scenario
	loads    []*load    // of the scenario
	rawAt    time.Time  // when raw was measured last
	busy     int64      // most memory of any server, in bytes
	env      string     // a variable for the servers that are started, as NAME=VALUE; empty: none
	waiting  string     // the store with many tasks due tomorrow; empty: not made yet
	stored   int        // tasks in that store
}

// Run measures, prints progress and a table to out, and returns the report. If an error ends the
// run, the report has the figures so far. Broken promises are not errors: see [Report.Failures].
func Run(ctx context.Context, o Options, out io.Writer) (Report, error) {
	s := full
	if o.Quick {
		s = quick
	}
	return runSized(ctx, o, s, out)
}

func runSized(ctx context.Context, o Options, s sizes, out io.Writer) (_ Report, err error) {
	scenarios, err := o.choose()
	if err != nil {
		return Report{}, err
	}
	r := &run{ctx: ctx, o: o, sizes: s, out: out}
	r.report = Report{Machine: machine(), Command: o.Command, Started: time.Now().UTC(), Quick: s != full, Figures: []*Figure{}, Failures: []string{}}
	if r.dir, err = os.MkdirTemp(o.Dir, "bellman-bench-"); err != nil {
		return r.report, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.dir)) }()
	if o.Store != "" {
		if err := r.connect(); err != nil {
			return r.report, err
		}
		defer func() { err = errors.Join(err, r.drop(true), r.server.Close()) }()
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
		r.require(r.figure("server memory, most of all", mib(r.busy), "MiB"), mostMemory())
	}
	r.report.Took = time.Since(r.report.Started)
	r.report.Others = others()
	fmt.Fprintln(out)
	return r.report, r.report.WriteTable(out)
}

// stopped is the panic by which [try] and [must] end a scenario, as t.Fatal ends a test.
// [run.attempt] returns the error. Only the scenario's own goroutine may call them.
type stopped struct{ err error }

// try ends the scenario if there is an error.
func try(err error) {
	if err != nil {
		panic(stopped{err})
	}
}

// must returns v, or ends the scenario if there is an error.
func must[T any](v T, err error) T {
	try(err)
	return v
}

// attempt runs a scenario and returns the error that ended it.
func (r *run) attempt(s Scenario) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s, is := p.(stopped)
			if !is {
				panic(p)
			}
			err = s.err
		}
	}()
	s.run(r)
	return nil
}

// one runs a scenario, ends its servers, and prints its figures.
func (r *run) one(s Scenario) error {
	r.scenario = s.Name
	begun, from := time.Now(), len(r.report.Figures)
	err := r.attempt(s)
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
	if err := errors.Join(err, r.drop(false)); err != nil {
		return err
	}
	fmt.Fprintf(r.out, "%s (%s)", s.Name, time.Since(begun).Round(100*time.Millisecond))
	for i, f := range r.report.Figures[from:] {
		fmt.Fprintf(r.out, "%s %s %s", map[bool]string{true: ":", false: ","}[i == 0], f.Name, number(f.Value, f.Unit))
	}
	fmt.Fprintln(r.out)
	return r.ctx.Err()
}

// fail reports a broken promise.
func (r *run) fail(format string, args ...any) {
	r.report.Failures = append(r.report.Failures, r.scenario+": "+fmt.Sprintf(format, args...))
}

// failAny reports a broken promise for each count that is not zero.
func (r *run) failAny(counts ...count) {
	for _, c := range counts {
		if c.n > 0 {
			r.fail(c.format, c.n)
		}
	}
}

// A count is how often a promise was broken, and a format that says which.
type count struct {
	n      int64
	format string
}

// check compares the arrivals of a load with bellman's promises, at the end of a scenario.
func (r *run) check(l *load) {
	if lost := int64(len(l.at)) - l.arrived.Load(); lost > 0 {
		r.fail("%d of %d tasks lost", lost, len(l.at))
	}
	r.failAny(count{l.doubled.Load(), "%d deliveries more than one of a task"},
		count{l.early.Load(), "%d deliveries before their task was due"})
}

// finish waits until a load has arrived and is recorded; rest other tasks stay pending.
func (r *run) finish(p *process, l *load, rest int64) {
	r.arrive(l)
	r.settle(p.awaitPending(r.ctx, rest))
}

// arrive waits until a load has arrived, whatever else is pending.
func (r *run) arrive(l *load) { r.settle(l.await(r.ctx)) }

// settle reports errStuck as a broken promise. Any other error ends the scenario.
func (r *run) settle(err error) {
	if errors.Is(err, errStuck) {
		r.fail("%v", err)
		return
	}
	try(err)
}

// A used is the processor time used so far.
type used struct{ server, database time.Duration }

func (r *run) used(p *process) used {
	cpu, _, _ := p.usage()
	return used{cpu, r.databaseCPU()}
}

// spent reports what a server used for a load, and stops it.
func (r *run) spent(p *process, before used, tasks int) {
	now := r.used(p)
	r.cost("server CPU a task", now.server-before.server, tasks)
	r.cost("database CPU a task", now.database-before.database, tasks)
	r.peak(p, "server memory, most")
	try(p.stop())
}

// cost reports the processor time for each of n, unless it is unknown.
func (r *run) cost(name string, spent time.Duration, n int) {
	if spent > 0 && n > 0 {
		r.figure(name, float64(spent.Microseconds())/float64(n), "µs")
	}
}

// peak reports the most memory of a server. Without a name it counts only for the figure of all
// scenarios.
func (r *run) peak(p *process, name string, goals ...goal) {
	_, _, peak := p.usage()
	if peak > 0 && name != "" {
		r.require(r.figure(name, mib(peak), "MiB"), goals...)
	}
	r.busy = max(r.busy, peak)
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
