package order

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order/internal/wire"
	"github.com/bellmanhq/bellman/store"
)

// The events of the tasks that an order's watch adds. A decision's event is
// "order." and the state in lower case: order.paid, order.closed, ….
const (
	EventWatch       = "order.watch"        // an order's own task, if the caller gave no event
	EventUndecided   = "order.undecided"    // the schedule is used up, and on_exhausted is callback
	EventLateWatch   = "order.late_watch"   // the watch after CLOSED, REVOKED or FAILED
	EventLatePayment = "order.late_payment" // a payment after the decision

	EventDuplicatePayment = "order.duplicate_payment" // another payment of an order that is paid, or was paid late
)

// What a notification is about: the last part of its key.
const (
	tellDecided   = "decided"
	tellUndecided = "undecided"
	tellLate      = LatePayment
	tellDuplicate = DuplicatePayment
)

// lateWatchKey ends the key of a watch for a late payment.
const lateWatchKey = "/late_watch"

// TellKey returns the key of a notification about an order with this queue and key. The argument
// what is "decided", "undecided", "late_payment" or "duplicate_payment/HASH". The key contains the
// order's queue, because one order number may be tried at two channels, and one queue may notify
// about both.
func TellKey(queue, key, what string) string { return queue + "/" + key + "/" + what }

// isTold reports whether a text can be the last part of a notification's key.
func isTold(part string) bool {
	return part == tellDecided || part == tellUndecided || part == tellLate || strings.HasPrefix(part, tellDuplicate+"/")
}

// Tells returns the queue of the order that a key tells of, if it has the form of [TellKey]; empty:
// it has another form.
func Tells(key string) (queue string) {
	queue, rest, _ := strings.Cut(key, "/")
	at := strings.LastIndexByte(rest, '/')
	if at > 0 && !isTold(rest[at+1:]) {
		at = strings.LastIndexByte(rest[:at], '/') // for duplicate_payment/HASH
	}
	if at > 0 && isTold(rest[at+1:]) {
		return queue
	}
	return ""
}

// maxOwn is how many tasks of an order's number [AddOwn] looks through: other merchants may have
// orders of that number.
const maxOwn = 200

// AddOwn adds the notifications that were sent to the address of their queue ([Recipient.Own]) to
// the tasks of one order, which are sorted from the newest. Such a notification has the order's
// number and no merchant. Those for which sees returns false are left out.
func AddOwn(ctx context.Context, list func(context.Context, store.Filter, bellman.ID, int) ([]*bellman.Task, bellman.ID, error), tasks []*bellman.Task, sees func(*bellman.Task) bool) ([]*bellman.Task, error) {
	if !slices.ContainsFunc(tasks, func(t *bellman.Task) bool { return t.Kind != bellman.KindNotify }) {
		return tasks, nil
	}
	same, _, err := list(ctx, store.Filter{OrderNo: tasks[0].OrderNo}, bellman.ID{}, maxOwn)
	if err != nil {
		return nil, err
	}
	all := slices.Clone(tasks)
	for _, t := range same {
		if t.MerchantNo == "" && sees(t) && slices.ContainsFunc(tasks, func(of *bellman.Task) bool { return tells(t.Key, of) }) {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b *bellman.Task) int { return bytes.Compare(b.ID[:], a.ID[:]) })
	return all, nil
}

// tells reports whether key is that of a notification about a task.
func tells(key string, of *bellman.Task) bool {
	what, is := strings.CutPrefix(key, TellKey(of.Queue, of.Key, ""))
	return is && isTold(what)
}

// news returns the News of an order's result. Its key does not depend on the task that finds the
// result, so each result is notified once. taken are the fields of the payment.
func (w *watched) news(m move, taken json.RawMessage, now time.Time) News {
	l := &w.life
	n := News{
		Of: w.task, Order: w.order, Decision: l.State, Key: w.task.Key, What: m.tell, Event: "order." + l.reason(),
		Notify: w.ask.Notify, Taken: taken,
	}
	if w.ask.Watch != nil {
		n.Key = w.ask.Watch.Of
	}
	n.Fields = map[string]any{
		"merchant_no": w.task.MerchantNo,
		"order_no":    w.task.OrderNo,
		"order_state": l.State,
		"decided_at":  wire.When(time.UnixMilli(l.DecidedAt)),
	}
	if l.Close == CloseRefunded.String() {
		n.Fields["refunded"] = true
	}
	back := w.aged && l.perhapsReversed()
	switch m.tell {
	case tellUndecided:
		n.Event = EventUndecided
		if m.reason != "exhausted" {
			n.Fields["reason"] = m.reason
		}
		return n
	case tellLate:
		n.Decision, n.Event = LatePayment, EventLatePayment
		n.Fields["late_payment"] = l.Late
		n.NoRefund = w.given || back || l.Late != Paid.String() || l.State == StateUnknown || l.State == StatePending
	case tellDuplicate:
		n.Decision, n.Event = DuplicatePayment, EventDuplicatePayment
		n.What += "/" + hashed(m.payment)
		n.Fields["duplicate_payment"] = m.reading.String()
		n.NoRefund = m.reading != Paid || w.given || back || l.Given // another number may be the same payment
	default:
		return n
	}
	n.Fields["found_at"] = wire.When(now)
	if l.State == StatePending { // its watch was ended manually
		n.Fields["order_state"] = StateUnknown
		delete(n.Fields, "decided_at")
	}
	return n
}

// hashed returns a short text for the number of a payment, which may be of any length.
func hashed(number string) string {
	sum := sha256.Sum256([]byte(number))
	return hex.EncodeToString(sum[:8])
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
