// Package source takes tasks from brokers. A message becomes a task by a mapping,
// is stored, and only then acknowledged; one that can never be a task goes to the
// dead-letter place with the reason. The package knows when to take, in what
// batches, and what to do when the store or the broker is away. How a broker is
// spoken to is for package rabbitmq and package nats, which it does not know.
//
// # How a duplicate arises
//
// The broker hands a message over; the task is stored; the process dies, or the
// connection breaks, before the acknowledgement arrives; the broker hands the
// message over again. It has the same message id, so the task has the same key and
// is found stored already. A message without an id, of which no key is mapped, is
// another task each time that it comes.
package source
