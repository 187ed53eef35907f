// Package bellman has the types that all other packages share: tasks, attempts,
// verdicts, handlers and errors. A task is attempted on a schedule until an answer
// ends it, over crashes and restarts.
//
// Package engine attempts the tasks. A store keeps them: store/pebble on the local
// disk, others in a database. A [Handler] makes each attempt: package deliver sends
// HTTP requests, package order watches payment orders, or write your own.
//
// This package imports the standard library only.
package bellman
