package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/clock"
	"github.com/bellmanhq/bellman/internal/sleep"
	"github.com/bellmanhq/bellman/schedule"
	"github.com/bellmanhq/bellman/store"
)

// A recorder derives the new status of a task from an attempt and commits it.
type recorder struct {
	store     store.Store
	log       *slog.Logger
	clock     *clock.Clock
	rules     *Rules
	agenda    *agenda
	committer *committer
	attempts  context.Context // ends when all attempts must end
	patience  context.Context // ends when a stop gives up waiting for the store
}

// record puts the outcome of an attempt into the lane of outcomes. It blocks only while the lane is
// far behind.
func (r *recorder) record(f *flight) {
	f.attempt.Result, f.attempt.Status = f.verdict.Result, f.verdict.Status
	f.attempt.Response, f.attempt.Header, f.attempt.Error = f.verdict.Response, f.verdict.Header, f.verdict.Error
	f.attempt.Action, f.attempt.Reading, f.attempt.Timing = f.verdict.Action, f.verdict.Reading, f.verdict.Timing
	var err error
	f.follow, err = r.follow(r.patience, f.task, f.verdict.Follow, &f.attempt, f.trace)
	f.change = store.Change{
		ID:      f.task.ID,
		Version: f.task.Version,
		To:      advance(f.task, &f.attempt, &f.verdict, r.scheduleOf(f), rand.Float64()),
		Attempt: &f.attempt,
		Follow:  f.follow,
		Of:      f.task,
	}
	if err == nil {
		err = r.onEnd(r.patience, &f.change, f.task, &f.attempt, f.trace)
	}
	f.endSpan()
	r.keep(f, err)
}

// keep commits the outcome of an attempt, unless its follow-up tasks could not be checked.
func (r *recorder) keep(f *flight, err error) {
	if err != nil {
		r.log.Error("an attempt cannot be recorded", "task", f.task.ID, traceID(f.task), "attempt", f.attempt.Number, "err", err)
		r.committer.giveUp(f)
		return
	}
	r.committer.keep(f)
}

// scheduleOf returns the schedule of a task or its merchant. If the merchant's cannot be parsed,
// the task's counts, which was valid when the task was accepted. If that cannot be parsed any more,
// the verdict gives up.
func (r *recorder) scheduleOf(f *flight) *schedule.Schedule {
	text := f.route.ScheduleOf(f.task)
	s, err := r.rules.schedules.Parse(text)
	if err != nil && text != f.task.Schedule {
		r.log.Warn("the rules of a task's merchant cannot be read", "queue", f.task.Queue, "merchant_no", f.task.MerchantNo, "err", err)
		s, err = r.rules.schedules.Parse(f.task.Schedule)
	}
	if err != nil {
		r.log.Error("schedule of a task cannot be read", "task", f.task.ID, traceID(f.task), "err", err)
		if f.verdict.Next == bellman.Again && f.verdict.Due.IsZero() {
			f.verdict.Next = bellman.GiveUp
		}
	}
	return s
}

// recordInterrupted records an attempt that a stop interrupted; whether it arrived is unknown. The
// attempt is repeated with the next number, and its place in the schedule is not used up.
func (r *recorder) recordInterrupted(f *flight) {
	f.cut = true
	f.attempt.Result = bellman.Unknown
	f.attempt.Error = "cut off when the node stopped; made again after its start"
	to := f.task.Status
	to.Attempts, to.Phase = int32(f.attempt.Number), bellman.Waiting
	to.Updated = roundUp(f.attempt.Started.Add(f.attempt.Took))
	f.change = store.Change{ID: f.task.ID, Version: f.task.Version, To: to, Attempt: &f.attempt, Of: f.task}
	f.endSpan()
	r.committer.keep(f)
}

// follow prepares the follow-up tasks of a verdict. They inherit the trace under, or the task's,
// and the name of the key that created the task. An invalid follow-up is left out and reported in
// the log, the gauges, and the attempt's record; the verdict stands. While a check cannot read the
// store, follow waits, until ctx ends. After an error nothing may be recorded: the follow-up tasks
// would be lost. If a check times out although the store answers, something else does not answer
// it: follow waits for ownOutage, and then treats the task as invalid.
func (r *recorder) follow(ctx context.Context, t *bellman.Task, tasks []bellman.Task, a *bellman.Attempt, under *bellman.Trace) ([]store.Add, error) {
	if len(tasks) == 0 {
		return nil, nil
	}
	adds := make([]store.Add, 0, len(tasks))
	tasks = slices.Clone(tasks) // the handler may return the same for each task
	for i := range tasks {
		tasks[i].SetTrace(cmp.Or(tasks[i].Trace(), under, t.Trace()))
		tasks[i].SetCreatedBy(cmp.Or(tasks[i].CreatedBy(), t.CreatedBy()))
		var add store.Add
		var err error
		said := false
		var answers time.Time // since when the store has answered although the check timed out; zero: it does not
		known := sleep.Retry(ctx, func() bool {
			add, err = r.rules.acceptAs(tasks[i].Status, &tasks[i], r.clock.Now())
			if unanswered(err) && !said {
				said = true
				r.log.Warn("a follow-up task waits: its check cannot read the store", "task", t.ID, traceID(t), "queue", tasks[i].Queue, "key", tasks[i].Key, "err", err)
			}
			switch {
			case !unanswered(err):
				return true
			case errors.Is(err, bellman.ErrUnreachable) || !r.storeAnswers(ctx, t.ID):
				answers = time.Time{}
			case answers.IsZero():
				answers = time.Now()
			}
			return !answers.IsZero() && time.Since(answers) > ownOutage
		})
		if !known {
			return nil, fmt.Errorf("add a follow-up task of queue %s: %w", tasks[i].Queue, err)
		}
		if err != nil {
			r.log.Error("follow-up task cannot be added", "task", t.ID, traceID(t), "queue", tasks[i].Queue, "key", tasks[i].Key, "err", err)
			r.leftOut(t, tasks[i].Queue, a, fmt.Sprintf("follow-up task for queue %s was not added: %v", tasks[i].Queue, err))
			continue
		}
		adds = append(adds, add)
	}
	return adds, nil
}

// ownOutage is how long a check that times out is repeated while the store answers. It is longer
// than any attempt.
const ownOutage = 2 * bellman.MaxTimeout

// storeAnswers reports whether the store can be read.
func (r *recorder) storeAnswers(ctx context.Context, id bellman.ID) bool {
	_, err := r.store.Task(ctx, id)
	return err == nil || errors.Is(err, bellman.ErrNotFound)
}

// unanswered reports whether an error means that the store did not answer.
func unanswered(err error) bool {
	return errors.Is(err, bellman.ErrUnreachable) || errors.Is(err, context.DeadlineExceeded)
}

// leftOut reports in the gauges, and in the attempt's record, that follow-up tasks are not added.
func (r *recorder) leftOut(t *bellman.Task, queue string, a *bellman.Attempt, why string) {
	r.committer.leftOut(t.ID, queue, why)
	if a != nil && a.Error == "" {
		a.Error = truncate(why, bellman.MaxResponse)
	}
}

// reconcile records an attempt whose task was changed while it was in flight: it reads the task and
// merges both. A stop waits for it.
func (r *recorder) reconcile(f *flight) {
	defer r.committer.todo.Finish(1)
	ctx := context.WithoutCancel(r.attempts)
	t, err := r.committer.readAgain(ctx, f.task.ID)
	if err != nil {
		r.log.LogAttrs(ctx, slog.LevelError, "an attempt cannot be recorded",
			slog.Any("task", f.task.ID), traceID(f.task), slog.Int("attempt", f.attempt.Number), slog.Any("err", err))
		if unread(err) {
			r.committer.giveUp(f)
		} else {
			r.agenda.reload(f.item) // the task was deleted
		}
		return
	}
	if int(t.Attempts) >= f.attempt.Number {
		if r.inLog(ctx, f) { // a commit of unknown outcome has written it
			r.agenda.reload(f.item)
			return
		}
		f.attempt.Number = int(t.Attempts) + 1
	}
	to, counts := logOnly(t, &f.attempt), false
	if f.cut && t.Due.Equal(f.seen.Due) {
		to.VisibleAt = to.Due // not the time that the handover set
	}
	if !f.cut {
		to, counts = merge(t, f.seen, &f.attempt, &f.verdict, r.scheduleOf(f), rand.Float64())
	}
	f.task, f.merged = t, true
	f.change = store.Change{ID: t.ID, Version: t.Version, To: to, Attempt: &f.attempt, Of: t}
	switch {
	case counts:
		f.change.Follow = f.follow
	case !f.cut && (t.State.Ended() || endedSince(t, f.seen)):
		err = r.late(f, t)
	}
	if err == nil {
		err = r.onEnd(r.patience, &f.change, t, &f.attempt, f.trace)
	}
	r.keep(f, err)
}

// inLog reports whether the log of the task has this attempt already.
func (r *recorder) inLog(ctx context.Context, f *flight) bool {
	const most = 100
	var log []bellman.Attempt
	sleep.Retry(r.patience, func() (done bool) {
		var err error
		log, err = r.store.Attempts(ctx, f.task.ID, f.attempt.Number-1, most)
		return err == nil || errors.Is(err, bellman.ErrClosed)
	})
	return slices.ContainsFunc(log, func(a bellman.Attempt) bool {
		return a.Node == f.attempt.Node && a.Started.UnixMilli() == f.attempt.Started.UnixMilli() && a.Took == f.attempt.Took
	})
}

// late lets the handler decide what follows from an attempt whose task ended meanwhile.
func (r *recorder) late(f *flight, t *bellman.Task) (err error) {
	q, _ := r.rules.queue(t.Queue)
	h, ok := q.Handler.(bellman.Latecomer)
	if !ok {
		return nil
	}
	under := *t
	under.Status = underlying(t.Status)
	var v bellman.Verdict
	if err := r.rules.safely(t, func() error { v = h.Late(&under, f.verdict, r.clock.Now()); return fits(&v) }); err != nil {
		r.leftOut(t, t.Queue, nil, err.Error())
		v = bellman.Verdict{}
	}
	if v.Data != nil {
		f.change.To.Data = v.Data
	}
	f.change.Follow, err = r.follow(r.patience, t, v.Follow, nil, f.trace)
	return err
}

// onEnd adds the tasks of Queue.Ended to a change that ends the task. t is the task before the
// change; a is the attempt that ends it, or nil. A manual attempt that leaves an ended task ended
// is no end, and neither is a round of a task that repeats.
func (r *recorder) onEnd(ctx context.Context, c *store.Change, t *bellman.Task, a *bellman.Attempt, under *bellman.Trace) error {
	q, _ := r.rules.queue(t.Queue)
	if q.Ended == nil {
		return nil
	}
	was, is := underlying(t.Status), underlying(c.To)
	if !is.State.Ended() || is.State == was.State {
		return nil
	}
	ended := *t
	ended.Status = is
	if a != nil {
		ended.Last = a
	}
	var told []bellman.Task
	if err := r.rules.safely(t, func() error { told = q.Ended(&ended); return nil }); err != nil {
		r.leftOut(t, t.Queue, a, fmt.Sprintf("what follows from the end was not added: %v", err))
	}
	follow, err := r.follow(ctx, t, told, a, under)
	c.Follow = append(c.Follow[:len(c.Follow):len(c.Follow)], follow...)
	return err
}
