// Package order decides what became of an order: it asks the payment channel on
// a schedule until the order is paid, and closes it when nobody pays, so that a
// paid order is never closed by ignorance.
//
// It is a [bellman.Handler]: one attempt is one step, of which step.go has the
// drawing. What is asked for is an [Ask] in the task's Body, where it stands is a
// [Life] in its Data. What a channel is, and how it is asked, is a [Channel]'s
// business.
package order
