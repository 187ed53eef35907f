package api

import (
	"cmp"
	"encoding/json"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/mask"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/poll"
)

// standing returns the state of an order from its task; zero for tasks of other kinds.
func standing(t *bellman.Task) order.Standing {
	if t.Kind != bellman.KindOrder {
		return order.Standing{}
	}
	return order.StandingOf(t)
}

// payment returns what the channel said about an order's payment; nil: nothing.
func payment(s *order.Standing) *client.Payment {
	p := s.Payment()
	out := client.Payment{TransactionID: p.TransactionID, Amount: p.Amount, Currency: p.Currency, PaidAt: client.At(p.At)}
	if out == (client.Payment{}) {
		return nil
	}
	return &out
}

// atChannel returns what the channel said about a refund or transfer; nil: nothing.
func atChannel(s *poll.Standing) *client.AtChannel {
	var out client.AtChannel
	json.Unmarshal([]byte(s.Taken), &out) // the handler wrote it with these types; empty: nothing is known
	if out == (client.AtChannel{}) {
		return nil
	}
	return &out
}

// orderAsk returns what was asked about an order. Of a poll it has the fields that an order has
// too.
func orderAsk(t *bellman.Task) order.Ask {
	if t.Kind == bellman.KindPoll {
		ask, _ := poll.ParseAsk(t.Body) // it was parsed when it was added
		return order.Ask{Account: ask.Account, Vars: ask.Vars, Notify: ask.Notify}
	}
	ask, _ := order.ParseAsk(t.Body) // as above
	return ask
}

// request returns what a task sends; for an order or poll, what was requested.
func (a *API) request(t *bellman.Task) client.Request {
	if !queries(t) {
		return client.Request{Method: method(t), URL: mask.URL(t.URL), Headers: client.MaskHeaders(t.Header), Body: mask.Body(string(t.Body), mask.ContentType(t.Header))}
	}
	ask := orderAsk(t)
	out := client.Request{
		Headers: map[string]string{}, OrderCreated: client.At(ask.Created), Expires: duty(ask.Expires), CodeLife: duty(ask.CodeLife), Vars: ask.Vars,
		ChannelOrderNo: cmp.Or(ask.ChannelOrderNo, t.OrderNo), Account: ask.Account, Amount: ask.Amount, Currency: ask.Currency,
	}
	if ask.Notify.URL != "" || ask.Notify.JSON != nil {
		out.Notify = &client.Notify{URL: mask.URL(ask.Notify.URL), JSON: json.RawMessage(mask.Body(string(ask.Notify.JSON), ""))}
	}
	return out
}
