package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// Add hands tasks in and says what became of each, in order. A task without an
// error is durable when Add returns: no crash loses it. A task whose key exists
// in its queue with the same content is not added again (Existing).
//
// Add fills in the tasks that it adds: id, status, and the rules of their queues where
// they say nothing. The others stay as they were given, so that whoever does not know
// whether a task was added hands the same one in again: with a Key it is added once. Do
// not change what tasks refer to afterwards. Tasks with wrong fields get an
// *[bellman.Invalid] and leave the others alone. Add waits until Run runs;
// when ctx ends before the answer, tasks may have been added all the same.
func (e *Engine) Add(ctx context.Context, tasks ...*bellman.Task) []bellman.Added {
	return e.addAll(ctx, e.takesIn(ctx), tasks)
}

// addAll adds tasks, unless nothing may be added, which refused says.
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
	now := e.clock.now()
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
		if err != nil { // adds may not be done with
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

// add commits the tasks of one request; their Err and Existing are set when it
// returns nil.
func (e *Engine) add(ctx context.Context, adds []store.Add) error {
	if len(adds) == 0 {
		return nil
	}
	return e.committer.do(ctx, &op{adds: adds})
}

// Check says what is wrong with a task, as Add would, without adding it. It
// leaves the task as it is. It does not see what only the store knows, such as
// a key that exists.
func (e *Engine) Check(t *bellman.Task) error {
	_, err := e.rules.accept(t, e.clock.now())
	return err
}

// takesIn returns why nothing is taken in now, or nil.
func (e *Engine) takesIn(ctx context.Context) error {
	if err := e.life.running(ctx); err != nil {
		return err
	}
	if e.intake.overloaded.Load() {
		return bellman.ErrOverloaded
	}
	return nil
}

// roundUp returns the first whole millisecond not before t: due times are kept
// in milliseconds, and cutting one would make it early.
func roundUp(t time.Time) time.Time {
	cut := t.Truncate(time.Millisecond)
	if cut.Before(t) {
		cut = cut.Add(time.Millisecond)
	}
	return cut
}

// Prepare checks tasks as Add does, but leaves it to the caller to add them: to a
// store's AddTx, which writes them in a transaction of the caller's. An Add has a copy
// that is filled in; what was given gets its id and status and stays as it was else, to be
// prepared again when the transaction is run again. An Add whose Err is set is of a task
// that is wrong. Prepare adds nothing, waits for nothing, and refuses nothing for being
// overloaded.
func (e *Engine) Prepare(tasks ...*bellman.Task) []store.Add {
	return e.rules.prepare(tasks, e.clock.now())
}

// AddWith adds tasks and writes documents in one transaction of their own: all of it,
// or nothing. It is not refused for being overloaded. A task whose key is there
// already counts as added. The error is an *[bellman.Invalid] of the first task that
// is wrong, ErrConflict if a document is no longer what its Was says, or the store's;
// after ErrUnknown all of it may be written, or nothing.
func (e *Engine) AddWith(ctx context.Context, docs []store.Doc, tasks ...*bellman.Task) error {
	if err := e.life.running(ctx); err != nil {
		return err
	}
	now := e.clock.now()
	adds := make([]store.Add, len(tasks))
	for i, t := range tasks {
		add, err := e.rules.accept(t, now)
		if err != nil {
			return err
		}
		adds[i] = add
	}
	// Not through a lane, where a document that is another by now would fail what
	// others asked for in the same transaction.
	b := batch{Batch: store.Batch{Adds: adds, Docs: docs}, since: e.agenda.follow()}
	defer e.agenda.unfollow(b.since)
	if err := e.store.Commit(ctx, &b.Batch); err != nil {
		if errors.Is(err, bellman.ErrUnknown) {
			e.committer.lookFor(unsure([]*op{{adds: adds}}))
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

// Committed tells the engine, and those of other nodes, that tasks which a store's
// AddTx added are committed now. It need not be called: without it the tasks are attempted up to
// a second late.
func (e *Engine) Committed(tasks ...*bellman.Task) {
	var own Hint
	others := make(map[uint16]stretch)
	e.agenda.mu.Lock()
	for _, t := range tasks {
		if e.agenda.owns(t.Shard) {
			look := t.VisibleAt.UnixMilli()
			own = own.Join(Hint{Added: []uint16{t.Shard}, Since: look, Until: look})
		}
		e.committer.note(others, &t.Status)
	}
	e.agenda.mu.Unlock()
	if len(own.Added) > 0 {
		e.Hinted(own)
	}
	e.committer.tellOwners(others)
}
