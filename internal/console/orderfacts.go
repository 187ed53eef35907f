package console

import (
	"cmp"
	"math"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/internal/reconcile"
	"github.com/bellmanhq/bellman/internal/resend"
	"github.com/bellmanhq/bellman/order"
)

// orderFacts are what an order's page says about it beside its life.
type orderFacts struct {
	Ask       order.Ask
	Channel   string // empty: unknown, or one of request templates
	ChannelNo string // the number by which the channel knows the order
	Notices   int    // of the channel
	Newest    *order.Told
	Polls     []row // refunds and transfers
	Told      []row // notifications of the merchant, newest first, at most mostTold
	Paid      order.Payment

	Differences []difference // of the bills of the days around the order
	Unsearched  bool         // some bills were not searched, because that takes too long
}

// mostTold is the number of notifications among the facts. All are in the list below.
const mostTold = 4

// A difference is one between an order and a bill.
type difference struct {
	Run  reconcile.Run
	Item reconcile.Item
}

// factsOf returns the facts of an order from its tasks, newest first, and from how it stands by all
// of them. own is the task that says so; nil: there is none.
func (q *request) factsOf(rows []row, whole *order.Standing, own *bellman.Task) (f orderFacts, err error) {
	f.Paid = whole.Payment()
	for i := range rows {
		r := &rows[i]
		switch told := order.ToldOf(r.Task); {
		case told != nil:
			if f.Notices++; f.Newest == nil {
				f.Newest = told
			}
		case r.Poll != nil:
			f.Polls = append(f.Polls, *r)
		case r.Kind == bellman.KindNotify:
			if len(f.Told) < mostTold {
				f.Told = append(f.Told, *r)
			}
		}
	}
	if own == nil {
		return f, nil
	}
	f.Ask, _ = order.ParseAsk(own.Body) // the body was validated when the task was added
	f.Channel, f.ChannelNo = resend.ChannelOf(own, q.o.Channels), cmp.Or(f.Ask.ChannelOrderNo, own.OrderNo)
	f.Differences, f.Unsearched, err = q.differencesOf(own, f.ChannelNo)
	return f, err
}

const (
	billDays    = 5                     // bills from the day before an order's creation on that are searched
	billReads   = 8                     // reads of differences that one page makes at least
	billsWithin = 20 * time.Millisecond // how long one page goes on after them
)

// differencesOf finds the differences of an order in the bills of its queue and of the days around
// its creation. It stops after a while: more means that some were not searched.
func (q *request) differencesOf(t *bellman.Task, channelNo string) (found []difference, more bool, err error) {
	if q.o.Reconciliations == nil {
		return nil, false, nil
	}
	began := time.Now()
	runs, err := q.o.Reconciliations.List(q.r.Context(), math.MaxInt)
	if err != nil {
		return nil, false, err
	}
	first := t.Created().In(bill.Zone).AddDate(0, 0, -1).Format(time.DateOnly)
	last := t.Created().In(bill.Zone).AddDate(0, 0, billDays-2).Format(time.DateOnly)
	reads := 0
	for _, run := range runs {
		if run.Queue != t.Queue || run.Date < first || run.Date > last || run.Kept == 0 {
			continue
		}
		for after := 0; ; {
			if reads++; reads > billReads && time.Since(began) > billsWithin {
				return found, true, nil
			}
			items, next, err := q.o.Reconciliations.Differences(q.r.Context(), run.ID, "", after, shownDifferences)
			if err != nil {
				return nil, false, err
			}
			for _, item := range items {
				if item.ChannelOrderNo == channelNo {
					found = append(found, difference{run, item})
				}
			}
			if after = next; next == 0 {
				break
			}
		}
	}
	return found, false, nil
}
