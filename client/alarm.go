package client

import (
	"context"
	"net/http"
)

// An AlarmRule is a condition that people want to know about.
type AlarmRule struct {
	Name  string  `json:"name" example:"notify-overdue"`
	When  string  `json:"when" enum:"overdue,endpoint_failing,orders_unknown,tasks_failed,store_slow,overloaded,node_silent,credential_expires,order_decided_by_hand,order_needs_action,amount_mismatch,late_payment,payment_without_order,poll_needs_action"`
	Queue string  `json:"queue" doc:"The queue whose tasks count; empty: all queues."`
	Above float64 `json:"above" doc:"Threshold: seconds for overdue and store_slow, otherwise a count."`
	For   string  `json:"for" doc:"How long the condition must hold."`
	To    string  `json:"to" doc:"The notify queue."`
}

// An Alarm is a condition that became true, and may have ended.
type Alarm struct {
	Name     string  `json:"name"`
	When     string  `json:"when"`
	Queue    string  `json:"queue" doc:"Empty: all queues."`
	Endpoint string  `json:"endpoint" doc:"The queue or endpoint of the alarm; * for those beyond the most that are reported one by one."`
	Above    float64 `json:"above"`
	Value    float64 `json:"value" doc:"Value when the alarm was raised."`
	Since    Time    `json:"since" format:"date-time"`
	Until    *Time   `json:"until" format:"date-time" doc:"null while the alarm is raised."`
	Reason   string  `json:"reason" doc:"Why the alarm ended: over, rule_removed or rule_changed; empty while it is raised."`
	To       string  `json:"to" doc:"The notify queue; empty: no rule covers it, so nobody is told."`
	Untold   string  `json:"untold" doc:"Why no task reports the latest change; empty: a task does."`

	Credential string `json:"credential,omitempty" doc:"Only of credential_expires: the certificate or key, by its place in the configuration."`
	Expires    *Time  `json:"expires,omitempty" format:"date-time" doc:"When the credential expires."`

	Decision *Decision  `json:"decision,omitempty" doc:"Only of order_decided_by_hand."`
	Affected *AlarmCase `json:"affected,omitempty" doc:"Only of an order, refund or transfer that needs a person."`
}

// A Decision is an order that a person decided.
type Decision struct {
	Task       string `json:"task" format:"uuid" doc:"The order's task."`
	MerchantNo string `json:"merchant_no"`
	OrderNo    string `json:"order_no"`
	Who        string `json:"who" doc:"Name of the API key; empty if authentication is off."`
	From       string `json:"from,omitempty" doc:"Network address of the caller; absent: unknown."`
	Reason     string `json:"reason" doc:"The reason, a colon and the outcome."`
}

// An AlarmCase is an order, refund or transfer that needs a person.
type AlarmCase struct {
	Task       string `json:"task" format:"uuid"`
	MerchantNo string `json:"merchant_no" doc:"Empty: bellman has no such order."`
	OrderNo    string `json:"order_no"`
	RefNo      string `json:"ref_no,omitempty" doc:"Number of the refund or transfer; absent: it is an order."`
	State      string `json:"state" doc:"The state of the order, refund or transfer."`
	Why        string `json:"why"`
}

// Alarms are the rules of the answering node, and the alarms of all nodes.
type Alarms struct {
	Rules  []AlarmRule `json:"rules" nullable:"false"`
	Alarms []Alarm     `json:"alarms" nullable:"false" doc:"Raised alarms, then alarms that ended within a day, or within a week if they have affected; the newest first."`
}

// Alarms reads the rules, the raised alarms, and the alarms that ended within a day, or within a
// week if they are about an order, refund or transfer.
func (c *Client) Alarms(ctx context.Context) (*Alarms, error) {
	return one[Alarms](ctx, c, http.MethodGet, "/v1/alarms", nil, nil)
}
