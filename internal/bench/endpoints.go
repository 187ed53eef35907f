package bench

import (
	"time"
)

// endpoints compares the same load to one address and to many. A bare loop over the same addresses
// shows how much of the difference the machine and the receiver cause.
func (r *run) endpoints() {
	one := r.spreadOver([]string{r.url}, "one")
	urls := must(r.receiver.listen(r.sizes.addresses, false))
	many := r.spreadOver(urls, "many")
	r.figure("to one address", one, "/s")
	r.require(r.figure("to many addresses", many, "/s").against("one address", one), atLeast(0.9))
	bare := r.loop(role{PostTo: urls[0], Others: urls[1:], For: r.sizes.raw})
	r.figure("a bare loop, to many addresses", bare, "/s").against("raw", r.raw())
}

func (r *run) spreadOver(urls []string, store string) float64 {
	return r.endToEnd(store, r.sizes.spread, func(p *process, l *load) {
		plan := to(l, "")
		plan.item = func(i int) (*load, int, string) { return l, i, urls[i%len(urls)] }
		try(createInBatches(r.ctx, plan, p))
	})
}

// hanging measures the throughput of the other endpoints while a tenth of all endpoints hangs.
func (r *run) hanging() {
	bad := max(r.sizes.addresses/10, 1)
	m := mixture{must(r.receiver.listen(r.sizes.addresses-bad, false)), must(r.receiver.listen(bad, true))}
	alone, beside := r.healthy(m, "alone", false), r.healthy(m, "beside", true)
	r.figure("the others alone", alone, "/s")
	r.require(r.figure("the others beside those that hang", beside, "/s").against("alone", alone), atLeast(0.9))

	p := r.start(r.store("late"))
	good, hung, both := r.mixed(m, r.sizes.late, true)
	begin := time.Now().Add(r.sizes.ahead(r.sizes.late))
	good.dueWithin(begin, r.sizes.over)
	hung.dueWithin(begin, r.sizes.over)
	try(createInBatches(r.ctx, both, p))
	r.arrive(good)
	_, p99 := r.percentiles("the others' arrival after due", good.lateness())
	r.require(p99, atMost(5))
	if r.receiver.hung.Swap(0) == 0 {
		r.fail("no attempt reached an endpoint that hangs")
	}
}

// A mixture is a set of addresses that answer and addresses that hang.
type mixture struct{ healthy, hanging []string }

// mixed plans tasks, a multiple of ten. Every tenth goes to an address that hangs, or is left out.
func (r *run) mixed(m mixture, tasks int, withHanging bool) (good, hung *load, both plan) {
	good, hung = r.newLoad(tasks-tasks/10), newLoad(r.nextLoad(), tasks/10)
	both = plan{tasks: len(good.at), item: func(i int) (*load, int, string) {
		return good, i, m.healthy[i%len(m.healthy)]
	}}
	if withHanging {
		both.tasks = tasks
		both.item = func(i int) (*load, int, string) {
			tenth, n := i/10, i%10
			if n == 9 {
				return hung, tenth, m.hanging[tenth%len(m.hanging)]
			}
			task := tenth*9 + n
			return good, task, m.healthy[task%len(m.healthy)]
		}
	}
	return good, hung, both
}

// healthy returns how many tasks a second arrive at the healthy endpoints, from the first create to
// the last arrival.
func (r *run) healthy(m mixture, store string, withHanging bool) float64 {
	p := r.start(r.store(store))
	good, _, both := r.mixed(m, r.sizes.spread, withHanging)
	begun := time.Now()
	try(createInBatches(r.ctx, both, p))
	r.arrive(good)
	took := time.Since(begun)
	r.peak(p, "")
	p.kill() // attempts to hanging endpoints would go on for a day
	return float64(len(good.at)) / took.Seconds()
}
