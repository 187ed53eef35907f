package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/schedule"
	"github.com/bellmanhq/bellman/store"
)

// A flight is one attempt and what came of it, until that is committed. A
// flight may make none, and set its task aside.
type flight struct {
	item    *item
	seen    *bellman.Task // as it was when the attempt began
	task    *bellman.Task // as it is now, as far as is known
	route   bellman.Route
	attempt bellman.Attempt
	verdict bellman.Verdict
	follow  []store.Add // what the verdict adds, if it counts
	cut     bool        // a stop cut it off: there is no verdict
	aside   bool        // it makes no attempt: its task is set aside
	waits   *waiting    // what its task is set aside for; nil: nothing of its ordering key
	change  store.Change
	span    bellman.Span   // of the attempt; nil: there is none
	trace   *bellman.Trace // what the span is, for what follows from it
}

// record hands the outcome of an attempt to its lane. It waits only when the
// lane is far behind.
func (e *Engine) record(f *flight) {
	f.attempt.Result, f.attempt.Status = f.verdict.Result, f.verdict.Status
	f.attempt.Response, f.attempt.Error = f.verdict.Response, f.verdict.Error
	f.attempt.Action, f.attempt.Reading, f.attempt.Timing = f.verdict.Action, f.verdict.Reading, f.verdict.Timing
	f.follow = e.follow(f.task, f.verdict.Follow, &f.attempt, f.trace)
	f.change = store.Change{
		ID:      f.task.ID,
		Version: f.task.Version,
		To:      advance(f.task, &f.attempt, &f.verdict, e.scheduleOf(f), e.jitter()),
		Attempt: &f.attempt,
		Follow:  f.follow,
		Of:      f.task,
	}
	e.sequel(&f.change, f.task, &f.attempt, f.trace)
	f.endSpan()
	e.keep(f)
}

// scheduleOf reads the schedule of a flight's task, which was parsed when the task
// was accepted, or that of its merchant. One that cannot be read any more ends the task.
func (e *Engine) scheduleOf(f *flight) *schedule.Schedule {
	s, err := e.schedules.Parse(f.route.ScheduleOf(f.task))
	if err != nil {
		e.log.Error("schedule of a task cannot be read", "task", f.task.ID, traceID(f.task), "err", err)
		if f.verdict.Next == bellman.Again && f.verdict.Due.IsZero() {
			f.verdict.Next = bellman.GiveUp
		}
	}
	return s
}

// keep hands a flight to the lane of outcomes. A lane that is closed takes nothing, and the
// task is due on disk as it was.
func (e *Engine) keep(f *flight) {
	if err := e.outcomes.Put(&op{flight: f}); err != nil {
		e.hand.drop(false, f.item)
	}
}

// recordCut records an attempt that a stop cut off: whether it arrived is not
// known. It is made again, under the next number, and its place in the schedule
// is not used up.
func (e *Engine) recordCut(f *flight) {
	f.cut = true
	f.attempt.Result = bellman.Unknown
	f.attempt.Error = "cut off when the node stopped; made again after its start"
	to := f.task.Status
	to.Attempts, to.Phase = int32(f.attempt.Number), bellman.Waiting
	to.Updated = roundUp(f.attempt.Started.Add(f.attempt.Took))
	f.change = store.Change{ID: f.task.ID, Version: f.task.Version, To: to, Attempt: &f.attempt, Of: f.task}
	f.endSpan()
	e.keep(f)
}

// follow makes the adds of a verdict on a task, under a trace, or the task's. A follow-up that is not valid is
// left out, and said so in the log, in the gauges, and in the record of the
// attempt if there is one: the verdict stands.
func (e *Engine) follow(t *bellman.Task, tasks []bellman.Task, a *bellman.Attempt, under *bellman.Trace) []store.Add {
	if len(tasks) == 0 {
		return nil
	}
	adds := make([]store.Add, 0, len(tasks))
	for i := range tasks {
		tasks[i].SetTrace(cmp.Or(tasks[i].Trace(), under, t.Trace()))
		add, err := e.accept(&tasks[i], e.clock.now())
		if err != nil {
			e.refusedFollows.Add(1)
			e.log.Error("follow-up task cannot be added", "task", t.ID, traceID(t), "queue", tasks[i].Queue, "key", tasks[i].Key, "err", err)
			if a != nil && a.Error == "" {
				a.Error = cut(fmt.Sprintf("follow-up task for queue %s was not added: %v", tasks[i].Queue, err), maxResponse)
			}
			continue
		}
		adds = append(adds, add)
	}
	return adds
}

// committed tells everybody what a transaction did: the hand, the watchers, and
// those who wait for it.
func (e *Engine) committed(b *batch, ops []*op) {
	now := e.clock.now()
	nowMs := now.UnixMilli()
	var due []*item
	wake := int64(noTime)
	others := make(map[uint16]stretch)
	add := func(a *store.Add) {
		if a.Err != nil || !a.Existing.IsZero() {
			return
		}
		e.watch.added(a.Task)
		if a.Task.Supersedes && e.hand.owns(a.Task.Shard) {
			e.order.push(chainOf(a.Task), passing{superseded: true})
		}
		e.moved.added.Add(1)
		e.note(others, &a.Task.Status)
		if it := e.hand.put(a.Task, b.since, nowMs); it != nil {
			due = append(due, it)
		}
		wake = min(wake, a.Task.VisibleAt.UnixMilli())
	}
	adds, changes := b.Adds, b.Changes
	e.hand.mu.Lock()
	for _, o := range ops {
		for i := range o.adds {
			o.adds[i] = adds[i]
			add(&o.adds[i])
		}
		adds = adds[len(o.adds):]
		var change *store.Change
		switch {
		case o.flight != nil:
			change = &o.flight.change
		case o.change != nil:
			change = o.change
		default:
			continue
		}
		*change = changes[0]
		changes = changes[1:]
		if change.Err == nil {
			for i := range change.Follow {
				add(&change.Follow[i])
				if change.Follow[i].Err != nil {
					e.followed(change, &change.Follow[i])
				}
			}
			if !change.To.State.Ended() {
				wake = min(wake, change.To.VisibleAt.UnixMilli())
			}
		}
		var it *item
		if o.flight != nil {
			if change.Err == nil {
				e.note(others, &change.To)
				if o.flight.item.parked {
					e.noteOld(others, change.ID, change.To.Shard)
				}
			}
			it = e.land(o.flight, b.since, nowMs)
		} else if change.Err == nil {
			ended := change.To.State.Ended() && !o.task.State.Ended()
			o.task.Status = change.To
			e.watch.changed(o.task, ended)
			if ended && o.task.OrderingKey != "" {
				e.order.push(chainOf(o.task), passing{})
			}
			e.note(others, &o.task.Status)
			e.noteOld(others, o.task.ID, o.task.Shard)
			it = e.replace(o.task, b.since, nowMs)
			if o.park != nil && change.To.VisibleAt.UnixMilli() > nowMs { // else it came too late: the attempt is waited for
				e.hand.park(o.park)
			}
		}
		if it != nil {
			due = append(due, it)
		}
	}
	e.hand.mu.Unlock()
	if len(due) > 0 {
		e.bring(due, now)
	}
	e.wakeBefore(wake)
	e.crowd()
	e.tellOwners(others)
	for _, o := range ops {
		var err error
		if o.change != nil {
			err = o.change.Err
		}
		o.Done(err)
	}
}

// followed looks at a follow-up that the store did not add. One whose key is there
// already counts as added, once, however often it was decided.
func (e *Engine) followed(c *store.Change, a *store.Add) {
	attrs := []any{"task", c.ID, "queue", a.Task.Queue, "key", a.Task.Key}
	switch {
	case errors.Is(a.Err, bellman.ErrKeyTaken):
		e.log.Warn("follow-up task is there already, with other content", append(attrs, "existing", a.Existing)...)
	case a.Err != nil:
		e.refusedFollows.Add(1)
		e.log.Error("follow-up task cannot be added", append(attrs, "err", a.Err)...)
	}
}

// land ends a flight whose outcome was committed, or was refused because the
// task had been changed meanwhile. Call it with the hand's mutex held.
func (e *Engine) land(f *flight, since *asOf, now int64) (due *item) {
	it := f.item
	if f.aside {
		e.asides.Add(-1)
	}
	switch {
	case f.change.Err == nil:
		if !f.aside {
			e.watch.attempted(f)
			e.moved.attempted.Add(1)
		}
		it.Version = f.change.To.Version // what left the hand, for those who hear of an earlier one only now
		e.hand.remove(it)
		e.passOn(f)
		if f.change.To.State.Ended() {
			return nil
		}
		t := *f.task
		t.Status = f.change.To
		return e.hand.put(&t, since, now)
	case f.aside: // not set aside after all: look again
		e.hand.miss(it.VisibleAt)
		e.hand.remove(it)
		e.hand.unleave(it.ID)
		return nil
	case errors.Is(f.change.Err, bellman.ErrConflict):
		e.todo.Expect()
		go e.reconcile(f)
		return nil
	default:
		e.log.Error("an attempt cannot be recorded", "task", f.task.ID, traceID(f.task), "attempt", f.attempt.Number, "err", f.change.Err)
		e.hand.remove(it)
		return nil
	}
}

// reconcile records an attempt of a task that was changed while it was in
// flight: it reads the task as it is now and merges. A stop waits for it.
func (e *Engine) reconcile(f *flight) {
	defer e.todo.Finish(1)
	ctx := context.WithoutCancel(e.attempts)
	t, err := e.readAgain(ctx, f.task.ID)
	if err != nil {
		e.log.LogAttrs(ctx, slog.LevelError, "an attempt cannot be recorded",
			slog.Any("task", f.task.ID), traceID(f.task), slog.Int("attempt", f.attempt.Number), slog.Any("err", err))
		e.hand.drop(true, f.item)
		return
	}
	if int(t.Attempts) >= f.attempt.Number {
		if e.inLog(ctx, f) { // a commit of which the outcome was not known
			e.hand.drop(true, f.item)
			return
		}
		f.attempt.Number = int(t.Attempts) + 1
	}
	to, counts := logOnly(t, &f.attempt), false
	if f.cut && t.Due.Equal(f.seen.Due) {
		to.VisibleAt = to.Due // not when it was parked until
	}
	if !f.cut {
		to, counts = merge(t, f.seen, &f.attempt, &f.verdict, e.scheduleOf(f), e.jitter())
	}
	f.task = t
	f.change = store.Change{ID: t.ID, Version: t.Version, To: to, Attempt: &f.attempt, Of: t}
	switch {
	case counts:
		f.change.Follow = f.follow
	case !f.cut && (t.State.Ended() || endedSince(t, f.seen)):
		e.late(f, t)
	}
	e.sequel(&f.change, t, &f.attempt, f.trace)
	e.keep(f)
}

// inLog reports whether an attempt stands in its task's log already.
func (e *Engine) inLog(ctx context.Context, f *flight) bool {
	const most = 100
	log, err := e.store.Attempts(ctx, f.task.ID, f.attempt.Number-1, most)
	for pause := firstPause; err != nil && e.patience.Err() == nil && !errors.Is(err, bellman.ErrClosed); pause = min(2*pause, lastPause) {
		e.nap(e.patience, pause, nil)
		log, err = e.store.Attempts(ctx, f.task.ID, f.attempt.Number-1, most)
	}
	return slices.ContainsFunc(log, func(a bellman.Attempt) bool {
		return a.Node == f.attempt.Node && a.Started.UnixMilli() == f.attempt.Started.UnixMilli() && a.Took == f.attempt.Took
	})
}

// late asks the handler of a task that has ended meanwhile what still follows
// from an attempt.
func (e *Engine) late(f *flight, t *bellman.Task) {
	q, _ := e.queue(t.Queue)
	h, ok := q.Handler.(bellman.Latecomer)
	if !ok {
		return
	}
	under := *t
	under.Status = beneath(t.Status)
	v := h.Late(&under, f.verdict, e.clock.now())
	if v.Data != nil {
		f.change.To.Data = v.Data
	}
	f.change.Follow = e.follow(t, v.Follow, nil, f.trace)
}

// replace brings the hand up to date with a task that was changed by hand. One
// in flight is left to its landing. Call it with the hand's mutex held.
func (e *Engine) replace(t *bellman.Task, since *asOf, now int64) (due *item) {
	if it, ok := e.hand.items[t.ID]; ok {
		if it.Version >= t.Version {
			return nil // the loader was quicker
		}
		if it.place == inFlight {
			if !t.State.Ended() {
				it.changed = t.VisibleAt.UnixMilli()
			}
			return nil
		}
		e.hand.remove(it)
	}
	if t.State.Ended() {
		return nil
	}
	return e.hand.put(t, since, now)
}

// pause between tries to read, when the store is in trouble.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = 2 * time.Second
)

// unread reports whether an error leaves open what is in the store.
func unread(err error) bool { return err != nil && !errors.Is(err, bellman.ErrNotFound) }

// readAgain reads a task, until the store answers or a stop has no patience left.
func (e *Engine) readAgain(ctx context.Context, id bellman.ID) (*bellman.Task, error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		within, cancel := context.WithTimeout(ctx, 10*time.Second)
		t, err := e.store.Task(within, id)
		cancel()
		if !unread(err) || errors.Is(err, bellman.ErrClosed) || e.patience.Err() != nil {
			return t, err
		}
		e.nap(e.patience, pause, nil)
	}
}

// sort tells outcomes that were committed after all from those that were not,
// after a transaction of unknown outcome. It returns those to commit again.
func (e *Engine) sort(ctx context.Context, ops []*op) (again []*op) {
	for _, o := range ops {
		f, since := o.flight, e.hand.taken()
		t, err := e.readAgain(ctx, f.change.ID)
		if unread(err) { // the node stops; if it was not written, the attempt is made again
			e.hand.drop(false, f.item)
			continue
		}
		if err == nil && t.Version == f.change.Version+1 && t.Attempts == f.change.To.Attempts && t.VisibleAt.Equal(f.change.To.VisibleAt) {
			f.change.To = t.Status
			f.change.Err = nil
			e.hand.mu.Lock()
			for i := range f.change.Follow { // those that are due are found by the loader
				e.hand.miss(f.change.Follow[i].Task.VisibleAt.UnixMilli())
			}
			due := e.land(f, since, e.clock.now().UnixMilli())
			e.hand.mu.Unlock()
			if due != nil {
				e.bring([]*item{due}, e.clock.now())
			}
			continue
		}
		again = append(again, o) // a conflict, if it is one, is found by the commit
	}
	return again
}
