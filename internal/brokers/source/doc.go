// Package source takes tasks from brokers. A message becomes a task by a mapping. It is
// acknowledged only after the task is stored. A message that can never be a task goes to the
// dead-letter place, with the reason. The package decides when to receive, in which batches, and
// what to do when the store or the broker is away. Packages rabbitmq and nats speak the protocols;
// this package does not know them.
//
// # How a duplicate arises
//
// The broker delivers a message, and the task is stored. The process dies, or the connection
// breaks, before the acknowledgement arrives. The broker delivers the message again. It has the
// same message id, so the task has the same key and is not added again. A message that has no id,
// and whose mapping gives no key, becomes another task each time.
package source
