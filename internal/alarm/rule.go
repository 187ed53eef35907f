package alarm

import (
	"slices"
	"strings"
)

// What a rule can be about.
const (
	Overdue         = "overdue"          // a task waits beyond its due time, though nothing holds it
	EndpointFailing = "endpoint_failing" // an endpoint's breaker is open; one alarm for each
	OrdersUnknown   = "orders_unknown"   // orders were given up without a decision in the latest hour
	TasksFailed     = "tasks_failed"     // tasks of kind notify failed in the latest hour
	StoreSlow       = "store_slow"       // commits take long
	Overloaded      = "overloaded"       // a node takes no tasks in
	NodeSilent      = "node_silent"      // a node that lives does not say its figures
)

// Whens are what a rule can be about, in the order in which they are told.
var whens = []string{Overdue, EndpointFailing, OrdersUnknown, TasksFailed, StoreSlow, Overloaded, NodeSilent}

// Whens returns what a rule can be about.
func Whens() []string { return slices.Clone(whens) }

// Figured says what figure a rule about when compares: a duration, or a count. Neither:
// there is none, and Above means nothing.
func Figured(when string) (duration, count bool) {
	switch when {
	case Overdue, StoreSlow:
		return true, false
	case OrdersUnknown, TasksFailed:
		return false, true
	}
	return false, false
}

// Queued reports whether a rule about when can be about one queue.
func Queued(when string) bool {
	return when == Overdue || when == OrdersUnknown || when == TasksFailed
}

// covers reports whether an alarm is of what a rule is about.
func covers(r *Rule, a *Alarm) bool {
	return r.When == a.When && r.Queue == a.Queue
}

// Name returns the name of a rule that was given none: overdue-pay-notify.
func Name(when, queue string) string {
	return strings.TrimSuffix(strings.ReplaceAll(when, "_", "-")+"-"+queue, "-")
}
