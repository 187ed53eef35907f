package reconcile

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/internal/money"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/poll"
	"github.com/bellmanhq/bellman/store"
)

// edge is how far before midnight a comparison looks for orders that the day before has left to it.
const edge = time.Hour

// orders yields what bellman knows of the orders that were created around a period, and of their
// refunds. It ends with errLost when still returns false.
func (r *Runs) orders(ctx context.Context, q *Queue, from, to time.Time, still func() bool) iter.Seq2[bill.Decided, error] {
	return func(yield func(bill.Decided, error) bool) {
		for _, queue := range append([]string{q.Name}, q.Refunds...) {
			for d, err := range r.items(ctx, q, q.around(queue, from, to), still) {
				if !yield(d, err) || err != nil {
					return
				}
			}
		}
	}
}

// around selects the orders that are looked for in the bill of a period, or the refunds of one of
// q.Refunds.
func (q *Queue) around(queue string, from, to time.Time) store.Filter {
	window := q.Window
	if queue != q.Name {
		window = refundWindow
	}
	return store.Filter{Queue: queue, CreatedFrom: from.Add(-edge - window), CreatedTo: to.Add(After)}
}

// items yields the items of the tasks that a filter selects.
func (r *Runs) items(ctx context.Context, q *Queue, f store.Filter, still func() bool) iter.Seq2[bill.Decided, error] {
	return func(yield func(bill.Decided, error) bool) {
		for t, err := range r.tasksOf(ctx, f, still) {
			d, ok := bill.Decided{}, false
			if err == nil {
				d, ok, err = r.item(ctx, q, t)
			}
			if err != nil {
				yield(bill.Decided{}, err)
				return
			}
			if ok && !yield(d, nil) {
				return
			}
		}
	}
}

// tasksOf yields the tasks that a filter selects, without the records of notices about payments. It
// ends with errLost when still returns false.
func (r *Runs) tasksOf(ctx context.Context, f store.Filter, still func() bool) iter.Seq2[*bellman.Task, error] {
	return func(yield func(*bellman.Task, error) bool) {
		for before := (bellman.ID{}); ; {
			tasks, next, err := r.store.List(ctx, f, before, pageSize)
			if err == nil && !still() {
				err = errLost
			}
			if err != nil {
				yield(nil, fmt.Errorf("list orders: %w", err))
				return
			}
			for _, t := range tasks {
				if t.Event == order.EventNotice && !bytes.Contains(t.Body, ofRefund) {
					continue // most records are of payments, and to read each takes as long as to compare an order
				}
				if !yield(t, nil) {
					return
				}
			}
			if before = next; next.IsZero() {
				return
			}
		}
	}
}

// find returns the items of orders of an account by the channel's numbers. An order may belong to
// another queue of the same account.
func (r *Runs) find(ctx context.Context, q *Queue, account string, numbers []string) (items []bill.Decided, err error) {
	keys := make([]store.Key, len(numbers))
	for i, no := range numbers {
		keys[i].Key = order.Alias(account, order.OfPayment, no)
	}
	found, err := r.store.Find(ctx, keys)
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		if f.ID.IsZero() {
			continue
		}
		own, err := r.store.Task(ctx, f.ID)
		if errors.Is(err, bellman.ErrNotFound) {
			continue // retention has deleted it meanwhile
		}
		if err != nil {
			return nil, err
		}
		of := []store.Filter{{Queue: own.Queue, MerchantNo: own.MerchantNo, OrderNo: own.OrderNo}} // the order, the watch for a late payment, and notices of refunds
		for _, queue := range q.Refunds {
			f := store.Filter{Queue: queue, MerchantNo: own.MerchantNo, OrderNo: own.OrderNo}
			if of = append(of, f); channelNo(own) != own.OrderNo { // somebody may have added a refund under the channel's number alone
				f.OrderNo = channelNo(own)
				of = append(of, f)
			}
		}
		for _, f := range of {
			for d, err := range r.items(ctx, q, f, func() bool { return true }) {
				if err != nil {
					return nil, err
				}
				items = append(items, d)
			}
		}
	}
	return items, nil
}

// item returns what a task says about an order or refund. ok is false if it says nothing.
func (r *Runs) item(ctx context.Context, q *Queue, t *bellman.Task) (d bill.Decided, ok bool, err error) {
	switch t.Kind {
	case bellman.KindOrder:
	case bellman.KindPoll:
		return r.polled(q, t)
	default:
		return d, false, nil
	}
	// Its fields were checked when the order was added, and to check them again takes longer than
	// all else here.
	var ask order.Ask
	if err := json.Unmarshal(t.Body, &ask); err != nil && len(t.Body) > 0 {
		r.log.Warn("an order cannot be read and is not reconciled", "task", t.ID, "err", err)
		return d, false, nil
	}
	if told := ask.Notice; told != nil {
		d, ok = refund(t, told)
		d.Account = cmp.Or(told.Account, q.Identity)
		return d, ok, nil
	}
	account := q.accountOf(ask.Account, t.Alias(), ask.Watch)
	if account == "" {
		return d, false, nil
	}
	life, err := order.ParseLife(t.Data)
	if err != nil {
		life = order.Life{State: order.StateUnknown}
	}
	d = bill.Decided{
		Account: account, ChannelOrderNo: cmp.Or(ask.ChannelOrderNo, t.OrderNo), MerchantNo: t.MerchantNo, OrderNo: t.OrderNo, TaskID: t.ID.String(),
		State: life.State, Amount: ask.Amount, Currency: ask.Currency,
	}
	if life.State == order.StatePending {
		d.State = order.StateOf(t) // a task that ended leaves its order UNKNOWN
	}
	if w := ask.Watch; w != nil {
		if life.Late == "" {
			return d, false, nil // the order's own task says everything
		}
		id, err := store.Lookup(ctx, r.store, t.Queue, w.Of)
		if errors.Is(err, bellman.ErrNotFound) {
			return d, false, nil
		}
		if err != nil {
			return d, false, fmt.Errorf("find an order: %w", err)
		}
		d.TaskID = id.String()
	}
	pay(&d, &life, cmp.Or(ask.Created, t.Created()))
	return d, true, nil
}

// accountOf returns the account of an order or refund that names an account, or none; empty: it is
// not known.
func (q *Queue) accountOf(name, alias string, w *order.Watch) string {
	if w != nil {
		alias = w.Alias
	}
	if account := order.AccountIn(alias); account != "" {
		return account
	}
	if name != "" {
		return "" // it was added before orders had an alias
	}
	return q.Identity
}

// pay adds what the life of an order says about its payment. If the channel said no time of it, the
// order is only missed in a bill if it was created on the day of its decision or on the day before:
// these are the bills that a comparison has. A late payment came after the decision: without a time
// of its own it is never missed.
func pay(d *bill.Decided, life *order.Life, created time.Time) {
	reversed := life.State == order.Revoked.String() && life.Close == order.CloseRefunded.String()
	reading, err := order.ParseReading(cmp.Or(life.Late, life.State))
	if d.Paid = err == nil && reading.IsPaid() || reversed; !d.Paid {
		return
	}
	if life.Late != "" {
		d.State = life.Late
	}
	// What a channel of the platform's own took may have other types: such a field is left out.
	var taken struct {
		TransactionID string `json:"transaction_id"`
		Amount        int64  `json:"amount"`
		Currency      string `json:"currency"`
		PaidAt        string `json:"paid_at"`
	}
	json.Unmarshal(life.Taken, &taken)
	d.TransactionID = taken.TransactionID
	if taken.Amount > 0 { // a late payment may be of another amount than the order's
		d.Amount, d.Currency = taken.Amount, cmp.Or(money.Code(taken.Currency), taken.Currency, d.Currency)
	}
	if at, err := time.Parse(time.RFC3339, taken.PaidAt); err == nil {
		d.PaidAt = at.UTC()
	} else if !reversed && life.Late == "" && life.DecidedAt != 0 {
		decided := time.UnixMilli(life.DecidedAt).UTC()
		of := decided.Add(edge).In(bill.Zone) // the day whose comparison reports the order
		if !created.Before(time.Date(of.Year(), of.Month(), of.Day()-1, 0, 0, 0, 0, bill.Zone)) {
			d.PaidAt = decided
		}
	}
	if reading == order.PaidRefunded || reversed {
		d.Refunded = cmp.Or(d.Amount, math.MaxInt64) // how much is not known
	}
}

// refund returns the refund that a notice told of. WeChat Pay says its state and amount; a channel
// that says neither tells of refunds that were made.
func refund(t *bellman.Task, told *order.Told) (d bill.Decided, ok bool) {
	if told.Of != order.OfRefund || told.Result == order.NoticeRefused || told.RefNo == "" {
		return d, false
	}
	d = bill.Decided{ChannelOrderNo: told.OrderNo, MerchantNo: t.MerchantNo, OrderNo: t.OrderNo, RefundNo: told.RefNo, State: "refunded", Paid: true}
	if told.Reading == poll.StateFailedThere {
		d.State, d.Paid = told.Reading, false
	}
	var said struct {
		State  string `json:"refund_status"`
		Amount struct {
			Refund int64 `json:"refund"`
		} `json:"amount"`
	}
	if json.Unmarshal([]byte(told.Content), &said) == nil && said.State != "" {
		d.State, d.Paid, d.Amount = said.State, said.State == "SUCCESS" || said.State == "PROCESSING", max(said.Amount.Refund, 0)
	}
	return d, true
}

// ofRefund is in the body of each record of a notice about a refund.
var ofRefund = []byte(`"of":"` + string(order.OfRefund) + `"`)
