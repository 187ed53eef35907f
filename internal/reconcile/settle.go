package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/poll"
	"github.com/bellmanhq/bellman/store"
)

// settleWithin is how long the answers about one page are waited for. The queries are made within
// the rate of the queue.
const settleWithin = 2 * time.Minute

// settleTurn is how long the queries of one run hold up other runs, plus those of one page.
const settleTurn = 15 * time.Second

// settle asks the channel once about each order that differs, page after page. What was asked
// stands in the pages, so that a crash repeats the queries of one page at most. After settleTurn it
// returns; the next round goes on.
func (r *Runs) settle(ctx context.Context, h *head) error {
	began, done := time.Now(), map[string]*Asked{} // by task
	s := Settling{State: Running, Who: h.Settling.Who, Reason: h.Settling.Reason, From: h.Settling.From, Created: h.Settling.Created}
	for page := range h.Pages {
		if !r.leads() {
			return errLost
		}
		items, err := r.page(ctx, &h.Run, page)
		if err != nil {
			return err
		}
		if err := r.settlePage(ctx, h, page, items, done); err != nil {
			return err
		}
		for _, item := range items {
			if item.Asked != nil && item.Asked.Settled {
				s.Settled++
			}
		}
		s.Asked, s.Failed = len(done), 0
		for _, asked := range done {
			if asked.Error != "" {
				s.Failed++
			}
		}
		if page+1 < h.Pages && time.Since(began) > settleTurn {
			run := h.Run
			run.Settling = s
			r.wake.Wake()
			return r.save(ctx, h, run)
		}
	}
	run := h.Run
	s.State, s.Finished = Done, now()
	run.Settling = s
	return r.save(ctx, h, run)
}

// settlePage asks about the orders of one page that were not asked about yet, looks how the others
// were decided since, and writes the page.
func (r *Runs) settlePage(ctx context.Context, h *head, page int, items []Item, done map[string]*Asked) error {
	var ids []bellman.ID
	wanted := map[string]bool{}
	for _, item := range items {
		task := item.task()
		if item.Asked != nil {
			done[task] = item.Asked
		} else if id, err := bellman.ParseID(task); err == nil && done[task] == nil && !wanted[task] {
			wanted[task] = true
			ids = append(ids, id)
		}
	}
	if len(ids) > 0 {
		within, cancel := context.WithTimeout(ctx, settleWithin)
		defer cancel()
		asker := bellman.By{Who: h.Settling.Who, Reason: h.Settling.Reason, From: h.Settling.From, Job: target(h.ID)}
		results, err := r.tasks.Settle(within, asker, ids...)
		if err != nil {
			return fmt.Errorf("ask about orders: %w", err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for i := range results {
			done[results[i].ID.String()] = asked(&results[i])
		}
	}
	changed, err := r.decidedSince(ctx, items, h.Settling.Created)
	if err != nil {
		return err
	}
	for i := range items {
		item := &items[i]
		if a := done[item.task()]; item.Asked == nil && a != nil {
			changed = true
			one := *a
			one.Settled = agrees(item, &one)
			item.Asked = &one
		}
	}
	if !changed {
		return nil
	}
	if err := r.store.Commit(ctx, &store.Batch{Docs: []store.Doc{pageDoc(h.ID, h.Token, page, items)}}); err != nil {
		return fmt.Errorf("keep what was asked: %w", err)
	}
	return nil
}

// decidedSince notes the differences that an earlier request asked about and that have been decided
// since, by a person for example. changed reports whether there are any.
func (r *Runs) decidedSince(ctx context.Context, items []Item, request time.Time) (changed bool, err error) {
	for i := range items {
		item := &items[i]
		id, err := bellman.ParseID(item.task())
		if err != nil || item.Asked == nil || item.Asked.Settled || item.Asked.At.After(request) || item.Kind != bill.StateDiffers && item.Kind != bill.RefundDiffers {
			continue
		}
		t, err := r.store.Task(ctx, id)
		if errors.Is(err, bellman.ErrNotFound) {
			continue
		}
		if err != nil {
			return false, err
		}
		one := *item.Asked
		if one.State = stateOf(t); agrees(item, &one) {
			one.Settled, item.Asked, changed = true, &one, true
		}
	}
	return changed, nil
}

// task returns the task of the order of a difference; empty: bellman has none.
func (i *Item) task() string {
	if i.Here == nil {
		return ""
	}
	return i.Here.TaskID
}

// asked returns what a query found.
func asked(s *engine.Settled) *Asked {
	a := &Asked{At: now()}
	switch {
	case errors.Is(s.Err, bellman.ErrWaiting):
		a.Error = "there was no answer in time; the query is still made"
	case s.Err != nil:
		a.Error = s.Err.Error()
	case s.Task == nil:
		a.Error = "the order cannot be read"
	default:
		a.State = stateOf(s.Task)
		if last := s.Task.Last; last != nil {
			a.Reading, a.Error = last.Reading, last.Error
		}
	}
	return a
}

// stateOf returns the state of the order, refund or transfer of a task.
func stateOf(t *bellman.Task) string {
	if t.Kind == bellman.KindPoll {
		return poll.StandingOf(t).State
	}
	if life, err := order.ParseLife(t.Data); err == nil && life.Late != "" {
		return life.Late
	}
	return order.StateOf(t)
}

// agrees reports whether an order or refund agrees with the bill after the query about it. Only a
// state can change, even if the query got no answer: somebody may have decided the order.
func agrees(item *Item, a *Asked) bool {
	if item.There == nil || item.Here == nil {
		return false
	}
	if item.Kind == bill.RefundDiffers && item.Here.RefundNo != "" {
		amount := item.Here.Amount == 0 || item.Here.Amount == item.There.RefundAmount
		return amount && (a.State == poll.StateDone && !item.There.Failed || a.State == poll.StateFailedThere && item.There.Failed)
	}
	if item.Kind != bill.StateDiffers {
		return false
	}
	state, err := order.ParseReading(a.State)
	return err == nil && state.IsPaid() != item.There.Failed
}
