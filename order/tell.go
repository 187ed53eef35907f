package order

import (
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order/internal/wire"
)

// The events of the tasks that an order's watch adds. A decision's event is
// "order." and the state in lower case: order.paid, order.closed, ….
const (
	EventWatch       = "order.watch"        // an order's own task, if the caller gave no event
	EventUndecided   = "order.undecided"    // the schedule is used up, and on_exhausted is callback
	EventLateWatch   = "order.late_watch"   // the watch after CLOSED, REVOKED or FAILED
	EventLatePayment = "order.late_payment" // a payment after the decision
)

// What a notification is about: the last part of its key.
const (
	tellDecided   = "decided"
	tellUndecided = "undecided"
	tellLate      = "late_payment"
)

// lateWatchKey ends the key of a watch for a late payment.
const lateWatchKey = "/late_watch"

// TellKey returns the key of a notification about an order. what is decided, undecided or
// late_payment. The key contains the order's queue: one order number may be tried at two channels,
// and one queue may notify about both.
func TellKey(queue, key, what string) string { return queue + "/" + key + "/" + what }

// tell returns the notification of an order's result. Its key does not depend on the task that finds
// the result, so each result is notified once.
func (w *watched) tell(what string, then *Then, now time.Time) bellman.Task {
	l, key := &w.life, w.task.Key
	if w.ask.Watch != nil {
		key = w.ask.Watch.Of
	}
	event := "order." + l.reason()
	fields := map[string]any{
		"merchant_no": w.task.MerchantNo,
		"order_no":    w.task.OrderNo,
		"order_state": l.State,
		"decided_at":  wire.When(time.UnixMilli(l.DecidedAt)),
	}
	if l.Close == CloseRefunded.String() {
		fields["refunded"] = true
	}
	switch what {
	case tellUndecided:
		event = EventUndecided
	case tellLate:
		event = EventLatePayment
		fields["late_payment"] = l.Late
		fields["found_at"] = wire.When(now)
		if l.State == StatePending { // its watch was ended manually
			fields["order_state"] = StateUnknown
			delete(fields, "decided_at")
		}
	}
	return then.Tell(w.task, key, what, event, w.ask.Notify, l.Taken, fields)
}

// lateWatch returns the task that looks for a late payment after a decision without payment.
func (w *watched) lateWatch(until time.Time, schedule string) bellman.Task {
	ask := w.ask
	ask.Watch = &Watch{Of: w.task.Key, State: w.life.State, Decided: time.UnixMilli(w.life.DecidedAt).UTC(), Until: until.UTC().Truncate(time.Millisecond), Alias: w.alias(), Unborn: w.life.unborn()}
	return bellman.Task{
		Queue:      w.task.Queue,
		Key:        w.task.Key + lateWatchKey,
		MerchantNo: w.task.MerchantNo,
		OrderNo:    w.task.OrderNo,
		Event:      EventLateWatch,
		Schedule:   schedule,
		Timeout:    w.task.Timeout,
		Endpoint:   w.task.Endpoint,
		Body:       ask.encode(),
	}
}
