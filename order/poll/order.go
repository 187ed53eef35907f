package poll

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
)

// findOrder writes the number by which the channel knows the order of a refund into ask, if the caller gives none and
// account has one order of the task's numbers. It adds to bad why the order that is known cannot be the one that is
// refunded. Of a payment that vars.transaction_id names, the number may stay open.
func (h *Handler) findOrder(bad *bellman.Invalid, task *bellman.Task, ask *Ask, account string) error {
	if h.rules.Orders == nil || h.rules.Of != order.OfRefund || ask.ChannelOrderNo != "" || account == "" || task.MerchantNo == "" || task.OrderNo == "" {
		return nil
	}
	tasks, err := h.rules.Orders(context.Background(), task.MerchantNo, task.OrderNo)
	if err != nil {
		return fmt.Errorf("look for the order %.128q of the refund: %w", task.OrderNo, err)
	}
	var here, perhaps, elsewhere []string
	for _, t := range tasks {
		switch at, number, is := order.KnownAs(t); {
		case !is:
		case at == account:
			here = append(here, number)
		case ofQueue(at) || ofQueue(account): // nobody knows which account a gateway has
			perhaps = append(perhaps, number)
		default:
			elsewhere = append(elsewhere, at)
		}
	}
	if len(here) == 0 {
		here = perhaps
	}
	switch here, elsewhere = distinct(here), distinct(elsewhere); {
	case len(here) == 1 && here[0] != task.OrderNo:
		ask.ChannelOrderNo = here[0]
	case len(here) > 1 && ask.Vars["transaction_id"] == "":
		bad.Add("channel_order_no", "is missing: the channel knows this order under the numbers "+strings.Join(here, ", ")+": want that of the payment")
	case len(here) == 0 && len(elsewhere) > 0:
		bad.Add("account", fmt.Sprintf("the refund is asked of %s, but the order is one of %s: want the order's account, or channel_order_no if it was paid here too", account, strings.Join(elsewhere, ", ")))
	}
	return nil
}

// ofQueue reports whether an account is a queue whose channel says nothing about itself.
func ofQueue(account string) bool { return strings.HasPrefix(account, "queue:") }

func distinct(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}
