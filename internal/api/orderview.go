package api

import (
	"encoding/json"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/mask"
	"github.com/bellmanhq/bellman/order"
)

// pending and paid are states of an order.
const pending = "PENDING"

func paid(state string) bool { return state == "PAID" || state == "PAID_REFUNDED" }

// standing is how an order stands by its task; zero for tasks of other kinds.
func standing(t *bellman.Task) order.Standing {
	if t.Kind != bellman.KindOrder {
		return order.Standing{}
	}
	return order.StandingOf(t)
}

// request shows what a task sends, or for an order what was asked for.
func (a *API) request(t *bellman.Task) client.Request {
	if t.Kind != bellman.KindOrder {
		contentType := ""
		for name, value := range t.Header {
			if strings.EqualFold(name, "Content-Type") {
				contentType = value
			}
		}
		return client.Request{Method: method(t), URL: mask.URL(t.URL), Headers: client.MaskHeaders(t.Header), Body: mask.Body(string(t.Body), contentType)}
	}
	ask, err := order.ParseAsk(t.Body)
	if err != nil { // it was read when it was added
		ask = order.Ask{}
	}
	out := client.Request{Headers: map[string]string{}, OrderCreated: client.At(ask.Created), Expires: duty(ask.Expires), CodeLife: duty(ask.CodeLife), Vars: ask.Vars}
	if ask.Notify.URL != "" || ask.Notify.JSON != nil {
		out.Notify = &client.Notify{URL: mask.URL(ask.Notify.URL), JSON: json.RawMessage(mask.Body(string(ask.Notify.JSON), ""))}
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

func (o *overall) add(t *bellman.Task, s *order.Standing) {
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
