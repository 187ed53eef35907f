// Package nats receives tasks from streams of NATS JetStream, and publishes tasks to its subjects.
// Package source decides when a message is acknowledged; package deliver decides what follows from
// an attempt.
package nats
