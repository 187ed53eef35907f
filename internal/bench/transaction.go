package bench

import (
	"slices"
	"time"
)

// idleTransaction: another session leaves a transaction open in the store's database, as a
// forgotten console does. Until it ends, the database keeps every row that the transaction may see,
// so what reads old rows becomes slower and slower.
func (r *run) idleTransaction() {
	store := r.store("")
	p := r.startWith(store, "retention: {succeeded: 1m}")
	r.warm(p, 0)
	t := &underTransaction{r: r, p: p, store: store}
	t.measure(r.sizes.held / 6)
	without := len(t.rates)
	end := must(r.made[store].Hold(r.ctx))
	t.measure(r.sizes.held)
	try(end())
	t.report("created in batches, delivered and recorded", "/s", t.rates, without, inPostgres(atLeast(0.95)))
	t.report("arrival after due, p99", "ms", t.late, without, inPostgres(atMost(10)))
	t.report("server CPU a task", "µs", t.server, without)
	t.report("database CPU a task", "µs", t.database, without)
	t.report("disk", "MiB", t.disk, without)
	try(p.stop())
}

// underTransaction has the figures of each round, first without the transaction.
type underTransaction struct {
	r     *run
	p     *process
	store string

	rates, late, server, database, disk []float64
	took                                time.Duration
}

// measure measures rounds for a time, at least two: throughput in batches, then lateness.
func (t *underTransaction) measure(length time.Duration) {
	until := time.Now().Add(length)
	for i := 0; i < 2 || time.Now().Before(until); i++ {
		begun, before := time.Now(), t.r.used(t.p)
		t.rates = append(t.rates, t.r.timed(t.p, t.r.sizes.batches, 0, func(l *load) {
			try(createInBatches(t.r.ctx, to(l, t.r.url), t.p))
		}))
		now, tasks := t.r.used(t.p), float64(t.r.sizes.batches)
		t.server = append(t.server, float64((now.server-before.server).Microseconds())/tasks)
		t.database = append(t.database, float64((now.database-before.database).Microseconds())/tasks)
		t.late = append(t.late, t.r.arrivals(t.p, 0).ms(99))
		t.disk = append(t.disk, mib(t.r.diskOf(t.store)))
		t.took += time.Since(begun)
	}
}

// report compares the last sixth of the rounds beside the transaction with those before it. A
// series of zeros is unknown, and left out.
func (t *underTransaction) report(name, unit string, values []float64, without int, goals ...goal) {
	if slices.Max(values) == 0 {
		return
	}
	beside := values[without:]
	f := t.r.figure(name+", last sixth beside the transaction", mean(beside[len(beside)-max(len(beside)/6, 1):]), unit)
	f.against("without", mean(values[:without]))
	f.Series = &Series{Name: name, EverySeconds: (t.took / time.Duration(len(values))).Seconds(), Values: values}
	t.r.require(f, goals...)
}
