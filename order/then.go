package order

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order/internal/wire"
)

// maxTaken limits the fields taken from an answer, in bytes of JSON.
const maxTaken = 8 << 10

// Tell returns the notification about what became of a task. key is the key of the task that was
// decided, and what ends the key of the notification, so one result is told once. The body holds
// the fields of n, overridden by those taken from the answer, overridden by fields.
func (t *Then) Tell(of *bellman.Task, key, what, event string, n Notify, taken json.RawMessage, fields map[string]any) bellman.Task {
	told := bellman.Task{
		Queue:      t.Queue,
		Key:        TellKey(of.Queue, key, what),
		MerchantNo: of.MerchantNo,
		OrderNo:    of.OrderNo,
		Event:      event,
		URL:        n.URL,
		Header:     map[string]string{"Content-Type": "application/json"},
		Body:       wire.Join(fields, n.JSON, taken),
	}
	if t.Ordered {
		told.OrderingKey = key
	}
	if t.Merchants && told.URL == "" {
		told.Endpoint = bellman.MerchantEndpoint(told.MerchantNo) // so that it is added whatever happened to the merchant meanwhile
	}
	return told
}

// Fields returns the fields of an answer that are sent to the merchant, as a JSON object; empty:
// none. state is the decided state. If an error says that fields are missing, the others are
// returned all the same.
func (t *Then) Fields(o *Order, a *QueryAnswer, state string) (json.RawMessage, error) {
	fields, err := t.take(o, a, state)
	text, wrong := encodeTaken(fields)
	return text, errors.Join(err, wrong)
}

// take returns the fields of an answer that are sent to the merchant.
func (t *Then) take(o *Order, a *QueryAnswer, state string) (Taken, error) {
	if t.Taken == nil {
		return a.Taken, nil
	}
	return t.Taken(o, a, state)
}

// encodeTaken returns fields as a JSON object; empty: there are none.
func encodeTaken(fields Taken) (json.RawMessage, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	text, err := wire.Marshal(fields)
	if err == nil && len(text) > maxTaken {
		return nil, fmt.Errorf("%d bytes of JSON: want %d at most", len(text), maxTaken)
	}
	return text, err
}

// CheckNotify adds to bad why the merchant could not be notified as n says: when the result is
// known, no caller is there to receive the error. sample is a notification as Tell returns it.
func (t *Then) CheckNotify(bad *bellman.Invalid, n Notify, sample func() bellman.Task) {
	switch {
	case t.Queue == "" && !n.IsZero():
		bad.Add("notify", "the queue has no then: nobody would be told")
		return
	case t.Queue == "":
		return
	case n.URL == "" && !t.HasURL && !t.Merchants:
		bad.Add("notify.url", "is missing: queue "+t.Queue+", which tells the merchant, has no address of its own")
		return
	case t.Check == nil:
		return
	}
	told := sample()
	told.Endpoint = "" // so that the check says whether the merchant has an address
	err := t.Check(&told)
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
			bad.Add(field, fmt.Sprintf("as a task of queue %s: %s: %s", t.Queue, f.Field, f.Problem))
		}
	case err != nil:
		bad.Add("notify", err.Error())
	}
}
