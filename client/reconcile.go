package client

import (
	"cmp"
	"context"
	"io"
	"net/http"
)

// A StartReconciliation compares the orders of a queue with the bill of its channel.
type StartReconciliation struct {
	Queue     string `json:"queue" maxLength:"128" doc:"A queue of kind order whose channel is wechatpay or alipay."`
	Account   string `json:"account,omitempty" maxLength:"128" doc:"A registered account; default: the queue's own and every registered account that its orders name."`
	Bill      string `json:"bill,omitempty" enum:"trade,fund_flow" doc:"trade (the default): the bill of payments and refunds. fund_flow: WeChat Pay's bill of what reached and left the account; amounts that are smaller than the order's agree, because a coupon may have been taken off."`
	Date      string `json:"date" maxLength:"10" doc:"Day of the bill in UTC+8, such as 2026-11-21. The day must be over there."`
	NoRefunds bool   `json:"no_refunds,omitempty" doc:"Refunds are not compared."`
	Reason    string `json:"reason,omitempty" maxLength:"500" doc:"Written to the audit record."`

	// Unknown is of ReconcileFile alone: a file that does not say whose bill it is, and of which
	// nothing is known to the server, is compared, and not refused.
	Unknown bool `json:"-"`
}

// A Reconciliation is the comparison of the orders of a queue with the bill of a day.
type Reconciliation struct {
	ID        string `json:"id" doc:"The same for the same queue, account, bill, date and source: a new request replaces the result."`
	Queue     string `json:"queue"`
	Account   string `json:"account" doc:"The registered account that was asked for; empty: all accounts of the queue, or for a file that of orders that name none."`
	Date      string `json:"date"`
	Source    string `json:"source" enum:"channel,file"`
	Bill      string `json:"bill" enum:"trade,fund_flow"`
	NoRefunds bool   `json:"no_refunds"`
	Daily     bool   `json:"daily" doc:"The queue's daily job started it."`
	Who       string `json:"who"`
	Reason    string `json:"reason"`

	State    string `json:"state" enum:"waiting,running,done,failed" doc:"waiting: for its turn, or for the bill. failed: a bill could not be had, or orders could not be compared."`
	Created  Time   `json:"created" format:"date-time" doc:"Time of the newest request."`
	Finished *Time  `json:"finished" format:"date-time" doc:"Time of the newest result; null: there is none."`
	Next     *Time  `json:"next" format:"date-time" doc:"When the bill is asked for again; null: it is not."`
	Tries    int    `json:"tries" doc:"Failed tries since created."`
	Error    string `json:"error,omitempty" doc:"Error of the last try."`

	Bills       int               `json:"bills" doc:"Accounts whose bill was compared."`
	Left        []AccountLeft     `json:"left" nullable:"false" doc:"Accounts with orders that are not compared, and why. The result is without these orders."`
	Payments    int               `json:"payments" doc:"Payments in the bill."`
	Refunds     int               `json:"refunds" doc:"Refunds in the bill."`
	Others      int               `json:"others" doc:"Lines of other merchants in the bill, such as a service provider's other sub-merchants. They were left out."`
	Compared    int               `json:"compared" doc:"Orders and refunds that were compared."`
	Matched     int               `json:"matched" doc:"Lines of the bill that agree with bellman."`
	Total       int               `json:"total" doc:"Number of differences."`
	Differences DifferencesByKind `json:"differences"`
	Edge        int               `json:"edge" doc:"Differences near midnight, whose orders may be in the bill of the next or previous day."`
	Deferred    int               `json:"deferred" doc:"Orders and refunds of the last hour that the bill lacks. The comparison of the next day looks for them in both bills."`
	Kept        int               `json:"kept" doc:"Differences that can be read, at most 100000. The numbers above are exact beyond that."`

	Settling *Settling `json:"settling" doc:"null: nobody has requested that the channel is asked about each difference."`
}

// An AccountLeft is an account with orders that are not compared.
type AccountLeft struct {
	Account string `json:"account" doc:"Empty: the queue's own."`
	Error   string `json:"error" doc:"Why; only the first 100 accounts have it."`
}

// DifferencesByKind counts differences.
type DifferencesByKind struct {
	MissingHere  int `json:"missing_here" doc:"Payments or refunds of orders that bellman does not have."`
	MissingThere int `json:"missing_there" doc:"Paid orders that the bill does not have."`
	Amount       int `json:"amount" doc:"Another amount or currency."`
	State        int `json:"state" doc:"Paid on one side only."`
	Refund       int `json:"refund" doc:"Refunds on one side only, or with another amount or outcome."`
	Duplicate    int `json:"duplicate" doc:"Another payment of an order than the one that is known, or a repeated line."`
}

// Settling is the progress of asking the channel once about each order that differs.
type Settling struct {
	State    string `json:"state" enum:"running,done"`
	Who      string `json:"who"`
	Reason   string `json:"reason"`
	Created  Time   `json:"created" format:"date-time"`
	Finished *Time  `json:"finished" format:"date-time"`
	Asked    int    `json:"asked" doc:"Orders that the channel was asked about."`
	Settled  int    `json:"settled" doc:"Differences that are none any more."`
	Failed   int    `json:"failed" doc:"Orders without a usable answer."`
}

// Reconciliations is a list of reconciliations, those of the newest days first.
type Reconciliations struct {
	Reconciliations []Reconciliation `json:"reconciliations" nullable:"false"`
}

// A Difference is one fact about which the bill and bellman differ.
type Difference struct {
	Number         int           `json:"number"`
	Kind           string        `json:"kind" enum:"missing_here,missing_there,amount,state,refund,duplicate"`
	Account        string        `json:"account" doc:"Whose bill it is, as the channel knows the account, such as wechatpay:1900000001."`
	ChannelOrderNo string        `json:"channel_order_no"`
	Edge           bool          `json:"edge" doc:"The order was paid near midnight, and may be in the bill of the next or previous day."`
	Bill           *BillLine     `json:"bill" doc:"null: the bill has no line."`
	Here           *BilledOrder  `json:"here" doc:"null: bellman has no order."`
	Asked          *AskedOfOrder `json:"asked" doc:"null: the channel was not asked about the order since."`
}

// A BillLine is one line of a bill. Amounts are in the currency's smallest unit.
type BillLine struct {
	Number         int    `json:"number" doc:"Line in the file."`
	ChannelOrderNo string `json:"channel_order_no"`
	TransactionID  string `json:"transaction_id"`
	RefundNo       string `json:"refund_no"`
	Amount         int64  `json:"amount"`
	RefundAmount   int64  `json:"refund_amount"`
	Currency       string `json:"currency"`
	State          string `json:"state"`
	Time           *Time  `json:"time" format:"date-time" doc:"null: the bill does not say."`
}

// A BilledOrder is an order or a refund as bellman knows it.
type BilledOrder struct {
	MerchantNo    string `json:"merchant_no"`
	OrderNo       string `json:"order_no"`
	Task          string `json:"task" doc:"Id of the order's task; empty for a refund."`
	RefundNo      string `json:"refund_no" doc:"Empty: it is an order."`
	State         string `json:"state"`
	Amount        int64  `json:"amount" doc:"0: not known."`
	Currency      string `json:"currency"`
	TransactionID string `json:"transaction_id"`
	PaidAt        *Time  `json:"paid_at" format:"date-time"`
}

// AskedOfOrder is the outcome of a query about an order that differs.
type AskedOfOrder struct {
	At         Time   `json:"at" format:"date-time"`
	OrderState string `json:"order_state" doc:"After the query."`
	Reading    string `json:"reading" doc:"What the channel answered, such as PAID."`
	Settled    bool   `json:"settled" doc:"The order agrees with the bill now."`
	Error      string `json:"error,omitempty"`
}

// DifferencePage is one page of differences. A page can be short although more follow.
type DifferencePage struct {
	Differences []Difference `json:"differences" nullable:"false"`
	NextCursor  string       `json:"next_cursor" doc:"Empty: there are no more."`
}

// Reconcile requests a comparison with the bills of the queue's accounts, or of one. The server
// makes it later.
func (c *Client) Reconcile(ctx context.Context, in StartReconciliation) (*Reconciliation, error) {
	return one[Reconciliation](ctx, c, http.MethodPost, "/v1/reconciliations", nil, in)
}

// ReconcileFile compares a file with the orders of a queue, and returns the result. mapping says
// which columns the file has, such as "channel_order_no=order,amount=fee,units=main"; empty: the
// file is a bill as the queue's channel makes it.
func (c *Client) ReconcileFile(ctx context.Context, in StartReconciliation, mapping string, file io.Reader) (*Reconciliation, error) {
	query := search(map[string]string{
		"queue": in.Queue, "account": in.Account, "bill": in.Bill, "date": in.Date, "map": mapping, "reason": in.Reason,
	}, 0)
	for name, is := range map[string]bool{"no_refunds": in.NoRefunds, "unknown": in.Unknown} {
		if is {
			query.Set(name, "true")
		}
	}
	out := &Reconciliation{}
	if _, err := c.try(ctx, http.MethodPost, "/v1/reconciliations/file", query, file, out); err != nil { // a file cannot be sent again
		return nil, err
	}
	return out, nil
}

// Reconciliation reads a reconciliation.
func (c *Client) Reconciliation(ctx context.Context, id string) (*Reconciliation, error) {
	return one[Reconciliation](ctx, c, http.MethodGet, "/v1/reconciliations/"+escape(id), nil, nil)
}

// Reconciliations reads the reconciliations of the newest days, at most 200.
func (c *Client) Reconciliations(ctx context.Context) ([]Reconciliation, error) {
	var out Reconciliations
	_, err := c.call(ctx, http.MethodGet, "/v1/reconciliations", nil, nil, &out)
	return out.Reconciliations, err
}

// Differences reads one page of up to 200 differences of a kind; an empty kind is all kinds. An
// empty cursor is the first page.
func (c *Client) Differences(ctx context.Context, id, kind string, limit int, cursor string) (*DifferencePage, error) {
	query := search(map[string]string{"kind": kind, "cursor": cursor}, cmp.Or(limit, 200))
	return one[DifferencePage](ctx, c, http.MethodGet, "/v1/reconciliations/"+escape(id)+"/differences", query, nil)
}

// SettleReconciliation requests one query of the channel about each order that differs.
func (c *Client) SettleReconciliation(ctx context.Context, id string, in Because) (*Reconciliation, error) {
	return one[Reconciliation](ctx, c, http.MethodPost, "/v1/reconciliations/"+escape(id)+"/settle", nil, in)
}
