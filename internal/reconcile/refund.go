package reconcile

import (
	"cmp"
	"encoding/json"
	"strconv"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/poll"
)

// refundWindow is how long before its bill a refund is requested, at most: a channel may take days
// for one that a person must approve.
const refundWindow = 7 * 24 * time.Hour

// channelNo returns the channel's number of an order.
func channelNo(t *bellman.Task) string {
	if ask, err := order.ParseAsk(t.Body); err == nil && ask.ChannelOrderNo != "" {
		return ask.ChannelOrderNo
	}
	return t.OrderNo
}

// polled returns the refund that a task of kind poll asks about. A refund of a payment without an
// order's number cannot be found in a bill, and is left out.
func (r *Runs) polled(q *Queue, t *bellman.Task) (d bill.Decided, ok bool, err error) {
	ask, err := poll.ParseAsk(t.Body)
	life, err2 := poll.ParseLife(t.Data)
	if err := cmp.Or(err, err2); err != nil {
		r.log.Warn("a refund cannot be read and is not reconciled", "task", t.ID, "err", err)
		return d, false, nil
	}
	account, no := q.accountOf(ask.Account, t.Alias(), nil), cmp.Or(ask.ChannelOrderNo, t.OrderNo)
	if no == "" || ask.RefNo == "" || account == "" {
		return d, false, nil
	}
	standing := poll.StandingOf(t)
	d = bill.Decided{
		Account: account, ChannelOrderNo: no, MerchantNo: t.MerchantNo, OrderNo: t.OrderNo, TaskID: t.ID.String(), RefundNo: ask.RefNo,
		State: standing.State, Paid: standing.State == poll.StateDone, Currency: ask.Vars["currency"],
	}
	if standing.State == poll.StatePending && life.Reading == poll.Waiting.String() {
		d.State, d.Paid = "PROCESSING", true // the channel accepted it
	}
	var taken struct {
		Amount     json.Number `json:"amount"`
		FinishedAt time.Time   `json:"finished_at"`
	}
	if json.Unmarshal(life.Taken, &taken) != nil {
		taken.Amount, taken.FinishedAt = "", time.Time{}
	}
	if d.Amount, err = strconv.ParseInt(cmp.Or(ask.Vars["amount"], taken.Amount.String()), 10, 64); err != nil || d.Amount < 0 {
		d.Amount = 0
	}
	d.PaidAt = accepted(t, &ask, &life, taken.FinishedAt)
	return d, true, nil
}

// accepted returns when the channel accepted a refund, as far as bellman knows; zero: it does not.
// A bill has a refund on the day of its acceptance. Bellman knows when it asked for the refund
// itself: a stop in the middle of a request leaves open when it arrived, and over days nobody knows
// whose bill has it. Of one that somebody else asked for it knows the day only if the refund was
// added to bellman and finished on the same day.
func accepted(t *bellman.Task, ask *poll.Ask, life *poll.Life, finished time.Time) time.Time {
	if life.Requests > 0 {
		last := time.UnixMilli(life.RequestAt).UTC()
		of := last.Add(edge).In(bill.Zone) // the day whose comparison reports the refund: it has the bill of the day before, too
		if time.UnixMilli(life.FirstAt).Before(time.Date(of.Year(), of.Month(), of.Day()-1, 0, 0, 0, 0, bill.Zone)) {
			return time.Time{}
		}
		return last
	}
	created := ask.Created
	if created.IsZero() {
		created = t.Created()
	}
	if finished.IsZero() || created.In(bill.Zone).Format(time.DateOnly) != finished.In(bill.Zone).Format(time.DateOnly) {
		return time.Time{}
	}
	return created.UTC()
}
