package alarm

import (
	"slices"
	"strings"
)

// The conditions of a rule.
const (
	Overdue         = "overdue"          // a task waits beyond its due time although no pause or breaker holds it
	EndpointFailing = "endpoint_failing" // an endpoint's breaker is open; one alarm for each
	OrdersUnknown   = "orders_unknown"   // orders ended undecided within the last hour
	TasksFailed     = "tasks_failed"     // tasks of kind notify failed within the last hour
	StoreSlow       = "store_slow"       // commits take long
	Overloaded      = "overloaded"       // a node accepts no new tasks
	NodeSilent      = "node_silent"      // a living node does not report its figures

	CredentialExpires = "credential_expires" // a certificate or key ends within 30, 7 or 1 days; one alarm for each and each time

	// OrderDecided is no condition but an event: a person decided an order. See [Watch.Decided].
	OrderDecided = "order_decided_by_hand"

	// These are events, too: an order, refund or transfer needs a person. See [Watch.Needed].
	OrderNeedsAction = "order_needs_action" // an order is UNKNOWN, or cannot be reversed so far
	AmountMismatch   = "amount_mismatch"    // another amount than the order's was paid
	LatePayment      = "late_payment"       // a payment came after the decision, or a second one

	PaymentWithoutOrder = "payment_without_order" // a notice says that somebody paid, and its order has not come
	PollNeedsAction     = "poll_needs_action"     // a refund or transfer: its schedule is used up, or the channel refuses or contradicts
)

// The conditions of alarms without a rule: see Watch.Report.
const (
	ReconcileDifferences = "reconcile_differences" // a bill and the orders of its day differ
	ReconcileFailed      = "reconcile_failed"      // the bill of a day could not be had, or orders could not be compared with it
)

// Whens are the conditions, in the order of the documentation.
var whens = []string{Overdue, EndpointFailing, OrdersUnknown, TasksFailed, StoreSlow, Overloaded, NodeSilent, CredentialExpires, OrderDecided, OrderNeedsAction, AmountMismatch, LatePayment, PaymentWithoutOrder, PollNeedsAction}

// Whens returns the conditions that a rule can have.
func Whens() []string { return slices.Clone(whens) }

// Figured reports which value a condition compares with Above: a duration or a count. Both false:
// it has no value, and Above is ignored.
func Figured(when string) (duration, count bool) {
	switch when {
	case Overdue, StoreSlow:
		return true, false
	case OrdersUnknown, TasksFailed:
		return false, true
	}
	return false, false
}

// Queued reports whether a condition can be limited to one queue.
func Queued(when string) bool {
	return when == Overdue || when == OrdersUnknown || when == TasksFailed || when == CredentialExpires || Momentary(when)
}

// Momentary reports whether a condition is an event, which is reported at once.
func Momentary(when string) bool {
	switch when {
	case OrderDecided, OrderNeedsAction, AmountMismatch, LatePayment, PaymentWithoutOrder, PollNeedsAction:
		return true
	}
	return false
}

// Kind returns the kind of the queues that a condition is about; empty: queues of every kind.
func Kind(when string) string {
	switch when {
	case OrdersUnknown, OrderDecided, OrderNeedsAction, AmountMismatch, LatePayment, PaymentWithoutOrder:
		return "order"
	case TasksFailed:
		return "notify"
	case PollNeedsAction:
		return "poll"
	}
	return ""
}

// covers reports whether an alarm belongs to the present version of a rule.
func covers(r *Rule, a *Alarm) bool {
	return r.When == a.When && r.Queue == a.Queue
}

// Name returns the default name of a rule, such as overdue-pay-notify.
func Name(when, queue string) string {
	return strings.TrimSuffix(strings.ReplaceAll(when, "_", "-")+"-"+queue, "-")
}
