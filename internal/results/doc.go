// Package results tells how tasks ended: what [engine.Queue.Ended] adds for a queue
// whose configuration says on_end. A result is a task of another queue, and so
// reaches a service, a broker or a chat with the same promises as everything else.
//
// It knows no engine and no configuration, and what a task looks like from outside
// is given to it.
//
// [engine.Queue.Ended]: https://pkg.go.dev/github.com/bellmanhq/bellman/engine#Queue
package results
