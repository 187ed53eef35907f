package api

import (
	"context"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/resend"
	"github.com/bellmanhq/bellman/order"
)

type orderListing struct {
	Caller
	Queue       string      `query:"queue" maxLength:"128"`
	MerchantNo  string      `query:"merchant_no" maxLength:"128"`
	OrderState  string      `query:"order_state" enum:"PENDING,PAID,PAID_REFUNDED,CLOSED,REVOKED,FAILED,UNKNOWN" doc:"Every order is examined for this and the following fields, so a page may have few orders, or none, and be followed by more."`
	Channel     string      `query:"channel" maxLength:"128" doc:"Channel of the order: wechatpay, alipay, …"`
	Account     string      `query:"account" maxLength:"128" doc:"Name of the registered account that the order has."`
	AmountMin   string      `query:"amount_min" maxLength:"40" example:"88.88" doc:"Smallest amount, in the main unit of any currency, such as 88.88."`
	AmountMax   string      `query:"amount_max" maxLength:"40" example:"88.88" doc:"Largest amount, in the main unit of any currency, such as 88.88."`
	CreatedFrom client.Time `query:"created_from" format:"date-time" doc:"Inclusive."`
	CreatedTo   client.Time `query:"created_to" format:"date-time" doc:"Exclusive."`
	Limit       int         `query:"limit" minimum:"1" maximum:"200" default:"50"`
	Cursor      string      `query:"cursor" maxLength:"64" doc:"The next_cursor of a page of the same filter; default: the newest."`
}

// A markedFilter is what a cursor of orders belongs to.
type markedFilter struct {
	client.Filter
	resend.OrderPick
}

func (a *API) listOrders(ctx context.Context, in *orderListing) (*answer[client.OrderPage], error) {
	wanted := client.Filter{Queue: in.Queue, MerchantNo: in.MerchantNo, CreatedFrom: in.CreatedFrom, CreatedTo: in.CreatedTo, Kind: "order"}
	if refused := in.narrow(&wanted); refused != nil {
		return nil, refused
	}
	pick := resend.OrderPick{State: in.OrderState, Channel: in.Channel, Account: in.Account, Least: in.AmountMin, Most: in.AmountMax}
	marked := &markedFilter{wanted, pick}
	before, refused := parseTaskCursor(in.Cursor, marked)
	if refused != nil {
		return nil, refused
	}
	for _, bound := range [][2]string{{"amount_min", pick.Least}, {"amount_max", pick.Most}} {
		if err := resend.CheckAmount(bound[1]); err != nil {
			return nil, wrongField("query."+bound[0], err.Error())
		}
	}
	f, _, _ := PickOf(&wanted) // only a state or a result could be wrong
	if f.Backwards() {
		return nil, wrongField("query.created_from", backwards)
	}
	tasks, next, err := a.page(ctx, f.Filter, before, in.Limit, true, func(t *bellman.Task) bool {
		return f.Takes(t) && pick.Takes(t, a.o.Channels) && in.sees(t)
	})
	if err != nil {
		return nil, err
	}
	page := client.OrderPage{Orders: make([]client.ListedOrder, len(tasks)), NextCursor: taskCursor(next, marked)}
	for i, t := range tasks {
		page.Orders[i] = a.listedOrder(t)
	}
	return ok(page)
}

func (a *API) listedOrder(t *bellman.Task) client.ListedOrder {
	ask, _ := order.ParseAsk(t.Body) // the body was validated when the task was added
	return client.ListedOrder{Task: a.Shown(t), Channel: resend.ChannelOf(t, a.o.Channels), Account: ask.Account, Amount: ask.Amount, Currency: ask.Currency}
}
