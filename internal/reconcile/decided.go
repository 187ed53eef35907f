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
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/store"
)

// edge is how far before midnight a comparison looks for orders that the day before has left to it.
const edge = time.Hour

// orders yields what bellman knows of the orders that were created around a period, and of their refunds. It
// ends with errLost when still returns false.
func (r *Runs) orders(ctx context.Context, q *Queue, from, to time.Time, still func() bool) iter.Seq2[bill.Decided, error] {
	return func(yield func(bill.Decided, error) bool) {
		for i, queue := range append([]string{q.Name}, q.Refunds...) {
			f := store.Filter{Queue: queue, CreatedFrom: from.Add(-edge - q.Window), CreatedTo: to.Add(After)}
			if i > 0 {
				f.CreatedFrom = from.Add(-edge - refundWindow)
			}
			for d, err := range r.items(ctx, q, f, still) {
				if !yield(d, err) || err != nil {
					return
				}
			}
		}
	}
}

// items yields the items of the tasks that a filter selects.
func (r *Runs) items(ctx context.Context, q *Queue, f store.Filter, still func() bool) iter.Seq2[bill.Decided, error] {
	return func(yield func(bill.Decided, error) bool) {
		for before := (bellman.ID{}); ; {
			tasks, next, err := r.store.List(ctx, f, before, pageSize)
			if err == nil && !still() {
				err = errLost
			}
			if err != nil {
				yield(bill.Decided{}, fmt.Errorf("list orders: %w", err))
				return
			}
			for _, t := range tasks {
				if t.Event == order.EventNotice && !bytes.Contains(t.Body, ofRefund) {
					continue // most records are of payments, and to read each takes as long as to compare an order
				}
				d, ok, err := r.item(ctx, q, t)
				if err != nil {
					yield(bill.Decided{}, err)
					return
				}
				if ok && !yield(d, nil) {
					return
				}
			}
			if before = next; next.IsZero() {
				return
			}
		}
	}
}

// find returns the items of orders by the channel's numbers. An order may belong to another queue of the
// same account.
func (r *Runs) find(ctx context.Context, q *Queue, numbers []string) (items []bill.Decided, err error) {
	keys := make([]store.Key, len(numbers))
	for i, no := range numbers {
		keys[i].Key = order.Alias(q.Account, order.OfPayment, no)
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
		tasks := []*bellman.Task{own}
		for i, queue := range append([]string{own.Queue}, q.Refunds...) {
			f := store.Filter{Queue: queue, MerchantNo: own.MerchantNo, OrderNo: own.OrderNo} // the order, the watch for a late payment, and notices of refunds
			if i > 0 {
				f.OrderNo = channelNo(own)
			}
			more, _, err := r.store.List(ctx, f, bellman.ID{}, pageSize)
			if err != nil {
				return nil, err
			}
			tasks = append(tasks, more...)
		}
		for _, t := range tasks {
			d, ok, err := r.item(ctx, q, t)
			if err != nil {
				return nil, err
			}
			if ok {
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
	ask, err := order.ParseAsk(t.Body)
	if err != nil {
		r.log.Warn("an order cannot be read and is not reconciled", "task", t.ID, "err", err)
		return d, false, nil
	}
	if ask.Account != "" && ask.Account != q.Account {
		return d, false, nil
	}
	if told := ask.Notice; told != nil {
		return refund(t, told)
	}
	life, err := order.ParseLife(t.Data)
	if err != nil {
		life = order.Life{State: order.StateUnknown}
	}
	d = bill.Decided{
		ChannelOrderNo: cmp.Or(ask.ChannelOrderNo, t.OrderNo), MerchantNo: t.MerchantNo, OrderNo: t.OrderNo, TaskID: t.ID.String(),
		State: order.StateOf(t), Amount: ask.Amount, Currency: ask.Currency,
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
	pay(&d, &life)
	return d, true, nil
}

// pay adds what the life of an order says about its payment.
func pay(d *bill.Decided, life *order.Life) {
	reversed := life.State == order.Revoked.String() && life.Close == order.CloseRefunded.String()
	reading, err := order.ParseReading(cmp.Or(life.Late, life.State))
	if d.Paid = err == nil && reading.IsPaid() || reversed; !d.Paid {
		return
	}
	if life.Late != "" {
		d.State = life.Late
	}
	taken := map[string]any{}
	reader := json.NewDecoder(bytes.NewReader(life.Taken))
	reader.UseNumber()
	if len(life.Taken) > 0 && reader.Decode(&taken) != nil {
		clear(taken)
	}
	d.TransactionID, _ = taken["transaction_id"].(string)
	if amount, is := taken["amount"].(json.Number); is && d.Amount == 0 {
		if n, err := amount.Int64(); err == nil && n > 0 {
			d.Amount = n
			d.Currency, _ = taken["currency"].(string)
		}
	}
	text, _ := taken["paid_at"].(string)
	switch at, err := time.Parse(time.RFC3339, text); {
	case err == nil:
		d.PaidAt = at.UTC()
	case !reversed && life.DecidedAt != 0:
		d.PaidAt = time.UnixMilli(life.DecidedAt).UTC()
	}
	if reading == order.PaidRefunded || reversed {
		d.Refunded = cmp.Or(d.Amount, math.MaxInt64) // how much is not known
	}
}

// refund returns the refund that a notice told of. WeChat Pay says its state and amount; a channel that says
// neither tells of refunds that were made.
func refund(t *bellman.Task, told *order.Told) (d bill.Decided, ok bool, err error) {
	if told.Of != order.OfRefund || told.Result == order.NoticeRefused || told.RefNo == "" {
		return d, false, nil
	}
	d = bill.Decided{ChannelOrderNo: told.OrderNo, MerchantNo: t.MerchantNo, OrderNo: t.OrderNo, RefundNo: told.RefNo, State: "refunded", Paid: true}
	var said struct {
		State  string `json:"refund_status"`
		Amount struct {
			Refund int64 `json:"refund"`
		} `json:"amount"`
	}
	if json.Unmarshal([]byte(told.Content), &said) == nil && said.State != "" {
		d.State, d.Paid, d.Amount = said.State, said.State == "SUCCESS" || said.State == "PROCESSING", max(said.Amount.Refund, 0)
	}
	return d, true, nil
}

// ofRefund is in the body of each record of a notice about a refund.
var ofRefund = []byte(`"of":"` + string(order.OfRefund) + `"`)
