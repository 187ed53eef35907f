package resend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/sleep"
	"github.com/bellmanhq/bellman/store"
	"golang.org/x/time/rate"
)

const (
	saveTasks = 100         // a job is saved after this many tasks,
	saveEvery = time.Second // and at least this often while it makes progress

	// maxTogether is the largest number of tasks of a job that are resent concurrently. Their
	// changes share a commit.
	maxTogether = 32

	// recheck is the largest number of tasks that can have been resent after the last save.
	recheck = saveTasks + maxTogether

	maxTries = 3               // tries for one task if the error may be its own fault
	lastSave = 5 * time.Second // time limit for saving a job that is interrupted
)

// A runner works on one job. One goroutine owns it.
type runner struct {
	jobs *Jobs
	work *work
	id   bellman.ID
	by   bellman.By
	mode engine.ResendMode
	pace *rate.Limiter

	filter Pick

	together int       // tasks resent concurrently
	unsure   int       // this many of the next tasks may have been resent before a crash,
	since    time.Time // since then
	unsaved  int       // tasks since the last save
	saved    time.Time // time of the last save
}

func newRunner(j *Jobs, w *work, job Job, resumed time.Time) *runner {
	// A tenth of a second's worth at a time, so that a slow job is saved often.
	together := min(max(int(job.Rate/10), 1), maxTogether)
	r := &runner{
		jobs: j, work: w, id: job.ID, mode: job.Mode, filter: job.Filter, together: together,
		by:    by(&job),
		pace:  rate.NewLimiter(rate.Limit(job.Rate), together),
		saved: time.Now(),
	}
	r.by.Job = target(job.ID)
	if !resumed.IsZero() {
		r.unsure, r.since = recheck, resumed
	}
	return r
}

// run works until the job is done, or until waiting ends: with ctx, or because the job was
// cancelled.
func (r *runner) run(ctx, waiting context.Context) {
	wait := time.Second
	if r.jobs.leads != nil { // it may have been cancelled before its turn
		if err := r.save(ctx, Running); err != nil {
			r.heldUp(err)
		}
	}
	for waiting.Err() == nil {
		last, err := false, r.total(waiting)
		if err == nil {
			last, err = r.page(ctx, waiting)
		}
		if err == nil && last {
			err = r.save(ctx, Done)
		}
		switch {
		case err == nil && last:
			r.jobs.log.Info("bulk resend ended", "resend", r.id)
			return
		case err == nil:
			wait = time.Second
		case waiting.Err() == nil:
			r.heldUp(err)
			sleep.For(waiting, wait)
			wait = min(2*wait, maxBackoff)
		}
	}
	// Interrupted: the next process continues from this save. If another process leads already, it
	// has started, and its progress must not be overwritten.
	if !r.jobs.leading() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastSave)
	defer cancel()
	if err := r.save(ctx, Running); err != nil {
		r.jobs.log.Error("progress of a bulk resend is not saved; some tasks may be resent twice", "resend", r.id, "err", err)
	}
}

// total counts the tasks of a job once, before the first resend: a task that was resent may no
// longer match.
func (r *runner) total(waiting context.Context) error {
	job := r.work.now()
	if job.Total > 0 || !job.Cursor.IsZero() {
		return nil
	}
	n := int64(0)
	more, err := r.jobs.count(waiting, &job.Filter, maxCount, countTotal, func(*bellman.Task) { n++ })
	if err != nil {
		return err
	}
	r.work.mu.Lock()
	defer r.work.mu.Unlock()
	r.work.job.Total, r.work.job.More = n, more
	return nil
}

// page works on the next page of tasks, and reports whether it was the last.
func (r *runner) page(ctx, waiting context.Context) (last bool, err error) {
	job := r.work.now()
	tasks, next, err := r.jobs.store.List(waiting, job.Filter.Filter, job.Cursor, pageSize)
	if err != nil {
		return false, fmt.Errorf("list tasks to resend: %w", err)
	}
	tasks = slices.DeleteFunc(tasks, func(t *bellman.Task) bool { return !job.Filter.Takes(t) })
	for some := range slices.Chunk(tasks, r.together) {
		if !r.jobs.leading() {
			r.work.stop()
			return false, context.Canceled
		}
		r.some(ctx, waiting, some)
		if err := waiting.Err(); err != nil {
			return false, err
		}
		if r.unsaved >= saveTasks || time.Since(r.saved) >= saveEvery {
			if err := r.save(ctx, Running); err != nil {
				return false, err
			}
		}
	}
	if next.IsZero() {
		return true, nil
	}
	r.work.passed(next)
	if time.Since(r.saved) < saveEvery { // many pages may have no matching task
		return false, nil
	}
	if !r.jobs.leading() {
		r.work.stop()
		return false, context.Canceled
	}
	return false, r.save(ctx, Running)
}

// An outcome is the result for one task of a job.
type outcome struct {
	count func(*Job) // counts the task; nil: its turn has not come
	err   error
}

// some resends a few tasks concurrently, and counts them in their order.
func (r *runner) some(ctx, waiting context.Context, tasks []*bellman.Task) {
	outcomes := make([]outcome, len(tasks))
	var g sync.WaitGroup
	for i, t := range tasks {
		if r.unsure > 0 {
			if r.unsure--; r.already(t, r.since) {
				outcomes[i].count = resent
				continue
			}
		}
		if r.pace.Wait(waiting) != nil {
			break
		}
		g.Go(func() { outcomes[i] = r.one(ctx, waiting, t.ID) })
	}
	g.Wait()

	r.work.mu.Lock()
	defer r.work.mu.Unlock()
	job := &r.work.job
	for i, o := range outcomes {
		if o.count == nil {
			return // this task and those after it are left for the next process
		}
		o.count(job)
		job.Examined++
		job.Cursor = tasks[i].ID
		if o.err != nil {
			job.LastError = fmt.Sprintf("task %v: %v", tasks[i].ID, o.err)
		}
		r.unsaved++
	}
}

func resent(job *Job)  { job.Resent++ }
func skipped(job *Job) { job.Skipped++ }
func failed(job *Job)  { job.Failed++ }

// already reports whether a task was resent since a moment: it waits for a manual attempt, had one,
// or its schedule started. If the node died during a manual attempt, the attempt became one of the
// take-over. Only pending tasks have such attempts. The clock of the node that makes the attempt
// may be behind this one.
func (r *runner) already(t *bellman.Task, since time.Time) bool {
	there := since.Add(-2 * store.MaxSkew)
	switch {
	case t.State == bellman.Pending && (t.Trigger == bellman.ByHand || t.Before != nil) && !t.Updated.Before(there):
		return true
	case t.Last != nil && (t.Last.Trigger == bellman.ByHand || t.Last.Trigger == bellman.ByTakeover && t.State.Ended()) && !t.Last.Started.Before(there):
		return true
	}
	return r.mode == engine.ResendRestart && t.Attempts > 0 && !t.Began.Before(since)
}

// one resends one task, and retries as long as the failure is not the task's own.
func (r *runner) one(ctx, waiting context.Context, id bellman.ID) outcome {
	var invalid *bellman.Invalid
	var unknown time.Time // since then the task may have been resent; zero: it was not
	tries := 0
	for wait := time.Second; ; wait = min(2*wait, maxBackoff) {
		began := now()
		err := r.resend(ctx, id, unknown)
		if errors.Is(err, bellman.ErrUnknown) && unknown.IsZero() {
			unknown = began
		}
		switch {
		case err == nil:
			return outcome{count: resent}
		case errors.Is(err, bellman.ErrNotFound), errors.Is(err, bellman.ErrSuperseded):
			return outcome{count: skipped}
		case errors.As(err, &invalid):
			return outcome{count: failed, err: err}
		case ctx.Err() != nil:
			return outcome{}
		case !passes(err):
			if tries++; tries == maxTries {
				return outcome{count: failed, err: err}
			}
		}
		r.heldUp(fmt.Errorf("resend task %v: %w", id, err))
		if !sleep.For(waiting, wait) {
			return outcome{}
		}
	}
}

// resend resends a task if the job still selects it: at a low rate its page was read a while ago.
// If the task may have been resent since a moment, resend looks first.
func (r *runner) resend(ctx context.Context, id bellman.ID, unknown time.Time) error {
	if f := &r.filter; f.State != nil || f.Picky() || !unknown.IsZero() {
		t, err := r.jobs.store.Task(ctx, id)
		switch {
		case err != nil:
			return err
		case !unknown.IsZero() && r.already(t, unknown):
			return nil
		case f.State != nil && *f.State != t.State || !f.Takes(t):
			return bellman.ErrNotFound
		}
	}
	_, err := r.jobs.tasks.Resend(ctx, id, r.mode, r.by)
	return err
}

// passes reports whether an error is temporary: it concerns the engine or its store, not the task.
func passes(err error) bool {
	for _, passing := range []error{bellman.ErrOverloaded, bellman.ErrFull, bellman.ErrUnknown, bellman.ErrUnreachable, bellman.ErrFenced, bellman.ErrClosed} {
		if errors.Is(err, passing) {
			return true
		}
	}
	return false
}

// heldUp logs why the job makes no progress.
func (r *runner) heldUp(err error) {
	r.work.mu.Lock()
	r.work.job.LastError = err.Error()
	r.work.mu.Unlock()
	r.jobs.log.Warn("a bulk resend is delayed; retrying", "resend", r.id, "err", err)
}

// save stores the progress of the job with this state, unless it was cancelled.
func (r *runner) save(ctx context.Context, state State) error {
	w := r.work
	w.mu.Lock()
	defer w.mu.Unlock()
	job := w.job
	asked, err := r.jobs.askedToEnd(ctx, job.ID)
	if err != nil {
		return err
	}
	if asked && state == Running {
		state = Cancelled
	}
	if state != Running && job.State == Running {
		job.State, job.Finished = state, now()
	}
	if state == Done && job.Failed == 0 {
		job.LastError = "" // it was about a delay that is over
	}
	if job.Since = (time.Time{}); r.unsure > 0 { // tasks that are not looked at yet may have been resent before this save
		job.Since = r.since
	}
	if err := r.jobs.save(ctx, &job); err != nil {
		return err
	}
	w.job = job
	if asked && w.cancel != nil {
		w.cancel()
	}
	r.unsaved, r.saved = 0, time.Now()
	return nil
}

// stop interrupts the goroutine of a job.
func (w *work) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cancel != nil {
		w.cancel()
	}
}

// passed notes that all tasks from this id on are done.
func (w *work) passed(id bellman.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.job.Cursor = id
}
