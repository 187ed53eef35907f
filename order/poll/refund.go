package poll

import (
	"encoding/json"
	"maps"
	"strconv"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
)

// RequestRefund returns a function for [order.Recipient.Refund]: it makes the task of a queue of
// kind poll that requests the refund of a late or duplicate payment. notify says that the queue
// tells the merchant how the refund ended.
//
// The number of the refund depends on the order's number at the channel, and for a duplicate
// payment also on the payment's. So whatever finds the payment, and however often, one refund is
// requested, also if somebody adds a refund of the same payment without a number. Its Vars are
// those of the order, with the amount that was paid as amount and total, its currency and its
// transaction_id.
func RequestRefund(notify bool) func(queue string, n *order.News) bellman.Task {
	return func(queue string, n *order.News) bellman.Task {
		var paid struct {
			TransactionID string      `json:"transaction_id"`
			Amount        json.Number `json:"amount"`
			Currency      string      `json:"currency"`
		}
		from := n.Paid
		if len(from) == 0 {
			from = n.Taken
		}
		json.Unmarshal(from, &paid) // what cannot be read is missing, which the queue's Check reports
		duplicate := ""
		if n.Decision == order.DuplicatePayment {
			duplicate = paid.TransactionID
		}
		ask := Ask{
			RefNo: deriveRefNo(n.Order.OrderNo, duplicate), Account: n.Order.Account, ChannelOrderNo: n.Order.OrderNo,
			Vars: make(map[string]string, len(n.Order.Vars)+4), Created: n.Order.Created,
		}
		maps.Copy(ask.Vars, n.Order.Vars)
		for name, value := range map[string]string{
			"amount": whole(paid.Amount), "total": whole(paid.Amount), "currency": paid.Currency, "transaction_id": paid.TransactionID,
		} {
			if delete(ask.Vars, name); value != "" { // an order's own is about something else
				ask.Vars[name] = value
			}
		}
		if notify {
			ask.Notify = n.Notify
		}
		body, err := ask.Encode()
		if err != nil { // cannot happen: the order's Notify was read
			panic(err)
		}
		return bellman.Task{Queue: queue, MerchantNo: n.Of.MerchantNo, OrderNo: n.Of.OrderNo, Event: EventPoll, Body: body}
	}
}

// whole returns an amount that is a whole number; empty: it is none.
func whole(n json.Number) string {
	amount, err := strconv.ParseInt(n.String(), 10, 64)
	if err != nil || amount <= 0 {
		return ""
	}
	return strconv.FormatInt(amount, 10)
}
