package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// maxSettle bounds the tasks of one call.
const maxSettle = 1000

// errNothing means that a task needs no attempt to be settled. errLanding means that the outcome of
// its attempt is stored, and the task will be free in a moment.
var (
	errNothing = errors.New("nothing to settle")
	errLanding = errors.New("an attempt has just ended")
)

// landing is how long hurry waits for an attempt that has just ended.
const landing = 5 * time.Millisecond

// A Settled is the result of settling one task.
type Settled struct {
	ID   bellman.ID
	Task *bellman.Task // as it is now, with Last; nil if it cannot be read
	Err  error         // nil: settled; [bellman.ErrNotFound], [bellman.ErrWaiting], or the store's
}

// Settle attempts tasks now, before all others of their lines but within every limit, and returns
// each with its new status, in order. If an attempt is in flight or was requested manually, Settle
// waits for that attempt instead. Schedules do not change: a task that was not due keeps its
// due time, and a task that had ended stays ended, unless the verdict says otherwise.
//
// If ctx ends first, tasks that still wait for their attempts are returned with ErrWaiting; the
// attempts are still made.
//
// Settle accepts 1,000 ids at most, otherwise it returns an *[bellman.Invalid]. Every settled task
// gets an audit record, also if its attempt was already in flight.
func (a *Admin) Settle(ctx context.Context, by bellman.By, ids ...bellman.ID) ([]Settled, error) {
	return a.settle(ctx, &by, ids, func(*bellman.Task, time.Time) bool { return true })
}

// SettleOverdue is Settle for tasks that are overdue or in flight; all others are returned at once
// as they are. It changes no schedule and writes no audit record.
func (a *Admin) SettleOverdue(ctx context.Context, ids ...bellman.ID) ([]Settled, error) {
	return a.settle(ctx, nil, ids, func(t *bellman.Task, now time.Time) bool {
		return !t.State.Ended() && !t.Due.After(now)
	})
}

func (a *Admin) settle(ctx context.Context, by *bellman.By, ids []bellman.ID, wanted func(*bellman.Task, time.Time) bool) ([]Settled, error) {
	if len(ids) > maxSettle {
		return nil, bellman.InvalidField("ids", fmt.Sprintf("are %d: want %d at most", len(ids), maxSettle))
	}
	if err := a.life.running(ctx); err != nil {
		return nil, err
	}
	events, cancel := a.watch.subscribe(max(8*len(ids), 256))
	defer cancel()
	settled := make([]Settled, len(ids))
	waiting := make(map[bellman.ID]*bellman.Task) // each task as it was before
	every := time.Second                          // poll interval, because an event may be lost
	var mu sync.Mutex
	var asking sync.WaitGroup
	for i, id := range ids {
		asking.Go(func() {
			t, err := a.hurry(ctx, id, by, wanted)
			mu.Lock()
			defer mu.Unlock()
			switch settled[i].ID = id; {
			case err == nil:
				waiting[id] = t
				if !a.leases.Holds(t.Shard) { // there will be no event here
					every = time.Second / 4
				}
			case ctx.Err() != nil:
				settled[i].Err = waits(context.Cause(ctx))
			case !errors.Is(err, errNothing):
				settled[i].Err = err
			}
		})
	}
	asking.Wait()
	left, err := a.untilSettled(ctx, waiting, events, every)

	// The caller gets the status of all tasks, even if ctx has ended.
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer done()
	for i := range settled {
		s := &settled[i]
		t, readErr := a.store.Task(ctx, s.ID)
		s.Task = t
		if readErr != nil {
			s.Err = readErr
		} else if was, ok := left[s.ID]; ok && s.Err == nil && !over(t, was) {
			s.Err = waits(err)
		}
	}
	return settled, nil
}

func waits(why error) error { return fmt.Errorf("%w: %w", bellman.ErrWaiting, why) }

// hurry schedules a task's next attempt for now, and returns the task as it was before. If by is
// not nil, the request is written to the audit log.
func (a *Admin) hurry(ctx context.Context, id bellman.ID, by *bellman.By, wanted func(*bellman.Task, time.Time) bool) (*bellman.Task, error) {
	underway := errors.New("on its way")
	var audit *store.Audit
	t, err := a.move(ctx, id, "settle", func(c *store.Change, t *bellman.Task, now time.Time) error {
		overdue := !t.State.Ended() && !t.Due.After(now)
		if by != nil {
			audit = new(store.AuditOf(*by, now, "settle", id.String()))
			c.Audit = audit
		}
		switch began, flying := a.agenda.flight(id); {
		case flying && uint32(t.Attempts) > began: // it asked before this call, so its answer may be old
			return errLanding
		case flying:
			return underway
		case !wanted(t, now), t.WasSuperseded():
			return errNothing
		case overdue && (t.Trigger != bellman.BySchedule || t.InDoubt()), t.Phase == bellman.Quarantined: // such an attempt is not brought forward
			return underway
		case overdue: // the schedule's own attempt
			c.To.Phase, c.To.Trigger, c.To.VisibleAt = bellman.Waiting, bellman.BySettle, now
		default:
			request(&c.To, bellman.BySettle, now, now)
		}
		return nil
	})
	switch {
	case err == nil:
		return t, nil
	case errors.Is(err, errLanding):
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(landing):
			return a.hurry(ctx, id, by, wanted)
		}
	case !errors.Is(err, underway):
		return nil, err
	case audit != nil: // no change of the task carries the record, so it is written alone
		if err := a.committer.do(ctx, &op{audits: []store.Audit{*audit}}); err != nil {
			return nil, fmt.Errorf("settle task %s: %w", id, err)
		}
	}
	return t, nil
}

// over reports whether a task has more attempts than it had, or has ended since. An event of an
// earlier change may come late, and says neither.
func over(t, was *bellman.Task) bool {
	return t.Version > was.Version && (t.State.Ended() || t.Attempts > was.Attempts)
}

// untilSettled waits until every task is over, or until ctx or the engine ends; then it returns the
// remaining tasks and the cause. It checks after each event and at intervals.
func (a *Admin) untilSettled(ctx context.Context, waiting map[bellman.ID]*bellman.Task, events <-chan Event, every time.Duration) (left map[bellman.ID]*bellman.Task, err error) {
	left = make(map[bellman.ID]*bellman.Task, len(waiting))
	check := func() {
		for id, was := range waiting {
			if t, err := a.store.Task(ctx, id); err == nil && !over(t, was) || err != nil && !errors.Is(err, bellman.ErrNotFound) {
				left[id] = was
			} else {
				delete(left, id)
			}
		}
	}
	check()
	again := time.NewTicker(every)
	defer again.Stop()
	for len(left) > 0 {
		select {
		case <-ctx.Done():
			return left, context.Cause(ctx)
		case <-again.C:
			check()
		case ev, ok := <-events:
			if !ok {
				return left, bellman.ErrClosed
			}
			if was, ok := left[ev.Task.ID]; ok && over(ev.Task, was) {
				delete(left, ev.Task.ID)
			}
		}
	}
	return left, nil
}
