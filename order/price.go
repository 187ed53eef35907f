package order

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/bellmanhq/bellman/internal/money"
)

// mismatch says why a payment is not the one that an order waits for: its amount or currency
// differs, or the channel does not say them. Empty: it is the right one, or the order has no amount.
func mismatch(o *Order, taken Taken) string {
	if o.Amount == 0 {
		return ""
	}
	amount, said := amountOf(taken["amount"])
	currency, _ := taken["currency"].(string)
	switch {
	case !said:
		return "the channel does not say which amount was paid: want " + money.Format(o.Amount, o.Currency)
	case currency == "":
		return fmt.Sprintf("the channel does not say in which currency %d of the smallest unit was paid: want %s", amount, money.Format(o.Amount, o.Currency))
	case amount != o.Amount || currency != o.Currency:
		return fmt.Sprintf("%s was paid: want %s", money.Format(amount, fmt.Sprintf("%.10s", currency)), money.Format(o.Amount, o.Currency))
	}
	return ""
}

// unpriced reports whether the order has a price, and a payment does not say its amount or currency. Such a payment is not
// known to be the right one, nor to be another.
func unpriced(o *Order, taken Taken) bool {
	_, said := amountOf(taken["amount"])
	currency, _ := taken["currency"].(string)
	return o.Amount > 0 && (!said || currency == "")
}

// amountOf returns an amount in the smallest unit. An expression or JSON may give it in several
// types of numbers, but always whole.
func amountOf(value any) (amount int64, ok bool) {
	switch v := value.(type) {
	case int64:
		return v, v >= 0
	case uint64:
		return int64(v), v <= math.MaxInt64
	case int:
		return int64(v), v >= 0
	case float64:
		return int64(v), v >= 0 && v == math.Trunc(v) && v < 1<<53
	case json.Number:
		n, err := v.Int64()
		return n, err == nil && n >= 0
	}
	return 0, false
}

// paymentOf returns the channel's number of a payment; empty: it does not say.
func paymentOf(taken Taken) string {
	number, _ := taken["transaction_id"].(string)
	return number
}

// Price returns what was paid, in the smallest unit of currency; 0: the notice does not say.
func (t *Told) Price() (amount int64, currency string) {
	amount, _ = amountOf(t.Taken["amount"])
	currency, _ = t.Taken["currency"].(string)
	return amount, currency
}
