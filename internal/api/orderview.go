package api

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/mask"
)

// Orders reads and writes what the tasks of queues of kind order keep. The API
// knows what people ask of an order and are told of it, and not how it is kept.
type Orders interface {
	// Is reports whether a task is an order's, where no queue says what it is: it is
	// asked of tasks whose queue is no longer configured.
	Is(*bellman.Task) bool

	// Body is what the task of an order keeps of what was asked for.
	Body(OrderAsk) ([]byte, error)

	// Asked is what was asked for with a task.
	Asked(*bellman.Task) OrderAsk

	// Standing says how the order of a task stands.
	Standing(*bellman.Task) Standing

	// Expired reports whether an order can be paid no more, as far as was asked for.
	Expired(t *bellman.Task, now time.Time) bool
}

// A Standing is how an order stands, as far as one of its tasks says.
type Standing struct {
	State string // PENDING, PAID, PAID_REFUNDED, CLOSED, REVOKED, FAILED or UNKNOWN
	Late  string // PAID or PAID_REFUNDED: a payment that came after the decision; empty: none

	Watch   bool // the task is no order's own: it watches for a payment after the decision
	Closing bool // what comes are the steps of the close protocol
	Acting  bool // its next attempt closes or reverses: whoever asks for one gets a query instead
	Timed   bool // when its next attempt is due is a part of the protocol: it is not moved
}

// pending and paid are states of an order.
const pending = "PENDING"

func paid(state string) bool { return state == "PAID" || state == "PAID_REFUNDED" }

// standing is how an order stands by its task; zero for tasks of other kinds.
func (a *API) standing(kind string, t *bellman.Task) Standing {
	if kind != "order" || a.orders == nil {
		return Standing{}
	}
	return a.orders.Standing(t)
}

// request shows what a task sends, or for an order what was asked for.
func (a *API) request(kind string, t *bellman.Task) client.Request {
	if kind != "order" || a.orders == nil {
		contentType := ""
		for name, value := range t.Header {
			if strings.EqualFold(name, "Content-Type") {
				contentType = value
			}
		}
		return client.Request{Method: method(kind, t), URL: mask.URL(t.URL), Headers: client.MaskHeaders(t.Header), Body: mask.Body(string(t.Body), contentType)}
	}
	ask := a.orders.Asked(t)
	out := client.Request{Headers: map[string]string{}, Expires: duty(ask.Expires), CodeLife: duty(ask.CodeLife), Vars: ask.Vars}
	if ask.NotifyURL != "" || ask.NotifyJSON != nil {
		out.Notify = &client.Notify{URL: mask.URL(ask.NotifyURL), JSON: json.RawMessage(mask.Body(string(ask.NotifyJSON), ""))}
	}
	return out
}

// An overall standing is how an order stands by all of its tasks, gathered from
// the newest to the oldest: paid if one is paid, or else pending if one is pending,
// or else as the newest.
type overall struct {
	state, late string
	task        *bellman.Task // of that state; nil: none is an order's own
}

func (o *overall) add(t *bellman.Task, s *Standing) {
	if s.Late != "" && o.late == "" {
		o.late = s.Late
	}
	switch {
	case s.Watch:
	case o.task == nil,
		paid(s.State) && !paid(o.state),
		s.State == pending && o.state != pending && !paid(o.state):
		o.state, o.task = s.State, t
	}
}
