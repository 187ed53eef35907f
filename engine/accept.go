package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// Add adds tasks and returns one result for each, in order. A task whose result has no error is
// durable: no crash loses it. A task whose key exists in its queue with the same content is not
// added again; its result has Existing set.
//
// Add fills in the added tasks: id, status, and the rules of their queues where a field is empty.
// All other tasks stay unchanged, so a caller that does not know the outcome adds the same task
// again; with a Key it is added once. A task that was filled in has other content: to add it again,
// begin with a new Task. Do not modify the memory that added tasks refer to. A task
// with invalid fields gets an *[bellman.Invalid], and a task whose alias another task has gets
// [bellman.ErrAliasTaken] with the id of that task. Neither affects the others.
//
// Add waits until Run is running. If ctx ends before the answer, tasks may still have been added.
// While the engine is overloaded, Add returns ErrOverloaded; once it stops, ErrClosed.
func (e *Engine) Add(ctx context.Context, tasks ...*bellman.Task) []bellman.Added {
	return e.addAll(ctx, e.takesIn(ctx), tasks)
}

// addAll adds tasks. If refused is not nil, every task gets that error.
func (e *Engine) addAll(ctx context.Context, refused error, tasks []*bellman.Task) []bellman.Added {
	results := make([]bellman.Added, len(tasks))
	if refused != nil {
		for i := range results {
			results[i].Err = refused
		}
		return results
	}
	e.follows(ctx, tasks)
	adds := make([]store.Add, 0, len(tasks))
	at := make([]int, 0, len(tasks)) // adds[i] is tasks[at[i]]
	now := e.clock.Now()
	for i, t := range tasks {
		add, err := e.rules.accept(t, now)
		if err != nil {
			results[i].Err = err
			continue
		}
		adds = append(adds, add)
		at = append(at, i)
		results[i].ID = add.Task.ID
	}
	err := e.add(ctx, adds)
	for i, j := range at {
		if err != nil { // adds are not read here: the committer may still write them
			results[j].Err = err
			continue
		}
		switch a := &adds[i]; {
		case a.Err != nil:
			results[j].ID, results[j].Err = a.Existing, a.Err
		case !a.Existing.IsZero():
			results[j].ID, results[j].Existing = a.Existing, true
		default:
			*tasks[j] = *a.Task
		}
	}
	if e.options.Tracer != nil {
		e.options.Tracer.Added(ctx, tasks, results)
	}
	return results
}

// add commits the tasks of one request. If it returns nil, Err and Existing of each are set.
func (e *Engine) add(ctx context.Context, adds []store.Add) error {
	if len(adds) == 0 {
		return nil
	}
	return e.committer.do(ctx, &op{adds: adds})
}

// Check validates a task as Add does, without adding or changing it. It does not see what only the
// store knows, such as an existing key.
func (e *Engine) Check(t *bellman.Task) error {
	_, err := e.rules.accept(t, e.clock.Now())
	return err
}

// takesIn returns nil if new tasks are accepted now, otherwise the reason.
func (e *Engine) takesIn(ctx context.Context) error {
	if err := e.life.running(ctx); err != nil {
		return err
	}
	if e.intake.overloaded.Load() {
		return bellman.ErrOverloaded
	}
	return nil
}

// Prepare validates tasks as Add does and returns what a store's AddTx needs to write them in the
// caller's own transaction. Each store.Add holds a complete copy; the given task gets only its id
// and status, so that it can be prepared again if the transaction is retried. An invalid task
// has Err set in its store.Add. Prepare writes nothing, does not wait, and does not return
// ErrOverloaded.
func (e *Engine) Prepare(tasks ...*bellman.Task) []store.Add {
	return e.rules.prepare(tasks, e.clock.Now())
}

// AddWith adds tasks and writes documents in one transaction: all or nothing. It does not return
// ErrOverloaded. A task whose key or alias exists counts as added. The error is an
// *[bellman.Invalid] of the first invalid task, ErrConflict if a document no longer has the value
// in its Was, or the store's error. After ErrUnknown the transaction may have been committed.
func (e *Engine) AddWith(ctx context.Context, docs []store.Doc, tasks ...*bellman.Task) error {
	if err := e.life.running(ctx); err != nil {
		return err
	}
	now := e.clock.Now()
	adds := make([]store.Add, len(tasks))
	for i, t := range tasks {
		add, err := e.rules.accept(t, now)
		if err != nil {
			return err
		}
		adds[i] = add
	}
	// This bypasses the lanes: in a group, an outdated document would fail the requests of others.
	b := batch{Batch: store.Batch{Adds: adds, Docs: docs}, since: e.agenda.follow()}
	defer e.agenda.unfollow(b.since)
	if err := e.store.Commit(ctx, &b.Batch); err != nil {
		if errors.Is(err, bellman.ErrUnknown) {
			e.committer.readAgainFrom(unsure([]*op{{adds: adds}}))
		}
		return fmt.Errorf("add tasks with documents: %w", err)
	}
	e.committer.committed(&b, []*op{{adds: adds}})
	for i := range adds {
		if errors.Is(adds[i].Err, bellman.ErrFull) {
			return fmt.Errorf("add tasks with documents: %w", adds[i].Err)
		}
	}
	return nil
}

// Committed tells all engines that the caller's transaction with the tasks of AddTx is committed.
// The call is optional: without it the tasks are attempted up to a second late, or up to a minute if
// they were due more than 30 s before the commit.
func (e *Engine) Committed(tasks ...*bellman.Task) {
	var own Hint
	others := make(map[uint16]*stretch)
	for _, t := range tasks {
		if t == nil {
			continue
		}
		st := t.Status
		if n := e.leases.Count(); n > 0 { // as AddTx does: Rules.Prepare does not know the number of shards
			st.Shard = uint16(int(st.Shard) % n)
		}
		if e.agenda.owns(st.Shard) {
			visibleAt := st.VisibleAt.UnixMilli()
			own = own.Join(Hint{Added: []uint16{st.Shard}, Since: visibleAt, Until: visibleAt})
		}
		e.committer.note(others, &st)
	}
	if len(own.Added) > 0 {
		e.Hinted(own)
	}
	e.committer.tellOwners(others)
}

// follows gives tasks without a trace the trace of ctx. Without a tracer it does nothing.
func (e *Engine) follows(ctx context.Context, tasks []*bellman.Task) {
	if e.options.Tracer == nil {
		return
	}
	trace := e.options.Tracer.Trace(ctx)
	for _, t := range tasks {
		if t != nil {
			t.SetTrace(cmp.Or(t.Trace(), trace))
		}
	}
}

// Take is Add for tasks from a source that keeps them until they are stored, such as a broker: it
// does not return ErrOverloaded. Check Intake before reading from the source, and read nothing
// while it is closed.
func (e *Engine) Take(ctx context.Context, tasks ...*bellman.Task) []bellman.Added {
	return e.addAll(ctx, e.life.running(ctx), tasks)
}
