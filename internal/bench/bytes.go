package bench

import "fmt"

// bytes: what one task takes in the store while it waits, and what it leaves when
// it was delivered at its first attempt. A new and empty store is taken off; what
// the store has not given back yet by then, such as old rows, counts.
func (r *run) bytes() error {
	tasks := max(r.sizes.waiting/4, 1)
	for _, s := range []struct {
		name string
		put  func(*process) error
	}{
		{"waiting", func(p *process) error {
			if err := p.createInBatches(r.ctx, r.never(tasks)); err != nil {
				return err
			}
			return r.kept(p, int64(tasks))
		}},
		{"delivered", func(p *process) error {
			l := r.newLoad(tasks)
			if err := p.createInBatches(r.ctx, to(l, r.url)); err != nil {
				return err
			}
			return r.finish(p, l, 0)
		}},
	} {
		store := r.store(s.name)
		p, err := r.start(store)
		if err != nil {
			return err
		}
		if err := p.stop(); err != nil {
			return err
		}
		empty, err := r.diskOf(store)
		if err != nil {
			return err
		}
		if p, err = r.start(store); err != nil {
			return err
		}
		if err := s.put(p); err != nil {
			return err
		}
		if err := p.stop(); err != nil {
			return err
		}
		full, err := r.diskOf(store)
		if err != nil {
			return err
		}
		if full <= empty {
			return fmt.Errorf("the store has %d bytes with %d tasks, and had %d without", full, tasks, empty)
		}
		r.figure("a "+s.name+" task", float64(full-empty)/float64(tasks), "B")
	}
	return nil
}
