package resend

import (
	"cmp"
	"math/big"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/internal/money"
	"github.com/bellmanhq/bellman/order"
)

// OrderStates are the states of an order.
var OrderStates = []string{"PENDING", "PAID", "PAID_REFUNDED", "CLOSED", "REVOKED", "FAILED", "UNKNOWN"}

// An OrderPick selects orders by what is in their tasks. No field has an index: each task is
// checked. Zero fields select all orders.
type OrderPick struct {
	State, Channel, Account string
	Least, Most             string // bounds of the amount in whole units, such as 88.88
}

// CheckState returns why a text is not the state of an order.
func (p *OrderPick) CheckState() error {
	if p.State != "" && !slices.Contains(OrderStates, p.State) {
		return coded.Errorf("filter.order_state", "%.40q is no state of an order: want one of %s", p.State, strings.Join(OrderStates, ", "))
	}
	return nil
}

// CheckAmount returns why a text is not a bound of an amount.
func CheckAmount(text string) error {
	if text == "" {
		return nil
	}
	if _, ok := money.Parse(text, "CLF"); !ok { // the currency with the most decimals
		return coded.Errorf("filter.amount", "%.40q is no amount: want one such as 88.88", text)
	}
	return nil
}

// Takes reports whether p selects a task. It selects no task that only watches an order or keeps
// notices. channels returns the channel of a queue; empty: unknown.
func (p *OrderPick) Takes(t *bellman.Task, channels func(queue string) string) bool {
	if t.Kind != bellman.KindOrder {
		return false
	}
	s := order.StandingOf(t)
	switch {
	case s.Beside, p.State != "" && s.State != p.State:
		return false
	case p.Channel != "" && ChannelOf(t, channels) != p.Channel:
		return false
	case p.Account == "" && p.Least == "" && p.Most == "":
		return true
	}
	ask, err := order.ParseAsk(t.Body)
	if err != nil || p.Account != "" && ask.Account != p.Account {
		return false
	}
	return p.Least == "" && p.Most == "" || ask.Amount > 0 && p.costs(&ask)
}

// costs reports whether an amount, in the main unit of any currency, such as 88.88, is within the
// bounds.
func (p *OrderPick) costs(ask *order.Ask) bool {
	decimals, known := money.Decimals(ask.Currency)
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil)
	amount := new(big.Rat).SetFrac(big.NewInt(ask.Amount), unit)
	for _, bound := range []struct {
		text string
		sign int
	}{{p.Least, 1}, {p.Most, -1}} {
		if bound.text == "" {
			continue
		}
		n, ok := new(big.Rat).SetString(bound.text)
		if !known || !ok || amount.Cmp(n) == -bound.sign {
			return false
		}
	}
	return true
}

// ChannelOf returns the channel of an order: its queue's, or that of its account in a queue for
// accounts of several channels. Empty: it has none that is built in.
func ChannelOf(t *bellman.Task, channels func(queue string) string) string {
	account, _, _ := strings.Cut(t.Endpoint, ":")
	if strings.Contains(t.Endpoint, "://") {
		account = ""
	}
	return cmp.Or(channels(t.Queue), account)
}
