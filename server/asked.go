package server

import (
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/api"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/schedule"
)

// orders shows orders to the API in its own words.
type orders struct{}

func (orders) Is(t *bellman.Task) bool {
	a, err := order.ParseAsk(t.Body)
	return err == nil && t.URL == "" && !a.Created.IsZero() // which each has since it was accepted
}

func (orders) Body(ask api.OrderAsk) ([]byte, error) {
	a := order.Ask{Expires: ask.Expires, CodeLife: ask.CodeLife, Vars: ask.Vars, Notify: order.Notify{URL: ask.NotifyURL, JSON: ask.NotifyJSON}}
	return a.Encode()
}

func (orders) Asked(t *bellman.Task) api.OrderAsk {
	a, err := order.ParseAsk(t.Body)
	if err != nil { // it was read when it was added
		return api.OrderAsk{}
	}
	return api.OrderAsk{Expires: a.Expires, CodeLife: a.CodeLife, Vars: a.Vars, NotifyURL: a.Notify.URL, NotifyJSON: a.Notify.JSON}
}

func (orders) Standing(t *bellman.Task) api.Standing {
	if t.Event == order.EventLateWatch && len(t.Data) == 0 { // it knows its order's state from the start
		if a, err := order.ParseAsk(t.Body); err == nil && a.Watch != nil {
			return api.Standing{State: a.Watch.State, Watch: true}
		}
	}
	l, err := order.ParseLife(t.Data)
	if err != nil {
		return api.Standing{State: order.StateUnknown}
	}
	s := api.Standing{State: order.StateOf(t), Late: l.Late}
	switch l.Stage {
	case order.Watching, order.Reclosing:
		s.Watch = true
	case order.Close, order.Reverse:
		s.Closing, s.Acting = true, true
	case order.Confirming:
		s.Closing, s.Timed = true, true
	case order.Closing, order.Reversing:
		s.Closing = true
	}
	return s
}

// Kind is what a task is by what it says itself, notify or order: for whoever reads
// a store without its configuration.
func Kind(t *bellman.Task) string {
	if (orders{}).Is(t) {
		return "order"
	}
	return "notify"
}

// ShowOrder shows a task as the API does if it is an order's, by what the task
// itself says: for whoever reads a store without its configuration.
func ShowOrder(t *bellman.Task, d *client.TaskDetail) {
	a, err := order.ParseAsk(t.Body)
	if err != nil || a.Created.IsZero() || t.URL != "" { // each order's has been given the former, and none the latter
		return
	}
	s := orders{}.Standing(t)
	d.Kind, d.Method, d.MaxAttempts, d.OrderState, d.LatePayment = "order", t.Method, nil, s.State, s.Late
	d.Request = client.Request{Method: t.Method, Headers: map[string]string{}, Vars: a.Vars}
	if a.Expires > 0 {
		d.Request.Expires = schedule.FormatDuration(a.Expires)
	}
	if a.Notify.URL != "" || a.Notify.JSON != nil {
		d.Request.Notify = &client.Notify{URL: a.Notify.URL, JSON: a.Notify.JSON}
	}
}

func (orders) Expired(t *bellman.Task, now time.Time) bool {
	a, err := order.ParseAsk(t.Body)
	if err != nil || a.Watch != nil || a.Expires == 0 {
		return false
	}
	if a.Created.IsZero() {
		a.Created = t.Created()
	}
	return !a.Created.Add(a.Expires).After(now)
}
