package bench

import (
	"time"
)

// endpoints: the same load to one address and to many.
func (r *run) endpoints() error {
	urls, err := r.receiver.listen(r.sizes.addresses, false)
	if err != nil {
		return err
	}
	one, err := r.spreadOver([]string{r.url}, "one")
	if err != nil {
		return err
	}
	many, err := r.spreadOver(urls, "many")
	if err != nil {
		return err
	}
	r.figure("to one address", one, "/s")
	r.must(r.figure("to many addresses", many, "/s").against("one address", one), atLeast(0.8))
	return nil
}

func (r *run) spreadOver(urls []string, store string) (float64, error) {
	return r.endToEnd(r.sizes.spread, store, func(p *process, l *load) error {
		plan := to(l, "")
		plan.item = func(i int) (*load, int, string) { return l, i, urls[i%len(urls)] }
		return p.createInBatches(r.ctx, plan)
	})
}

// hanging: what the other endpoints get when a tenth of all hangs.
func (r *run) hanging() error {
	bad := max(r.sizes.addresses/10, 1)
	m := mixture{}
	var err error
	if m.healthy, err = r.receiver.listen(r.sizes.addresses-bad, false); err != nil {
		return err
	}
	if m.hanging, err = r.receiver.listen(bad, true); err != nil {
		return err
	}
	tasks := r.sizes.spread
	alone, err := r.throughput(m, tasks, false)
	if err != nil {
		return err
	}
	beside, err := r.throughput(m, tasks, true)
	if err != nil {
		return err
	}
	r.figure("the others alone", alone, "/s")
	r.must(r.figure("the others beside those that hang", beside, "/s").against("alone", alone), atLeast(0.9))

	p, err := r.start(r.store("late"))
	if err != nil {
		return err
	}
	good, hung, both := r.mixed(m, r.sizes.late, true)
	begin := time.Now().Add(r.sizes.ahead(r.sizes.late))
	good.dueWithin(begin, r.sizes.over)
	hung.dueWithin(begin, r.sizes.over)
	if err := p.createInBatches(r.ctx, both); err != nil {
		return err
	}
	if err := r.arrive(good); err != nil {
		return err
	}
	_, p99, _ := r.percentiles("the others' arrival after due", good.lateness())
	r.must(p99, atMost(5))
	if r.receiver.hung.Swap(0) == 0 {
		r.fail("no attempt reached an endpoint that hangs")
	}
	return nil
}

// A mixture is some addresses that answer and some that hang.
type mixture struct{ healthy, hanging []string }

// mixed plans tasks, a multiple of ten, of which every tenth goes to an address
// that hangs, or is left out.
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

// throughput is what the healthy endpoints get, from the first create to the
// last arrival.
func (r *run) throughput(m mixture, tasks int, withHanging bool) (float64, error) {
	store := "alone"
	if withHanging {
		store = "beside"
	}
	p, err := r.start(r.store(store))
	if err != nil {
		return 0, err
	}
	good, _, both := r.mixed(m, tasks, withHanging)
	begun := time.Now()
	if err := p.createInBatches(r.ctx, both); err != nil {
		return 0, err
	}
	if err := r.arrive(good); err != nil {
		return 0, err
	}
	took := time.Since(begun)
	if _, _, peak := p.usage(); peak > 0 {
		r.busy = max(r.busy, peak)
	}
	p.kill() // what hangs is tried for a day
	return float64(len(good.at)) / took.Seconds(), nil
}
