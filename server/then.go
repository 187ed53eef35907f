package server

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/poll"
	"github.com/bellmanhq/bellman/rule"
)

// thenOf returns who is notified of which decisions, and with which fields: those that the preset
// finds in the channel's answer, overridden by then.json. handlers are those of the queues that may
// be notified.
func (s *Server) thenOf(o *config.Order, c *config.Config, handlers map[string]bellman.Handler) (then order.Then, err error) {
	t := &o.Then
	if then.Default, err = recipients(t.Default, c, handlers); err != nil {
		return then, fmt.Errorf("then: %w", err)
	}
	for decision, told := range t.For {
		if then.For == nil {
			then.For = make(map[string][]order.Recipient, len(t.For))
		}
		if then.For[decision], err = recipients(told, c, handlers); err != nil {
			return then, fmt.Errorf("then.%s: %w", decision, err)
		}
	}
	if builtIn := o.Channel.Kind != "" || o.Channel.Account != ""; !builtIn {
		number := o.States.Preset + " " + t.JSON["transaction_id"]
		then.Numbers = fmt.Sprintf("%.4x", sha256.Sum256([]byte(number)))
	}
	if t.JSON == nil {
		return then, nil
	}
	values := make(map[string]*rule.Value, len(t.JSON))
	for name, text := range t.JSON {
		v, err := rule.CompileValue(text)
		if err != nil {
			return then, fmt.Errorf("then.json.%s: %w", name, err)
		}
		values[name] = v
	}
	then.Taken = func(o *order.Order, a *order.QueryAnswer, state string) (map[string]any, error) {
		return s.taken(values, o, a, state), nil
	}
	return then, nil
}

// taken evaluates the expressions of a then.json. A field that cannot be evaluated is logged and
// left out.
func (s *Server) taken(values map[string]*rule.Value, o *order.Order, a *order.QueryAnswer, state string) map[string]any {
	facts := rule.Facts{OrderNo: o.OrderNo, MerchantNo: o.MerchantNo, State: state, Vars: o.Vars, Taken: a.Taken}
	header := make(http.Header, len(a.Header))
	for name, value := range a.Header {
		header.Set(name, value)
	}
	answer := &rule.Answer{Status: a.Status, Body: a.Body, Header: header}
	taken := maps.Clone(a.Taken)
	if taken == nil {
		taken = make(map[string]any, len(values))
	}
	for name, v := range values {
		value, err := v.Evaluate(answer, facts)
		if err != nil { // the other fields are sent all the same
			s.log.Error("a field cannot be taken from the answer that decided an order", "field", "then.json."+name,
				"merchant_no", o.MerchantNo, "order_no", o.OrderNo, "err", err)
			continue
		}
		taken[name] = value
	}
	return taken
}

// recipients returns who is notified of one decision. The result is not nil, because nil would mean
// the default.
func recipients(told []config.Told, c *config.Config, handlers map[string]bellman.Handler) ([]order.Recipient, error) {
	all := make([]order.Recipient, 0, len(told))
	for _, to := range told {
		r := order.Recipient{Queue: to.Queue, Ordered: to.Ordered}
		h := handlers[to.Queue]
		if h, ok := h.(bellman.Checker); ok {
			r.Check = h.Check
		}
		q := queueNamed(c, to.Queue)
		switch {
		case q == nil:
			return nil, fmt.Errorf("there is no queue %s", to.Queue)
		case to.Refund:
			r.Refund = poll.RequestRefund(q.Order.Then.Tells())
		default:
			_, delivers := h.(*deliver.Handler)
			r.HasURL = q.URL != "" || !delivers
			r.Own = to.Own && r.HasURL
			r.Merchants = toMerchants(q.URL)
		}
		if to.Template != nil {
			var err error
			if r.Shape, err = to.Template.Compile(); err != nil {
				return nil, fmt.Errorf("template.%w", err)
			}
		}
		all = append(all, r)
	}
	return all, nil
}

// queueNamed returns a queue of the configuration; nil: there is none of that name.
func queueNamed(c *config.Config, name string) *config.Queue {
	for i := range c.Queues {
		if c.Queues[i].Name == name {
			return &c.Queues[i]
		}
	}
	return nil
}
