// Package rabbitmq receives tasks from queues of RabbitMQ, and publishes tasks to its exchanges.
// Package source decides when a message is acknowledged; package deliver decides what follows from
// an attempt.
package rabbitmq
