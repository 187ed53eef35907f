// Package order decides whether an order is paid. It queries the payment channel on a schedule
// until the order is paid, and closes the order when nobody pays. It never closes an order whose
// payment state it does not know.
//
// A [Handler] is a [bellman.Handler]: one attempt is one step of the protocol that step.go draws.
// The request of the caller is an [Ask] in the task's Body. The progress of the watch is a [Life]
// in the task's Data. How a payment channel is queried is left to a [Channel].
package order
