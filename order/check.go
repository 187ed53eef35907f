package order

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/coded"
)

// Check fills in Key (MERCHANT/ORDER), Event and Endpoint if they are empty, and sets Due. It
// writes the expiry and the time of creation into the Body, so that a later change of the queue's
// rules does not move them. It returns an *[bellman.Invalid] that names every wrong field:
// merchant_no, order_no, key, url, repeat, the fields of the body, and notify.url if the merchant
// could not be notified.
func (h *Handler) Check(task *bellman.Task) error {
	bad := new(bellman.Invalid)
	if task.MerchantNo == "" {
		bad.Add("merchant_no", "is missing: an order task needs it")
	}
	if task.OrderNo == "" {
		bad.Add("order_no", "is missing: an order task needs it")
	}
	if task.URL != "" {
		bad.Add("url", "an order task is no request: want the merchant's address in notify.url")
	}
	if task.Repeat != "" {
		bad.Add("repeat", "an order is decided once")
	}
	ask, err := ParseAsk(task.Body)
	if wrong := new(bellman.Invalid); errors.As(err, &wrong) {
		bad.Fields = append(bad.Fields, wrong.Fields...)
		return bad.Err()
	}
	if task.Key == "" {
		task.Key = task.MerchantNo + "/" + task.OrderNo
	}
	if task.Event == "" {
		task.Event = EventWatch
	}
	if task.Endpoint == "" {
		task.Endpoint = h.rules.Endpoint
	}
	if ask.Watch == nil && strings.HasSuffix(task.Key, lateWatchKey) {
		bad.Add("key", "ends in "+lateWatchKey+", as the key of the watch that follows a close does")
	}
	if ask.Expires == 0 {
		ask.Expires = h.rules.Expires
	}
	if ask.Created.IsZero() {
		ask.Created = h.rules.Now().UTC().Truncate(time.Millisecond)
	}
	if ask.Watch == nil {
		h.checkNotify(bad, task, &ask)
		h.checkChannel(bad, task, &ask)
		_, task.Due = h.ends(&ask) // a schedule that begins later must not hold it up
	}
	if len(bad.Fields) == 0 {
		task.Body = ask.encode()
	}
	return bad.Err()
}

// checkChannel checks that the channel can be queried about the order.
func (h *Handler) checkChannel(bad *bellman.Invalid, task *bellman.Task, ask *Ask) {
	c, ok := h.channel.(OrderChecker)
	if !ok || task.MerchantNo == "" || task.OrderNo == "" {
		return
	}
	err := c.CheckOrder(&Order{MerchantNo: task.MerchantNo, OrderNo: task.OrderNo, Vars: ask.Vars, Created: ask.Created})
	if wrong := new(bellman.Invalid); errors.As(err, &wrong) {
		bad.Fields = append(bad.Fields, wrong.Fields...)
	} else if err != nil {
		bad.Add("order_no", err.Error())
	}
}

// checkNotify checks that the merchant can be notified: when the order is decided, no caller is
// there to receive the error.
func (h *Handler) checkNotify(bad *bellman.Invalid, task *bellman.Task, ask *Ask) {
	then := &h.rules.Then
	switch {
	case then.Queue == "" && (ask.Notify.URL != "" || len(ask.Notify.JSON) > 0):
		bad.Add("notify", "the queue has no then: nobody would be told")
		return
	case then.Queue == "":
		return
	case ask.Notify.URL == "" && !then.HasURL && !then.Merchants:
		bad.Add("notify.url", "is missing: queue "+then.Queue+", which tells the merchant, has no address of its own")
		return
	case then.Check == nil:
		return
	}
	w := watched{task: task, ask: *ask, life: Life{Stage: Decided, State: Paid.String()}}
	sample := w.tell(tellDecided, then, ask.Created)
	err := then.Check(&sample)
	wrong := new(bellman.Invalid)
	switch {
	case errors.As(err, &wrong):
		for _, f := range wrong.Fields {
			field := "notify"
			switch f.Field {
			case "url":
				field = "notify.url"
			case "body":
				field = "notify.json"
			}
			bad.Add(field, fmt.Sprintf("as a task of queue %s: %s: %s", then.Queue, f.Field, f.Problem))
		}
	case err != nil:
		bad.Add("notify", err.Error())
	}
}

// Complete applies an outcome from outside: the channel's notice, or what a person looked up. The
// outcome is PAID, PAID_REFUNDED, CLOSED, REVOKED or FAILED, and decides as an answer to a query
// does.
//
// After the decision a payment is a late payment, and the same outcome again changes nothing. Any
// other outcome is an [bellman.ErrConflict]. An order that is UNKNOWN accepts every outcome.
func (h *Handler) Complete(task *bellman.Task, outcome string, now time.Time) (bellman.Verdict, error) {
	r, err := ParseReading(outcome)
	if err != nil || !r.Decides() {
		return bellman.Verdict{}, &bellman.Invalid{Fields: []bellman.FieldError{{
			Field: "outcome", Problem: fmt.Sprintf("%.40q: want one of %s", outcome, strings.Join(readingNames[Paid:], ", "))}}}
	}
	w, err := h.read(task, now)
	if err != nil {
		return bellman.Verdict{}, err
	}
	l, a := &w.life, answer{act: askQuery, reading: r, started: now}
	var m move
	switch {
	case r.IsPaid() && (l.watches() || l.over() || task.State.Ended()):
		if l.watches() {
			*l, m = watch(w.plan, *l, a, now)
		} else {
			*l, m = look(*l, a)
		}
		if m.tell == "" { // the notification was sent before
			return bellman.Verdict{}, nil
		}
	case r.String() == l.State:
		return bellman.Verdict{}, nil
	case l.watches(), l.over() && l.State != StateUnknown:
		return bellman.Verdict{}, coded.Errorf("order.decided", "%w: the order is %s", bellman.ErrConflict, l.State)
	default:
		*l, m = decide(w.plan, *l, r, now)
	}
	if task.State.Ended() {
		m.next = bellman.Again
	}
	v := bellman.Verdict{Next: m.next}
	h.follow(&v, w, m, &QueryAnswer{}, now)
	return v, nil
}

// Late handles the verdict of an attempt that was in flight while the order was decided or its
// watch cancelled. A payment in it is a late payment. The zero Verdict: nothing follows.
func (h *Handler) Late(task *bellman.Task, verdict bellman.Verdict, now time.Time) bellman.Verdict {
	found, err := ParseLife(verdict.Data)
	if err != nil {
		return bellman.Verdict{}
	}
	reading, err := ParseReading(cmp.Or(found.Late, found.State))
	if err != nil || !reading.IsPaid() {
		return bellman.Verdict{}
	}
	w, err := h.read(task, now)
	if err != nil { // it was read before the attempt
		return bellman.Verdict{}
	}
	var m move
	if w.life, m = look(w.life, answer{act: askQuery, reading: reading, started: now}); m.tell == "" {
		return bellman.Verdict{}
	}
	w.life.Taken = found.Taken
	v := bellman.Verdict{}
	h.follow(&v, w, m, &QueryAnswer{}, now)
	return v
}
