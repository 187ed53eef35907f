package poll

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
)

// findOrder writes the number by which the channel knows the order of a refund into ask, if the
// caller gives none: that of the payment in vars.transaction_id, or else of the one order of the
// task's numbers in account. A refund without a number of its own also counts the orders that were
// refunded under a derived one. An amount without a currency gets the order's. It adds to bad why
// the order that is known cannot be the one that is refunded. duplicate is the payment's number, if
// it is a duplicate one.
func (h *Handler) findOrder(bad *bellman.Invalid, task *bellman.Task, ask *Ask, account string) (duplicate string, err error) {
	payment, given := ask.Vars["transaction_id"], ask.ChannelOrderNo != ""
	if h.rules.Orders == nil || h.rules.Of != order.OfRefund || account == "" || task.MerchantNo == "" || task.OrderNo == "" ||
		given && (ask.RefNo != "" || payment == "") && !ask.lacksCurrency() {
		return "", nil
	}
	tasks, err := h.rules.Orders(context.Background(), task.MerchantNo, task.OrderNo)
	if err != nil {
		return "", fmt.Errorf("look for the order %.128q of the refund: %w", task.OrderNo, err)
	}
	var here, perhaps, elsewhere, paid, currencies []string
	for _, t := range tasks {
		at, number, is := order.KnownAs(t)
		if !is {
			if at, number = refundedAs(t); at == "" || ask.RefNo != "" {
				continue
			}
		}
		switch {
		case ofQueue(at) || ofQueue(account): // nobody knows which account a gateway has
			perhaps = append(perhaps, number)
		case at == account:
			here = append(here, number)
		case is:
			elsewhere = append(elsewhere, at)
			continue
		default:
			continue
		}
		if known, err := order.ParseAsk(t.Body); is && err == nil && known.Currency != "" && (!given || number == ask.ChannelOrderNo) {
			currencies = append(currencies, known.Currency)
		}
		known, again := order.KnowsPayment(t, payment)
		if known && (!given || number == ask.ChannelOrderNo) {
			paid = append(paid, number)
			if again {
				duplicate = payment
			}
		}
	}
	if currencies = distinct(currencies); len(currencies) == 1 {
		ask.fillCurrency(currencies[0])
	}
	switch {
	case given:
		return duplicate, nil
	case len(paid) > 0:
		here = paid
	case len(here) == 0:
		here = perhaps
	}
	switch here, elsewhere = distinct(here), distinct(elsewhere); {
	case len(here) == 1 && here[0] != task.OrderNo:
		ask.ChannelOrderNo = here[0]
	case len(here) > 1:
		bad.Add("channel_order_no", "is missing: the channel knows this order under the numbers "+strings.Join(here, ", ")+": want that of the payment")
	case len(here) == 0 && len(elsewhere) > 0:
		bad.Add("account", fmt.Sprintf("the refund is asked of %s, but the order is one of %s: want the order's account, or channel_order_no if it was paid here too", account, strings.Join(elsewhere, ", ")))
	}
	return duplicate, nil
}

// checkOwner adds to bad that the order of a refund is another merchant's: the channel would pay
// back that merchant's payment. Two merchants may have orders of one number, under different
// numbers of the channel. given says that the caller gave the latter. If the caller names the
// payment, the channel does not look at the order.
func (h *Handler) checkOwner(bad *bellman.Invalid, task *bellman.Task, ask *Ask, account string, given bool) error {
	number := cmp.Or(ask.ChannelOrderNo, task.OrderNo)
	if h.rules.Known == nil || h.rules.Of != order.OfRefund || account == "" || ofQueue(account) || task.MerchantNo == "" || number == "" || ask.Vars["transaction_id"] != "" {
		return nil
	}
	t, err := h.rules.Known(context.Background(), account, number)
	if err != nil {
		return fmt.Errorf("look for the order %.128q of the refund: %w", number, err)
	}
	if t != nil && t.MerchantNo != task.MerchantNo {
		field := "order_no"
		if given {
			field = "channel_order_no"
		}
		bad.Add(field, "the order that the channel knows by this number is another merchant's: want the channel_order_no of this merchant's order")
	}
	return nil
}

// refundedAs returns the account and the number at the channel of the order that a task refunds, if
// the refund's number is derived from the latter. The order itself may have been deleted since, or
// may not have been known then. Empty: it is another task.
func refundedAs(t *bellman.Task) (account, number string) {
	ask, err := ParseAsk(t.Body)
	if err != nil || t.OrderNo == "" {
		return "", ""
	}
	number = cmp.Or(ask.ChannelOrderNo, t.OrderNo)
	account, is := strings.CutSuffix(t.Alias(), order.Alias("", order.OfRefund, DeriveRefNo(number)))
	if !is {
		return "", ""
	}
	return account, number
}

// ofQueue reports whether an account is a queue whose channel says nothing about itself.
func ofQueue(account string) bool { return strings.HasPrefix(account, "queue:") }

// fillCurrency writes the currency of an amount that has none.
func (a *Ask) fillCurrency(currency string) {
	if a.lacksCurrency() {
		a.Vars["currency"] = currency
	}
}

func (a *Ask) lacksCurrency() bool { return a.Vars["amount"] != "" && a.Vars["currency"] == "" }

func distinct(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}
