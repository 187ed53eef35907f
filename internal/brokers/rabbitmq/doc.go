// Package rabbitmq takes tasks from queues of RabbitMQ, and publishes them to its
// exchanges. When a message is acknowledged, and what follows from an attempt, is
// for package source and package deliver.
package rabbitmq
