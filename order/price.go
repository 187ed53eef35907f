package order

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/money"
)

// mismatch says why a payment is not the one that an order waits for: its amount or currency
// differs, or the channel does not say them. Empty: it is the right one, or the order has no
// amount.
func mismatch(o *Order, taken Taken) string {
	if o.Amount == 0 {
		return ""
	}
	amount, said := amountOf(taken["amount"])
	currency, _ := taken["currency"].(string)
	currency = cmp.Or(money.Code(currency), currency)
	switch {
	case !said && taken["amount"] != nil:
		return fmt.Sprintf("the channel says the amount %.40q, which is no whole number of the smallest unit: want %s", fmt.Sprint(taken["amount"]), money.Format(o.Amount, o.Currency))
	case !said:
		return "the channel does not say which amount was paid, or in a way that cannot be read: want " + money.Format(o.Amount, o.Currency)
	case currency == "":
		return fmt.Sprintf("the channel does not say in which currency %d of the smallest unit was paid: want %s", amount, money.Format(o.Amount, o.Currency))
	case amount != o.Amount || currency != o.Currency:
		return fmt.Sprintf("%s was paid: want %s", money.Format(amount, fmt.Sprintf("%.10s", currency)), money.Format(o.Amount, o.Currency))
	}
	return ""
}

// unpriced reports whether the order has a price, and a payment does not say its amount or
// currency. Such a payment is not known to be the right one, nor to be another.
func unpriced(o *Order, taken Taken) bool {
	_, said := amountOf(taken["amount"])
	currency, _ := taken["currency"].(string)
	return o.Amount > 0 && (!said || currency == "")
}

// given returns the fields of a payment that somebody completes an order with, in the shape that
// they have from every channel, or what is wrong with them. Other fields stay as they are.
func given(o *Order, taken Taken, paid bool) (Taken, error) {
	var wrong bellman.Invalid
	for _, name := range []string{"amount", "currency", "transaction_id", "paid_at"} {
		value, is := taken[name]
		text, isText := value.(string)
		switch _, whole := amountOf(value); {
		case !is && paid && o.Amount > 0 && (name == "amount" || name == "currency"):
			wrong.Add("taken."+name, fmt.Sprintf("is missing: the order costs %s, so want taken.amount in the smallest unit, such as %d, and taken.currency", money.Format(o.Amount, o.Currency), o.Amount))
		case !is:
		case name == "amount" && !whole:
			wrong.Add("taken.amount", "want a whole number of the currency's smallest unit, such as 8800")
		case name == "currency" && (text == "" || money.Code(text) != text):
			wrong.Add("taken.currency", "want a code of ISO 4217 in capitals, such as CNY")
		case name == "transaction_id" && !isText:
			wrong.Add("taken.transaction_id", "want a text: the channel's number of the payment")
		case name == "paid_at":
			if at, err := time.Parse(time.RFC3339, text); err != nil {
				wrong.Add("taken.paid_at", "want a time such as 2026-11-20T15:04:05Z")
			} else {
				taken = maps.Clone(taken)
				taken["paid_at"] = at.UTC().Format(time.RFC3339Nano)
			}
		}
	}
	return taken, wrong.Err()
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
