package order

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order/internal/wire"
)

// maxTaken limits the fields taken from an answer, in bytes of JSON.
const maxTaken = 8 << 10

// Decisions that are no state of an order.
const (
	LatePayment      = "late_payment"      // a payment after the decision
	DuplicatePayment = "duplicate_payment" // another payment of an order that is paid, or was paid late
)

// Decisions lists the decisions about an order of which queues can be notified: its states,
// late_payment and duplicate_payment.
func Decisions() []string {
	return append(slices.Clone(readingNames[Paid:]), StateUnknown, LatePayment, DuplicatePayment)
}

// Then says who is notified of the result of an order, refund or transfer. The zero Then: nobody.
type Then struct {
	// Default are notified of each decision that For does not name. They are not notified of a
	// duplicate payment, and of UNKNOWN only if OnExhausted is callback.
	Default []Recipient

	// For has the recipients of single decisions, by their names: those of [Decisions], or done and
	// failed of a poll. An empty list: nobody is notified.
	For map[string][]Recipient

	// Taken returns the fields of the notification from the answer that decided the order, or that
	// showed a late payment. state is PAID, CLOSED, …. An error is logged, and the fields returned
	// with it are sent. A panic is such an error, without fields. Nil: the answer's Taken.
	Taken func(o *Order, a *QueryAnswer, state string) (map[string]any, error)

	// Numbers names the way in which the queue reads what was paid, and the number of the payment:
	// read in another way, one payment may have another number, and a second number causes no
	// refund. Empty: the channel itself says what was paid, as a built-in one does. Taken then only
	// changes the notification; the answer's own Taken is compared with the order's amount, kept
	// and refunded.
	Numbers string
}

// tellsOnly reports whether Taken only changes the notification.
func (t *Then) tellsOnly() bool { return t.Taken != nil && t.Numbers == "" }

// A Recipient is a queue that is notified. Queue is required.
type Recipient struct {
	Queue  string // a notify queue; with Refund: a queue of kind poll
	HasURL bool   // the queue has an address, for orders that have none

	// Own says that the queue notifies its own address and signs with its own keys, whatever
	// address and keys the order's merchant has: a desk, a ledger.
	Own bool

	// Merchants says that the queue knows merchants. An order without an address is then notified
	// to the address that its merchant has at that time. Check returns an error if the merchant has
	// none.
	Merchants bool

	// Ordered sends the notifications of one order one after the other: the order's key is their
	// ordering key. False: they are sent concurrently.
	Ordered bool

	// Shape writes the notification in a form of the platform's own. Nil: bellman's JSON.
	Shape *Shape

	// Refund returns the task that requests the refund of a late or duplicate payment. Its key and
	// its number at the channel depend on the order and the payment alone, so that it is requested
	// once. Nil: the recipient is notified.
	Refund func(queue string, n *News) bellman.Task

	// Check returns an *[bellman.Invalid] that names what is wrong with a task for the queue. It is
	// called before the order is accepted. Nil: no check.
	Check func(task *bellman.Task) error
}

// News is the content of the notifications about a task.
type News struct {
	Of       *bellman.Task
	Order    Order  // as the channel knows it
	Decision string // a name of Then.For

	Key   string // of the task that was decided
	What  string // ends the key of the notification, so that one result is notified once
	Event string // of the notification

	// The notification's JSON has the fields of Notify, overridden by those of Taken, overridden by
	// Fields.
	Notify Notify
	Taken  json.RawMessage // of the payment; empty: none
	Fields map[string]any

	// Paid are the fields of the payment as the channel says them; empty: those of Taken.
	Paid json.RawMessage

	// NoRefund says that no refund is requested. The channel refunded the payment already, or a
	// reverse or cancel may have given its money back. Or the order is UNKNOWN, so that nobody was
	// notified of a failure. Or not the channel but a caller named one of two payments.
	NoRefund bool
}

// recipients returns the recipients of a decision.
func (t *Then) recipients(decision string) []Recipient {
	to, named := t.For[decision]
	if !named && decision != DuplicatePayment {
		return t.Default
	}
	return to
}

// all returns every recipient, each with a decision of which it is notified.
func (t *Then) all() (all []Recipient, of []string) {
	for _, decision := range append([]string{""}, slices.Sorted(maps.Keys(t.For))...) {
		for _, r := range t.recipients(decision) {
			all, of = append(all, r), append(of, decision)
		}
	}
	return all, of
}

// Tell returns the tasks that notify the recipients of news. An error says who cannot be notified,
// or not in full; the tasks returned with it are to be added all the same. A panic of a recipient's
// Refund or Check is such an error.
func (t *Then) Tell(n *News) (tasks []bellman.Task, err error) {
	to := t.recipients(n.Decision)
	tasks = make([]bellman.Task, 0, len(to)+1) // with room for the record of a notice
	for _, r := range to {
		if r.Refund != nil && n.NoRefund {
			continue
		}
		var task bellman.Task
		wrong := guard("the recipient", func() (err error) {
			task, err = r.task(n)
			return err
		})
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("queue %s: %w", r.Queue, wrong))
		}
		if task.Queue != "" {
			tasks = append(tasks, task)
		}
	}
	return tasks, err
}

// task returns the task that notifies a recipient. If an error says that fields are missing, the
// task has the others. A task without a queue cannot be added.
func (r *Recipient) task(n *News) (bellman.Task, error) {
	if r.Refund != nil {
		refund := r.Refund(r.Queue, n)
		if r.Check == nil {
			return refund, nil
		}
		checked := refund
		switch err := r.Check(&checked); {
		case errors.Is(err, bellman.ErrUnreachable), errors.Is(err, context.DeadlineExceeded): // the engine checks it again when the store answers
		case err != nil:
			return bellman.Task{}, fmt.Errorf("the refund cannot be requested: %w", err)
		}
		return refund, nil
	}
	task := bellman.Task{
		Queue:      r.Queue,
		Key:        TellKey(n.Of.Queue, n.Key, n.What),
		MerchantNo: n.Of.MerchantNo,
		OrderNo:    n.Of.OrderNo,
		Event:      n.Event,
		URL:        n.Notify.URL,
		Header:     map[string]string{"Content-Type": "application/json"},
		Body:       wire.Join(n.Fields, n.Notify.JSON, n.Taken),
	}
	if r.Ordered {
		task.OrderingKey = n.Key
	}
	switch {
	case r.Own:
		task.URL, task.MerchantNo = "", "" // a merchant's address and keys would override the queue's
	case r.Merchants && task.URL == "":
		task.Endpoint = bellman.MerchantEndpoint(task.MerchantNo) // so that it is added whatever happened to the merchant meanwhile
	}
	if r.Shape == nil {
		return task, nil
	}
	return task, r.Shape.write(&task, n)
}

// Fields returns the fields of an answer that are sent to the merchant, and those of the payment,
// refund or transfer as the channel says them. Each is a JSON object; empty: none. state is the
// decided state. If an error says that fields are missing, the others are returned all the same.
func (t *Then) Fields(o *Order, a *QueryAnswer, state string) (told, paid json.RawMessage, err error) {
	f, err := t.take(o, a, state)
	told, wrong := encodeTaken(f.told)
	paid = told
	if t.tellsOnly() {
		paid, _ = encodeTaken(f.paid) // about as long as told; empty if it is too long
	}
	return told, paid, errors.Join(err, wrong)
}

// facts are the fields of an answer that decides: those that are sent to the merchant, and those of
// the payment as the channel says them. They differ only if [Then.Taken] only changes the
// notification. Nil: the answer has none.
type facts struct{ told, paid Taken }

// take returns the fields of an answer. A payment's number that a gateway writes as a number is the
// same as a text.
func (t *Then) take(o *Order, a *QueryAnswer, state string) (f facts, err error) {
	f.told = a.Taken
	if t.Taken != nil {
		f.told = nil
		err = guard("Then.Taken", func() (err error) {
			f.told, err = t.Taken(o, a, state)
			return err
		})
	}
	switch number := f.told["transaction_id"].(type) {
	case int, int64, uint64, json.Number:
		f.told = maps.Clone(f.told)
		f.told["transaction_id"] = fmt.Sprint(number)
	}
	f.paid = f.told
	if t.tellsOnly() && len(a.Taken) > 0 {
		f.paid = maps.Clone(a.Taken)
		for name, value := range f.told {
			if _, own := a.Taken[name]; !own {
				f.paid[name] = value
			}
		}
	}
	return f, err
}

// encodeTaken returns fields as a JSON object; empty: there are none.
func encodeTaken(fields Taken) (json.RawMessage, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	text, err := wire.Object(fields)
	if err == nil && len(text) > maxTaken {
		return nil, fmt.Errorf("%d bytes of JSON: want %d at most", len(text), maxTaken)
	}
	return text, err
}

// CheckNotify adds to bad why a recipient could not be notified as n says. It is called when the
// task is created: when the result is known, no caller is there to receive the error. sample
// returns the news of a payment.
func (t *Then) CheckNotify(bad *bellman.Invalid, n Notify, sample func() News) {
	all, decisions := t.all()
	if len(all) == 0 {
		if !n.IsZero() {
			bad.Add("notify", "the queue has no then: nobody would be told")
		}
		return
	}
	atMerchant := func(r Recipient) bool { return r.Refund == nil && !r.Own }
	if n.URL != "" && !slices.ContainsFunc(all, atMerchant) {
		bad.Add("notify.url", "nobody would be told there: every recipient of the queue's then has an address of its own. Leave it out")
		return
	}
	seen := make(map[string]bool)
	for i, r := range all {
		if noted := len(bad.Fields); !seen[r.Queue] {
			seen[r.Queue] = true
			if atMerchant(r) && n.URL == "" && !r.HasURL && !r.Merchants {
				bad.Add("notify.url", "is missing: queue "+r.Queue+", which tells the merchant, has no address of its own")
			} else if r.Check != nil {
				news := sample()
				news.Decision = decisions[i]
				r.checkSample(bad, &news)
			}
			if len(bad.Fields) > noted {
				return // the other recipients would report the same
			}
		}
	}
}

// checkSample adds to bad why a recipient could not be notified of news such as n.
func (r *Recipient) checkSample(bad *bellman.Invalid, n *News) {
	err := guard("the recipient", func() error {
		var task bellman.Task
		if r.Refund != nil {
			task = r.Refund(r.Queue, n)
		} else {
			task, _ = r.task(n) // a sample lacks fields
		}
		task.Endpoint = "" // so that the check says whether the merchant has an address
		return r.Check(&task)
	})
	wrong := new(bellman.Invalid)
	switch {
	case errors.As(err, &wrong):
		for _, f := range wrong.Fields {
			field := "notify"
			switch {
			case r.Refund != nil:
				field = cmp.Or(map[string]string{"ref_no": "order_no"}[f.Field], f.Field)
			case f.Field == "url":
				field = "notify.url"
			case f.Field == "body":
				field = "notify.json"
			}
			bad.Add(field, fmt.Sprintf("as a task of queue %s: %s: %s", r.Queue, f.Field, f.Problem))
		}
	case err != nil:
		bad.Add("notify", err.Error())
	}
}
