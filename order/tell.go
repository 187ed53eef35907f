package order

import (
	"bytes"
	"encoding/json"
	"maps"
	"time"

	"github.com/bellmanhq/bellman"
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

// maxTaken limits the fields taken from an answer, in bytes of JSON.
const maxTaken = 8 << 10

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
		"decided_at":  when(time.UnixMilli(l.DecidedAt)),
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
		fields["found_at"] = when(now)
		if l.State == StatePending { // its watch was ended manually
			fields["order_state"] = StateUnknown
			delete(fields, "decided_at")
		}
	}
	told := bellman.Task{
		Queue:      then.Queue,
		Key:        TellKey(w.task.Queue, key, what),
		MerchantNo: w.task.MerchantNo,
		OrderNo:    w.task.OrderNo,
		Event:      event,
		URL:        w.ask.Notify.URL,
		Header:     map[string]string{"Content-Type": "application/json"},
		Body:       join(w.ask.Notify.JSON, l.Taken, fields),
	}
	if then.Ordered {
		told.OrderingKey = key
	}
	return told
}

// lateWatch returns the task that looks for a late payment after a decision without payment.
func (w *watched) lateWatch(until time.Time, schedule string) bellman.Task {
	ask := w.ask
	ask.Watch = &Watch{Of: w.task.Key, State: w.life.State, Decided: time.UnixMilli(w.life.DecidedAt).UTC(), Until: until.UTC().Truncate(time.Millisecond), Unborn: w.life.unborn()}
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

// join makes one object: the caller's fields, overridden by those from the answer, overridden by the
// order's own.
func join(notify, taken json.RawMessage, fields map[string]any) []byte {
	all := make(map[string]any)
	for _, raw := range []json.RawMessage{notify, taken} {
		var more map[string]json.RawMessage
		if len(raw) > 0 && json.Unmarshal(raw, &more) == nil { // both were parsed as objects before
			for name, value := range more {
				all[name] = value
			}
		}
	}
	maps.Copy(all, fields)
	body, err := marshal(all)
	if err != nil { // cannot happen: raw JSON and texts
		panic(err)
	}
	return body
}

// marshal writes JSON without escaping HTML characters: < stays <.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

func when(t time.Time) string {
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
