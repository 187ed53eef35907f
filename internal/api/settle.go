package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/sleep"
	"github.com/bellmanhq/bellman/order"
)

const (
	maxSettleBody = 4 << 20
	maxInSettles  = 4 * client.MaxBatch // orders that are settled at one time

	defaultWait = 10 * time.Second
	maxWait     = time.Minute
)

// enterSettle reserves room for settling n orders. Call leave at the end.
func (a *API) enterSettle(n int64) (leave func(), refused *client.Problem) {
	return enter(&a.inSettles, n, maxInSettles, time.Second, "too many orders are being settled at once: try again")
}

func (a *API) settleOrders(ctx context.Context, in *struct {
	Caller
	Body client.SettleOrders
}) (*answer[client.SettledOrders], error) {
	wait, refused := waiting("body.wait", in.Body.Wait, defaultWait)
	if refused != nil {
		return nil, refused
	}
	leave, refused := a.enterSettle(int64(len(in.Body.Orders)))
	if refused != nil {
		return nil, refused
	}
	defer leave()
	all := make([]settling, len(in.Body.Orders))
	var ids []bellman.ID
	known := map[bellman.ID]bool{}
	for i, ref := range in.Body.Orders {
		s := &all[i]
		s.numbers = OrderNumbers(ref)
		var tasks []*bellman.Task
		tasks, _, s.err = a.tasksOf(ctx, &in.holder, &s.numbers)
		for _, t := range a.own(tasks) {
			s.own = append(s.own, t.ID)
			if !known[t.ID] {
				known[t.ID] = true
				ids = append(ids, t.ID)
			}
		}
	}
	settled := a.settleAll(ctx, in.by(in.Body.Reason), ids, wait)
	out := client.SettledOrders{Results: make([]client.SettledOrder, len(all))}
	for i := range all {
		out.Results[i] = a.settled(ctx, &in.holder, &all[i], settled)
		in.refusesPart(out.Results[i].Error)
	}
	return ok(out)
}

// A settling is one order that is being settled.
type settling struct {
	numbers OrderNumbers
	own     []bellman.ID // the tasks for which the channel is queried
	err     error        // the tasks cannot be read
}

// settleAll attempts tasks now, and returns the outcome of each.
func (a *API) settleAll(ctx context.Context, by bellman.By, ids []bellman.ID, wait time.Duration) map[bellman.ID]error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	settled := make(map[bellman.ID]error, len(ids))
	for some := range slices.Chunk(ids, client.MaxBatch) {
		results, err := a.o.Engine.Settle(ctx, by, some...)
		if err != nil {
			for _, id := range some {
				settled[id] = err
			}
		}
		for _, s := range results {
			settled[s.ID] = s.Err
		}
	}
	return settled
}

// settled returns the state of an order after settling.
func (a *API) settled(ctx context.Context, by *holder, s *settling, settled map[bellman.ID]error) client.SettledOrder {
	out := client.SettledOrder{OrderRef: client.OrderRef(s.numbers), Status: http.StatusOK}
	fail := func(err error) client.SettledOrder {
		out.Error = a.refuse(err)
		out.Status = out.Error.Status
		return out
	}
	switch {
	case s.err != nil:
		return fail(s.err)
	case len(s.own) == 0:
		return fail(s.numbers.missing())
	}
	tasks, _, err := a.tasksOf(ctx, by, &s.numbers)
	if err != nil {
		return fail(err)
	}
	whole, own := order.Overall(tasks)
	if own == nil { // retention has deleted it meanwhile
		return fail(s.numbers.missing())
	}
	out.OrderState, out.LatePayment = whole.State, whole.Late
	out.Task, out.Last = own.ID.String(), last(own.Last)
	var failed error
	for _, id := range s.own {
		switch err := settled[id]; {
		case err == nil:
			out.Asked = true
		case errors.Is(err, bellman.ErrWaiting):
			out.Status = http.StatusAccepted
		default:
			failed = fmt.Errorf("settle task %s: %w", id, err)
		}
	}
	if failed != nil {
		return fail(failed)
	}
	return out
}

// settleOrder attempts the overdue tasks of one order and reads them again, until none is overdue
// or the wait ends: settled reports which.
func (a *API) settleOrder(ctx context.Context, by *Caller, n *OrderNumbers, tasks []*bellman.Task, wait time.Duration) (settled bool, err error) {
	deadline := time.Now().Add(wait)
	until, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	asked := map[bellman.ID]bool{}
	all := true // the whole plan was carried out
	for first := true; ; first = false {
		p := a.plan(tasks, first, asked, earlier(time.Now(), deadline), deadline)
		if p.done() {
			return all, nil
		}
		if until.Err() != nil {
			return false, nil
		}
		done, err := a.carryOut(until, &p, by.by("settle: the order has expired"))
		if err != nil && until.Err() == nil {
			return false, err
		}
		all = all && done
		sleep.For(until, max(time.Until(p.next), moment))
		if tasks, _, err = a.tasksOf(ctx, &by.holder, n); err != nil {
			return false, err
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// A plan is the work that brings an order to its present state.
type plan struct {
	move    []bellman.ID // their next attempt is moved to now
	overdue []bellman.ID // attempted in their turn
	ask     []bellman.ID // queried out of turn
	waits   bool         // another step follows by itself
	next    time.Time    // when to look again
}

func (p *plan) done() bool { return len(p.move)+len(p.overdue)+len(p.ask) == 0 && !p.waits }

// plan examines the tasks of an order. Steps of a close are awaited. If an order has expired and
// its next step is due only after the wait, the step is moved to now, once, so that it is closed.
// If the time of a step is a part of the protocol, the order is queried out of turn instead, to see
// a payment. Tasks that the decision adds, such as the notification, are not awaited: only the
// first look includes tasks that are no order.
func (a *API) plan(tasks []*bellman.Task, first bool, asked map[bellman.ID]bool, now, deadline time.Time) plan {
	p := plan{next: deadline}
	for _, t := range tasks {
		isOrder := t.Kind == bellman.KindOrder
		if t.State.Ended() || !isOrder && !first {
			continue
		}
		s := standing(t)
		late := !t.Due.After(now)
		closing := s.Closing || isOrder && !late && order.Expired(t, now)
		switch {
		case late && s.Acting, !late && closing && t.Due.Before(deadline):
			p.waits = true
			p.next = earlier(p.next, t.Due)
		case late:
			p.overdue = append(p.overdue, t.ID)
		case closing && !asked[t.ID]:
			again := a.queried.last(t.ID).Add(queryFloor)
			switch {
			case !s.Timed && now.Before(again):
				p.waits = true
				p.next = earlier(p.next, again)
				continue
			case !s.Timed:
				p.move = append(p.move, t.ID)
			case !now.Before(again):
				p.ask = append(p.ask, t.ID)
			}
			asked[t.ID] = true
		}
	}
	if len(p.move)+len(p.overdue)+len(p.ask) > 0 {
		p.next = now
	}
	return p
}

// carryOut attempts the tasks of a plan, and waits for their outcomes. done reports that no outcome
// is missing. A missing outcome or a deleted task is no error.
func (a *API) carryOut(ctx context.Context, p *plan, by bellman.By) (done bool, err error) {
	done = true
	a.queried.note(time.Now(), slices.Concat(p.move, p.ask)...)
	for _, id := range p.move {
		_, err := a.o.Engine.Reschedule(ctx, id, time.Now(), by)
		if err != nil && !errors.Is(err, bellman.ErrConflict) && !errors.Is(err, bellman.ErrNotFound) {
			return false, fmt.Errorf("move the next attempt of task %s: %w", id, err)
		}
	}
	outOfTurn := func(ctx context.Context, ids ...bellman.ID) ([]engine.Settled, error) {
		return a.o.Engine.Settle(ctx, by, ids...)
	}
	for _, call := range []struct {
		settle func(context.Context, ...bellman.ID) ([]engine.Settled, error)
		ids    []bellman.ID
	}{{a.o.Engine.SettleOverdue, p.overdue}, {outOfTurn, p.ask}} {
		if len(call.ids) == 0 {
			continue
		}
		results, err := call.settle(ctx, call.ids...)
		if err != nil {
			return false, err
		}
		for _, s := range results {
			switch {
			case s.Err == nil, errors.Is(s.Err, bellman.ErrNotFound):
			case errors.Is(s.Err, bellman.ErrWaiting):
				done = false
			default:
				return false, fmt.Errorf("settle task %s: %w", s.ID, s.Err)
			}
		}
	}
	return done, nil
}

// queryFloor is the least time between two queries of one order out of turn. Within it, the last
// answer is used. Without it, readers could use up an account's rate.
const queryFloor = time.Second

// queryTimes remember when tasks were last queried out of turn. The zero value is ready, and safe
// for concurrent use.
type queryTimes struct {
	mu sync.Mutex
	at map[bellman.ID]time.Time
}

// maxQueryTimes is the size at which entries older than queryFloor are removed.
const maxQueryTimes = 10_000

func (q *queryTimes) last(id bellman.ID) time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.at[id]
}

func (q *queryTimes) note(now time.Time, ids ...bellman.ID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.at == nil {
		q.at = map[bellman.ID]time.Time{}
	}
	if len(q.at)+len(ids) > maxQueryTimes {
		maps.DeleteFunc(q.at, func(_ bellman.ID, at time.Time) bool { return now.Sub(at) >= queryFloor })
	}
	for _, id := range ids {
		q.at[id] = now
	}
}

// moment is the interval of reading the store while a step is due.
const moment = 20 * time.Millisecond
