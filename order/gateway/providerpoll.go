package gateway

import (
	"context"
	"fmt"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/internal/exchange"
	"github.com/bellmanhq/bellman/order/poll"
	"github.com/bellmanhq/bellman/order/states"
)

// ProviderRefunds queries the refunds of one account at a provider, by the merchant's own number of
// them; Stripe's by the number that Stripe gave. It is safe for concurrent use.
type ProviderRefunds struct {
	*Provider
	states *states.Poll
}

var (
	_ poll.Channel    = (*ProviderRefunds)(nil)
	_ poll.RefChecker = (*ProviderRefunds)(nil)
)

// NewProviderRefunds returns the refunds of an account. Its errors are those of [NewProvider].
func NewProviderRefunds(o ProviderOptions) (*ProviderRefunds, error) {
	p, err := NewProvider(o)
	if err != nil {
		return nil, err
	}
	r := &ProviderRefunds{Provider: p}
	if r.states, err = states.CompilePoll(providers[o.Provider].refund); err != nil {
		return nil, fmt.Errorf("gateway: %s: %w", o.Provider, err)
	}
	return r, nil
}

// Query asks how a refund stands. With vars.amount, in the smallest unit, an answer about another
// amount is a query error.
func (r *ProviderRefunds) Query(ctx context.Context, o *order.Order) poll.Answer {
	a, err := r.ask(ctx, callRefund, o)
	if err != nil { // an unsigned word can slow us down and not decide
		a.Throttled = r.states.Read(a).Throttled
		return poll.Answer{Answer: exchange.Unread(a, err)}
	}
	read := r.states.Read(a)
	if want := o.Vars["amount"]; want != "" && read.Reading.Decides() {
		switch got, said := read.Taken["amount"]; {
		case !said: // no reason for an alert
			return poll.Answer{Answer: exchange.Unread(read.Answer, fmt.Errorf("the answer does not say how much was refunded: want %.20q", want))}
		case fmt.Sprint(got) != want:
			err := poll.OtherAmount(fmt.Sprintf("the answer is about a refund of %v, not of %.20q", got, want))
			return poll.Undecided(exchange.Unread(read.Answer, err), err)
		}
	}
	return read
}

// CheckRef returns an *[bellman.Invalid] if the provider cannot have such a refund, or if a
// variable is missing.
func (r *ProviderRefunds) CheckRef(o *order.Order, _ bool) error {
	bad := new(bellman.Invalid)
	r.protocol.check(callRefund, o, bad)
	return bad.Err()
}
