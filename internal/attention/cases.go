package attention

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/alarm"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/poll"
	"github.com/bellmanhq/bellman/store"
)

// A gathering makes one item of the undecided orders of each kind and queue, and one of each other
// case.
type gathering struct {
	seen  map[string]bool // ids of tasks
	items []*gathered
}

type gathered struct {
	Item
	purse
}

func (g *gathering) add(kind string, t *bellman.Task, since time.Time, refNo, why string) *gathered {
	if g.seen[t.ID.String()] {
		return nil
	}
	g.seen[t.ID.String()] = true
	i := -1
	if kind == OrdersUnknown || kind == AmountMismatch || kind == PaymentWithoutOrder { // a page lists them all
		i = slices.IndexFunc(g.items, func(o *gathered) bool { return o.Kind == kind && o.Queue == t.Queue })
	}
	if i < 0 {
		i = len(g.items)
		g.items = append(g.items, &gathered{Item: Item{Kind: kind, Name: cmp.Or(refNo, t.OrderNo), Queue: t.Queue, Why: why, Urgent: true, MerchantNo: t.MerchantNo, OrderNo: t.OrderNo, RefNo: refNo, Task: t.ID.String()}})
	}
	of := g.items[i]
	if of.Tasks++; of.Tasks > 1 {
		of.Name, of.MerchantNo, of.OrderNo, of.RefNo, of.Task = t.Queue, "", "", "", ""
		if kind == PaymentWithoutOrder {
			of.Why = "" // it was about the first task
		}
	}
	of.Since = figures.Sooner(of.Since, since)
	if amount, currency := price(t); currency != "" {
		of.purse.add(t.MerchantNo+"\x00"+t.OrderNo+"\x00"+refNo, currency, amount)
	}
	if kind == OrdersUnknown && t.Last != nil && t.Last.Error != "" && (of.Failure == nil || of.Failure.At.Before(t.Last.Started)) {
		of.Failure = failureOf(t)
	}
	return of
}

// addUnclaimed adds the payment of a notice whose order has not come.
func (d *Desk) addUnclaimed(ctx context.Context, g *gathering, t *bellman.Task) error {
	told := order.Unclaimed(t)
	if told == nil {
		return nil
	}
	_, err := store.Lookup(ctx, d.o.Store, "", told.Alias())
	if errors.Is(err, bellman.ErrNotFound) {
		g.add(PaymentWithoutOrder, t, told.Came, "", told.Missing())
		return nil
	}
	return err
}

// failureOf returns the last attempt of a task.
func failureOf(t *bellman.Task) *figures.Failure {
	return &figures.Failure{At: t.Last.Started, Task: t.ID, Result: t.Last.Result, Status: t.Last.Status, Error: t.Last.Error, Response: t.Last.Response}
}

// readOrders reads the orders that were given up, and for which no payment was found since.
func (d *Desk) readOrders(ctx context.Context, r *rows, _ *figures.Figures) error {
	if d.o.Queues == nil || d.o.Kind == nil {
		return d.readCases(ctx, r, &gathering{seen: map[string]bool{}})
	}
	g := &gathering{seen: map[string]bool{}}
	for _, name := range d.o.Queues() {
		if d.o.Kind(name) != "order" {
			continue
		}
		ids, more, err := d.givenUp(ctx, name)
		if err != nil {
			return err
		}
		for _, id := range ids {
			t, err := d.o.Store.Task(ctx, id)
			switch {
			case errors.Is(err, bellman.ErrNotFound):
				continue
			case err != nil:
				return err
			}
			if kind, why := unsettled(t); kind != "" {
				g.add(kind, t, t.Finished, "", why)
			} else if err := d.addUnclaimed(ctx, g, t); err != nil {
				return err
			}
		}
		for _, of := range g.items {
			of.More = of.More || of.Queue == name && more
		}
	}
	return d.readCases(ctx, r, g)
}

// givenUp returns the newest failed orders of a queue, and the newest notices that waited in vain
// for their order, up to failedRows of each. It reads past the records of refused notices: a
// stranger can cause thousands, which would hide the orders. more means that there may be others.
func (d *Desk) givenUp(ctx context.Context, queue string) (ids []bellman.ID, more bool, err error) {
	state, began := bellman.Failed, time.Now()
	orders, notices := 0, 0
	for before := (bellman.ID{}); ; {
		tasks, next, err := d.o.Store.List(ctx, store.Filter{Queue: queue, State: &state, Brief: true}, before, briefRows)
		if err != nil {
			return nil, false, err
		}
		for _, t := range tasks {
			n := &orders
			switch reason := order.NoticeResult(t.Reason); {
			case t.Attempts == 0 && (reason == order.NoticeRefused || reason == order.NoticeMismatch):
				continue
			case t.Reason == "max_age": // orders have no age
				n = &notices
			}
			if *n++; *n <= failedRows {
				ids = append(ids, t.ID)
			}
		}
		if orders > failedRows || next.IsZero() || time.Since(began) > failedWithin {
			return ids, orders > failedRows || notices > failedRows || !next.IsZero(), nil
		}
		before = next
	}
}

// undecided is what the reasons of orders that were given up mean.
var undecided = map[string]string{
	"gave_up":        "nothing could be decided until give_up was over",
	"reverse_failed": "the payment could not be reversed until give_up was over",
	"exhausted":      "the schedule is used up and nothing is decided",
}

// unsettled returns the kind of item of an order that was given up; empty: it is none.
func unsettled(t *bellman.Task) (kind, why string) {
	if t.Kind != bellman.KindOrder {
		return "", ""
	}
	if s := order.StandingOf(t); !s.Open() {
		return "", ""
	}
	if l, err := order.ParseLife(t.Data); err == nil && l.Mismatch != "" {
		return AmountMismatch, l.Mismatch
	}
	if t.Last != nil {
		why = t.Last.Error
	}
	return OrdersUnknown, cmp.Or(why, undecided[t.Reason], t.Reason)
}

// readCases adds the orders, refunds and transfers that alarms are about, unless they were settled
// since.
func (d *Desk) readCases(ctx context.Context, r *rows, g *gathering) error {
	var all []alarm.Alarm
	var err error
	if d.o.Alarms != nil {
		if all, err = d.o.Alarms.List(ctx); err != nil {
			return err
		}
	}
	for i := range all {
		a := &all[i]
		if a.Affected == nil || !a.Raised() && time.Since(a.Since) > a.Kept() {
			continue
		}
		id, err := bellman.ParseID(a.Affected.Task)
		if err != nil {
			continue
		}
		t, err := d.o.Store.Task(ctx, id)
		switch {
		case errors.Is(err, bellman.ErrNotFound):
			continue
		case err != nil:
			return err
		}
		switch a.When {
		case alarm.LatePayment:
			if refunded, err := d.refunded(ctx, t, a.Since); err != nil {
				return err
			} else if !refunded {
				g.add(latePayment(t), t, a.Since, "", a.Affected.Why)
			}
		case alarm.PollNeedsAction:
			if !poll.StandingOf(t).Alerted {
				continue
			}
			of := g.add(PollNeedsAction, t, a.Since, a.Affected.RefNo, a.Affected.Why)
			if amount, currency := price(t); of != nil && currency == "" {
				if currency, err = d.currency(ctx, t); err != nil {
					return err
				}
				of.purse.add(of.Task, currency, amount)
			}
		case alarm.PaymentWithoutOrder:
			if err := d.addUnclaimed(ctx, g, t); err != nil {
				return err
			}
		default:
			if s := order.StandingOf(t); !s.Decided.IsZero() && !s.Open() {
				continue
			}
			kind, _ := unsettled(t)
			g.add(cmp.Or(kind, OrdersUnknown), t, a.Since, "", a.Affected.Why)
		}
	}
	for _, of := range g.items {
		of.Amounts = of.amounts()
		r.orders = append(r.orders, of.Item)
	}
	return nil
}

// latePayment returns the kind of item of an order that was paid late, or paid twice.
func latePayment(t *bellman.Task) string {
	if s := order.StandingOf(t); s.Late == "" {
		return DuplicatePayment
	}
	return LatePayment
}

// currency returns the currency of a task's order; empty: it is not known.
func (d *Desk) currency(ctx context.Context, t *bellman.Task) (string, error) {
	tasks, _, err := d.o.Store.List(ctx, store.Filter{MerchantNo: t.MerchantNo, OrderNo: t.OrderNo}, bellman.ID{}, loadRows)
	for _, other := range tasks {
		if _, currency := price(other); currency != "" && other.Kind == bellman.KindOrder {
			return currency, err
		}
	}
	return "", err
}

// refunded reports whether a refund of a task's order was added since a payment was found, and did
// not fail.
func (d *Desk) refunded(ctx context.Context, t *bellman.Task, since time.Time) (bool, error) {
	tasks, _, err := d.o.Store.List(ctx, store.Filter{MerchantNo: t.MerchantNo, OrderNo: t.OrderNo}, bellman.ID{}, loadRows)
	return slices.ContainsFunc(tasks, func(t *bellman.Task) bool {
		if t.Kind != bellman.KindPoll || t.Created().Before(since.Truncate(time.Millisecond)) {
			return false
		}
		state := poll.StandingOf(t).State
		return state == poll.StateDone || state == poll.StatePending
	}), err
}
