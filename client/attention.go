package client

import (
	"context"
	"net/http"
)

// An Attention is one thing that needs a person.
type Attention struct {
	Kind       string            `json:"kind" enum:"overloaded,store_slow,shards_unowned,node_gone,node_silent,node_clock,endpoint_failing,endpoint_throttled,endpoint_paused,merchant_failing,merchant_paused,queue_late,queue_paused,source_stopped,tasks_failed,orders_unknown,amount_mismatch,late_payment,duplicate_payment,payment_without_order,poll_needs_action,bill_differs,bill_missing,credential_expires,notices_refused,follow_ups_refused,not_ready,store_full,alarm"`
	Name       string            `json:"name" doc:"What it is about: an endpoint, merchant, queue, node, store, source, credential, order or alarm; empty: the server as a whole."`
	Queue      string            `json:"queue" doc:"Empty: no queue, or several."`
	Since      *Time             `json:"since" format:"date-time" doc:"null: not known."`
	Urgent     bool              `json:"urgent" doc:"Money or tasks are stuck. Otherwise somebody chose it, or it will get worse."`
	Tasks      int               `json:"tasks" doc:"Tasks, orders, differences or notices that are affected; 0: not known."`
	More       bool              `json:"more" doc:"There may be more of them."`
	Amounts    []AttentionAmount `json:"amounts" nullable:"false" doc:"Sums of the affected orders, as far as known: of at most 1,000 overdue and 1,000 deferred tasks, 200 pending tasks of a merchant, and 200 failed orders of a queue."`
	Why        string            `json:"why" doc:"Reason, in English; empty: the kind says it."`
	Failure    *AttentionFailure `json:"failure" doc:"The last failed attempt; of tasks_failed that of the merchant with the most failed tasks. null: none is known."`
	Who        string            `json:"who" doc:"Who paused it, or decided it; empty: nobody, or authentication is off."`
	Rate       float64           `json:"rate" doc:"Only of endpoint_throttled: attempts a second."`
	Off        string            `json:"off" doc:"Of queue_late: how long its oldest task is overdue. Of store_slow: how long a commit takes. Of node_clock: how far the clock is ahead, or with a minus sign behind. Otherwise empty."`
	Expires    *Time             `json:"expires" format:"date-time" doc:"Only of credential_expires."`
	MerchantNo string            `json:"merchant_no" doc:"Of one merchant or order; empty: it is about none, or about several."`
	OrderNo    string            `json:"order_no"`
	RefNo      string            `json:"ref_no" doc:"Number of the refund or transfer."`
	Task       string            `json:"task" doc:"Id of the task of one order, refund or transfer, or of the one whose follow-up was refused last; empty: it is about none, or about several."`
	Alarm      string            `json:"alarm" doc:"The raised alarm about it; empty: none."`
	Untold     string            `json:"untold" doc:"Why no task reports that alarm; empty: a task does."`
	Page       string            `json:"page" doc:"Path of the console's page on which a person deals with it."`
}

// An AttentionAmount is a sum of money of one currency.
type AttentionAmount struct {
	Currency string `json:"currency" doc:"ISO 4217."`
	Amount   int64  `json:"amount" doc:"In the currency's smallest unit."`
	Orders   int    `json:"orders" doc:"Orders, refunds or differences that it is the sum of."`
}

// An AttentionFailure is a failed attempt.
type AttentionFailure struct {
	Started  Time   `json:"started" format:"date-time"`
	Task     string `json:"task"`
	Result   string `json:"result" enum:"accepted,refused,error_status,unreachable,timeout,blocked,unknown"`
	Status   int    `json:"status" doc:"HTTP status; 0: no answer."`
	Error    string `json:"error"`
	Response string `json:"response" doc:"The first 200 bytes of the answer, with secrets masked."`
}

// Attentions is what needs a person now.
type Attentions struct {
	At    Time        `json:"at" format:"date-time"`
	Items []Attention `json:"items" nullable:"false" doc:"What stops every task, then what affects most money, then most tasks. Amounts of different currencies are compared in main units. At most 100. While the database cannot be reached, not_ready is the only item."`
	More  int         `json:"more" doc:"Items that are left out."`
	Whole
}

// Attention reads what needs a person now, what affects most first.
func (c *Client) Attention(ctx context.Context) (*Attentions, error) {
	return one[Attentions](ctx, c, http.MethodGet, "/v1/attention", nil, nil)
}
