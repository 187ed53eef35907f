package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// Sizes of reads and writes.
const (
	page       = 500     // tasks or documents in one read
	writers    = 4       // concurrent commits
	readers    = 8       // concurrent reads of attempt logs
	batchBytes = 4 << 20 // bytes of contents in a commit
	batchSteps = 1000    // changes in a commit
)

// pass compares both stores and writes what the target lacks. It reports whether there was nothing
// to write. If fenced, nobody else writes to the source, so a difference that cannot be explained
// is an error; otherwise it is left for a later pass.
func (r *run) pass(ctx context.Context, phase string, fenced bool) (same bool, err error) {
	total := int64(0)
	depths, err := r.From.Depths(ctx)
	if err != nil {
		return false, err
	}
	for _, d := range depths {
		total += d.Pending + d.Succeeded + d.Failed + d.Cancelled
	}
	wrote := r.wrote
	clean, err := r.tasks(ctx, fenced, func(seen int64) {
		r.Report(Progress{Phase: phase, Seen: seen, Total: max(total, seen), Wrote: r.wrote})
	})
	if err != nil {
		return false, err
	}
	beside, err := r.beside(ctx)
	return clean && wrote == r.wrote && beside == 0, err
}

// tasks updates the target's tasks. clean means that none was left for another pass.
func (r *run) tasks(ctx context.Context, fenced bool, tell func(seen int64)) (clean bool, err error) {
	source, target := &tasks{s: r.From}, &tasks{s: r.To}
	var wrote, left atomic.Int64
	written := r.wrote
	g, writing := errgroup.WithContext(ctx)
	g.SetLimit(writers)
	seen := int64(0)
	for writing.Err() == nil {
		part, err := source.page(writing)
		if err != nil {
			return false, cmp.Or(g.Wait(), err) // a failed write ends the reading too
		}
		if len(part) == 0 {
			break
		}
		have, err := target.down(writing, part[len(part)-1].ID)
		if err == nil && fenced {
			err = r.dropGone(writing, part, maps.Values(have), &left)
		}
		if err != nil {
			return false, cmp.Or(g.Wait(), err) // a failed write ends the reading too
		}
		seen += int64(len(part))
		g.Go(func() error {
			units, odd, err := r.units(writing, part, have, fenced)
			if err != nil {
				return err
			}
			again, err := r.write(writing, units)
			wrote.Add(int64(len(units)))
			left.Add(int64(odd + again))
			return err
		})
		r.wrote = written + wrote.Load()
		tell(seen)
	}
	for fenced && writing.Err() == nil { // what is older than everything in the source
		rest, err := target.page(writing)
		if err == nil {
			err = r.dropGone(writing, nil, slices.Values(rest), &left)
		}
		if err != nil {
			return false, cmp.Or(g.Wait(), err)
		}
		if len(rest) == 0 {
			break
		}
	}
	err = g.Wait()
	r.wrote = written + wrote.Load()
	tell(seen)
	return left.Load() == 0, err
}

// digestsOf returns the digests of tasks; zero for tasks without a key, and for deleted tasks.
func digestsOf(ctx context.Context, s store.Finder, tasks []*bellman.Task) ([]bellman.Digest, error) {
	keys, digests := make([]store.Key, len(tasks)), make([]bellman.Digest, len(tasks))
	for i, t := range tasks {
		keys[i] = store.Key{Queue: t.Queue, Key: t.Key}
	}
	found, err := s.Find(ctx, keys)
	for i := range found {
		if found[i].ID == tasks[i].ID {
			digests[i] = found[i].Digest
		}
	}
	return digests, err
}

// tasks iterates over all tasks of a store, the newest first.
type tasks struct {
	s      store.Pages
	before bellman.ID
	held   []*bellman.Task // tasks that were read and not yet returned
	over   bool
}

// page returns the next tasks; none at the end.
func (l *tasks) page(ctx context.Context) ([]*bellman.Task, error) {
	for len(l.held) == 0 && !l.over {
		var err error
		if l.held, l.before, err = l.s.List(ctx, store.Filter{}, l.before, page); err != nil {
			return nil, fmt.Errorf("list tasks: %w", err)
		}
		l.over = l.before.IsZero()
	}
	part := l.held
	l.held = nil
	return part, nil
}

// down returns the tasks from the present place to the one with this id, by id.
func (l *tasks) down(ctx context.Context, to bellman.ID) (map[bellman.ID]*bellman.Task, error) {
	found := map[bellman.ID]*bellman.Task{}
	for {
		part, err := l.page(ctx)
		if err != nil || len(part) == 0 {
			return found, err
		}
		for i, t := range part {
			if t.ID.Compare(to) < 0 {
				l.held = part[i:]
				return found, nil
			}
			found[t.ID] = t
		}
	}
}

// units returns the changes that a page of the source needs in the target. odd is the number of
// tasks that must be examined again.
func (r *run) units(ctx context.Context, part []*bellman.Task, have map[bellman.ID]*bellman.Task, fenced bool) (units []unit, odd int, err error) {
	var todo []*bellman.Task
	for _, t := range part {
		switch h := have[t.ID]; {
		case h == nil || h.Version < t.Version:
			todo = append(todo, t)
		case h.Version > t.Version:
			return nil, 0, fmt.Errorf("task %s has version %d in the source and %d in the target: something else has changed it there", t.ID, t.Version, h.Version)
		case fenced:
			if what := differ(t, h); what != "" {
				return nil, 0, fmt.Errorf("task %s, version %d: %s", t.ID, t.Version, what)
			}
		}
	}
	if len(todo) == 0 {
		return nil, 0, nil
	}
	digests, err := digestsOf(ctx, r.From, todo)
	if err != nil {
		return nil, 0, fmt.Errorf("read digests: %w", err)
	}
	made, fits := make([]unit, len(todo)), make([]bool, len(todo))
	g, reading := errgroup.WithContext(ctx)
	g.SetLimit(readers)
	for i, t := range todo {
		if t.Attempts == 0 && have[t.ID] == nil {
			made[i], fits[i] = fresh(t, nil, digests[i])
			continue
		}
		g.Go(func() error {
			tries, err := logOf(reading, r.From, t)
			if err != nil {
				return fmt.Errorf("read attempts of task %s: %w", t.ID, err)
			}
			h := have[t.ID]
			if h == nil {
				made[i], fits[i] = fresh(t, tries, digests[i])
				return nil
			}
			had, err := log(reading, r.To, t.ID)
			made[i], fits[i] = further(t, h, tries, had)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, 0, err
	}
	for i, t := range todo {
		switch {
		case fits[i]:
			units = append(units, made[i])
		case fenced:
			return nil, 0, fmt.Errorf("task %s has more attempts than its version %d allows", t.ID, t.Version)
		default:
			odd++
		}
	}
	return units, odd, nil
}

// write commits units, and returns the number that must be examined again.
func (r *run) write(ctx context.Context, units []unit) (again int, err error) {
	for len(units) > 0 {
		b, n, bytes := &store.Batch{Leases: r.fence()}, 0, 0
		for n < len(units) && (n == 0 || bytes+units[n].bytes < batchBytes && len(b.Changes)+len(units[n].changes) < batchSteps) {
			if units[n].add != nil {
				b.Adds = append(b.Adds, *units[n].add)
			}
			b.Changes = append(b.Changes, units[n].changes...)
			bytes += units[n].bytes
			n++
		}
		units = units[n:]
		rest := b.Changes
		for first := true; first || len(rest) > 0; first = false {
			b.Changes = rest[:min(len(rest), batchSteps)]
			rest = rest[len(b.Changes):]
			odd, err := r.commit(ctx, b)
			if err != nil {
				return again, err
			}
			if again += odd; odd > 0 {
				break // the following changes depend on it
			}
			b.Adds = nil
		}
	}
	return again, nil
}

// commit writes one batch. The next pass finds what it could not write, or may have written.
func (r *run) commit(ctx context.Context, b *store.Batch) (odd int, err error) {
	err = r.To.Commit(ctx, b)
	if errors.Is(err, bellman.ErrUnknown) {
		return 1, nil
	}
	if err != nil {
		return 0, fmt.Errorf("write to the target: %w", err)
	}
	for i := range b.Adds {
		a := &b.Adds[i]
		switch {
		case !a.Existing.IsZero() && a.Existing != a.Task.ID:
			if err := r.stale(ctx, a.Existing); err != nil {
				what, name := "key", a.Task.Key
				if errors.Is(a.Err, bellman.ErrAliasTaken) {
					what, name = "alias", a.Task.Alias()
				}
				return odd, fmt.Errorf("add task %s, whose %s %q another task has in the target: %w", a.Task.ID, what, name, err)
			}
			odd++
		case a.Err != nil:
			return odd, fmt.Errorf("add task %s: %w", a.Task.ID, a.Err)
		}
	}
	for i := range b.Changes {
		switch err := b.Changes[i].Err; {
		case errors.Is(err, bellman.ErrConflict), errors.Is(err, bellman.ErrNotFound):
			odd++ // an earlier commit with an unknown outcome succeeded, or the task was not added
		case err != nil:
			return odd, fmt.Errorf("change task %s: %w", b.Changes[i].ID, err)
		}
	}
	return odd, nil
}

// stale deletes a task from the target that the source's retention has deleted since it was copied,
// because its key or alias is in use again. Tasks of the same state that finished earlier are
// deleted too; they are copied again if the source still has them.
func (r *run) stale(ctx context.Context, id bellman.ID) error {
	if _, err := r.From.Task(ctx, id); !errors.Is(err, bellman.ErrNotFound) {
		return errors.Join(errors.New("the source has both"), err)
	}
	t, err := r.To.Task(ctx, id)
	if errors.Is(err, bellman.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if !t.State.Ended() {
		return r.drop(ctx, t)
	}
	for {
		n, err := r.To.Prune(ctx, t.State, t.Finished.Add(1e6), page)
		if err != nil || n < page {
			return err
		}
	}
}

// dropGone ends what waits in the target and not in the source any more: it has ended there, and
// retention has deleted it since it was copied. have are the target's tasks in the range of part.
func (r *run) dropGone(ctx context.Context, part []*bellman.Task, have iter.Seq[*bellman.Task], dropped *atomic.Int64) error {
	there := make(map[bellman.ID]bool, len(part))
	for _, t := range part {
		there[t.ID] = true
	}
	for t := range have {
		if there[t.ID] || t.State.Ended() {
			continue
		}
		if err := r.drop(ctx, t); err != nil {
			return fmt.Errorf("end task %s, which the source has no more: %w", t.ID, err)
		}
		dropped.Add(1)
	}
	return nil
}

// drop ends a pending task of the target that has ended in the source, so that the next pass can
// delete it.
func (r *run) drop(ctx context.Context, t *bellman.Task) error {
	to := t.Status
	to.State, to.Before, to.Due, to.VisibleAt, to.Finished = bellman.Cancelled, nil, to.Began, to.Began, t.Created()
	_, err := r.commit(ctx, &store.Batch{Leases: r.fence(), Changes: []store.Change{{ID: t.ID, Version: t.Version, To: to, Ordering: t.Ordering()}}})
	return err
}
