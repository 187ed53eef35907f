// Package nats takes tasks from streams of NATS JetStream, and publishes them to
// its subjects. When a message is acknowledged, and what follows from an attempt,
// is for package source and package deliver.
package nats
