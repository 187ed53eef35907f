// Package results makes completion events: what [engine.Queue.Ended] adds for a queue with on_end.
// A completion event is a task of another queue, so it reaches a service, a broker or a chat with
// the same promises as every task.
//
// The package does not know the engine or the configuration. Its caller provides the JSON of a
// task.
//
// [engine.Queue.Ended]: https://pkg.go.dev/github.com/bellmanhq/bellman/engine#Queue
package results
