package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// An Order is everything about one order of a merchant.
type Order struct {
	MerchantNo  string `json:"merchant_no"`
	OrderNo     string `json:"order_no"`
	OrderState  string `json:"order_state" doc:"PENDING, PAID, PAID_REFUNDED, CLOSED, REVOKED, FAILED or UNKNOWN; empty if none of the tasks is an order. With several orders: a paid state if one is paid, otherwise PENDING if one is pending, otherwise the state of the newest."`
	LatePayment string `json:"late_payment,omitempty" enum:"PAID,PAID_REFUNDED" doc:"A payment after the order was decided otherwise, as the channel reports it. The decided state stays."`

	ChannelOrderNo string   `json:"channel_order_no,omitempty" doc:"The number by which the channel knows the order. With several orders, this number, account, amount and currency are those of the order that order_state is about."`
	Account        string   `json:"account,omitempty" doc:"Name of the registered account that the order has."`
	Amount         int64    `json:"amount,omitempty" doc:"Expected amount in the smallest unit of its currency; absent if it is unknown."`
	Currency       string   `json:"currency,omitempty" doc:"Of the amount: ISO 4217."`
	Payment        *Payment `json:"payment,omitempty" doc:"The payment that decided the order, or came late; absent: none is known. With reason amount_mismatch: the payment of another amount."`

	Settled *bool `json:"settled,omitempty" doc:"Only with settle. true: every attempt that was overdue was made and recorded. false: the wait ended first, so the state may be outdated."`

	Tasks    []Task         `json:"tasks" nullable:"false" doc:"All tasks with these numbers, in any queue, by creation time: the newest 200."`
	Attempts []OrderAttempt `json:"attempts" nullable:"false" doc:"Attempts of these tasks by start time: the newest 200 of each task, the newest 1,000 in all."`
	More     bool           `json:"more" doc:"There are more tasks or attempts than shown. Each task's own page shows all of its attempts."`
}

// A Payment is what the channel said about a payment of an order, or who decided the order, in one
// form for all channels. A field that nobody said is absent.
type Payment struct {
	TransactionID string `json:"transaction_id,omitempty" doc:"The channel's number of the payment."`
	Amount        int64  `json:"amount,omitempty" doc:"In the smallest unit of its currency."`
	Currency      string `json:"currency,omitempty" doc:"ISO 4217."`
	PaidAt        Time   `json:"paid_at,omitzero" format:"date-time"`
}

// A ListedOrder is an order in a list.
type ListedOrder struct {
	Task
	Channel  string `json:"channel,omitempty" doc:"Channel of the order, such as wechatpay; absent for a gateway of your own."`
	Account  string `json:"account,omitempty" doc:"Name of the registered account that the order has."`
	Amount   int64  `json:"amount,omitempty" doc:"Expected amount in the smallest unit of its currency; absent if it is unknown."`
	Currency string `json:"currency,omitempty" doc:"Of the amount: ISO 4217."`
}

// An OrderPage is a page of a list of orders, newest first.
type OrderPage struct {
	Orders     []ListedOrder `json:"orders" nullable:"false"`
	NextCursor string        `json:"next_cursor" doc:"Cursor of the next page; empty only at the end. A page with few orders, or none, may be followed by another."`
}

// An OrderFilter selects orders. Empty fields select all. Only the queue, the merchant and the time
// have an index: every order that matches these is examined.
type OrderFilter struct {
	Queue, MerchantNo      string
	OrderState             string // PENDING, PAID, PAID_REFUNDED, CLOSED, REVOKED, FAILED or UNKNOWN
	Channel                string // such as wechatpay
	Account                string // name of a registered account
	AmountMin, AmountMax   string // bounds of the amount, which belong to it, in the main unit of any currency, such as 88.88
	CreatedFrom, CreatedTo Time   // inclusive; exclusive
}

// ListOrders reads one page of the orders that match f, the newest first: up to limit orders (1 to
// 200; 0: 50) from cursor (NextCursor of a page; empty: the newest).
func (c *Client) ListOrders(ctx context.Context, f OrderFilter, limit int, cursor string) (*OrderPage, error) {
	q := search(map[string]string{
		"queue": f.Queue, "merchant_no": f.MerchantNo, "order_state": f.OrderState, "channel": f.Channel, "account": f.Account,
		"amount_min": f.AmountMin, "amount_max": f.AmountMax, "created_from": f.CreatedFrom.String(), "created_to": f.CreatedTo.String(), "cursor": cursor,
	}, limit)
	return one[OrderPage](ctx, c, http.MethodGet, "/v1/orders", q, nil)
}

// Orders iterates over all orders that match f, the newest first, page by page. It yields an error
// with a zero ListedOrder and ends.
func (c *Client) Orders(ctx context.Context, f OrderFilter) iter.Seq2[ListedOrder, error] {
	return pages(func(cursor string) (*OrderPage, error) { return c.ListOrders(ctx, f, 200, cursor) },
		func(p *OrderPage) ([]ListedOrder, string) { return p.Orders, p.NextCursor })
}

// An OrderAttempt is an attempt of one of an order's tasks.
type OrderAttempt struct {
	Task  string `json:"task" format:"uuid"`
	Queue string `json:"queue"`
	Attempt
}

// An OrderRef identifies an order by its merchant's number and its order number.
type OrderRef struct {
	MerchantNo string `json:"merchant_no" minLength:"1" maxLength:"128"`
	OrderNo    string `json:"order_no" minLength:"1" maxLength:"128"`
}

// A DecideOrder decides an order by hand.
type DecideOrder struct {
	Outcome string `json:"outcome" enum:"PAID,PAID_REFUNDED,CLOSED,REVOKED,FAILED" doc:"The order's state."`
	Reason  string `json:"reason" minLength:"1" maxLength:"500" doc:"How the outcome is known. It is in the audit record and in the alarm."`
}

// SettleOrders requests a query of the channel for many orders now.
type SettleOrders struct {
	Orders []OrderRef `json:"orders" nullable:"false" minItems:"1" maxItems:"1000"`
	Wait   string     `json:"wait,omitempty" maxLength:"64" example:"10s" doc:"Longest wait for the channel's answers, at most 60s; default 10s."`
	Reason string     `json:"reason,omitempty" maxLength:"500" doc:"Written to the audit record of each order."`
}

// SettledOrders answers SettleOrders: one result per order, in order.
type SettledOrders struct {
	Results []SettledOrder `json:"results" nullable:"false"`
}

// A SettledOrder is the state of one order.
type SettledOrder struct {
	OrderRef
	Status      int          `json:"status" doc:"200: the channel was queried; this is the present state. 202: the answer is still to come; this is the state before. 404: the order is unknown. Otherwise see error."`
	OrderState  string       `json:"order_state,omitempty" enum:"PENDING,PAID,PAID_REFUNDED,CLOSED,REVOKED,FAILED,UNKNOWN"`
	LatePayment string       `json:"late_payment,omitempty" enum:"PAID,PAID_REFUNDED"`
	Asked       bool         `json:"asked" doc:"The channel was queried, and the result is recorded."`
	Task        string       `json:"task,omitempty" format:"uuid" doc:"Task of the order."`
	Last        *LastAttempt `json:"last,omitempty" doc:"The newest attempt."`
	Error       *Problem     `json:"error,omitempty"`
}

func (o OrderRef) path() string {
	return "/v1/orders/" + escape(o.MerchantNo) + "/" + escape(o.OrderNo)
}

// Order reads everything about one order. With settle, up to a minute, overdue tasks are attempted
// first, so that the state is not outdated. Settled reports whether all of them were done in time.
func (c *Client) Order(ctx context.Context, ref OrderRef, settle time.Duration) (*Order, error) {
	q := url.Values{}
	if settle != 0 {
		q.Set("settle", text(settle))
	}
	return one[Order](ctx, c, http.MethodGet, ref.path(), q, nil)
}

// CompleteOrder decides an order, because the answer came another way, such as the channel's
// notice. in.Outcome is the state.
func (c *Client) CompleteOrder(ctx context.Context, ref OrderRef, in CompleteTask) (*Task, error) {
	return one[Task](ctx, c, http.MethodPost, ref.path()+"/complete", nil, in)
}

// DecideOrder decides an order by hand, because a person knows the outcome. It raises an alarm.
func (c *Client) DecideOrder(ctx context.Context, ref OrderRef, in DecideOrder) (*Task, error) {
	return one[Task](ctx, c, http.MethodPost, ref.path()+"/decide", nil, in)
}

// CancelOrder stops polling an order and decides nothing.
func (c *Client) CancelOrder(ctx context.Context, ref OrderRef, in Because) (*Task, error) {
	return one[Task](ctx, c, http.MethodPost, ref.path()+"/cancel", nil, in)
}

// SettleOrders queries the channel for up to 1,000 orders now, decided ones included, and waits up
// to a minute for the answers; 0: 10 seconds. It returns one result per order, in order.
func (c *Client) SettleOrders(ctx context.Context, orders []OrderRef, wait time.Duration, why Because) ([]SettledOrder, error) {
	in := SettleOrders{Orders: orders, Reason: why.Reason}
	if wait != 0 {
		in.Wait = text(wait)
	}
	var out SettledOrders
	_, err := c.call(ctx, http.MethodPost, "/v1/orders/settle", nil, in, &out)
	return out.Results, err
}

// text formats a duration for the API, in whole milliseconds.
func text(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) + "ms" }
