// Package bellman has the words and contracts of durable polling and
// notification: a task is attempted on a schedule until its answer ends it,
// and that survives anything.
//
// It imports the standard library only. Package engine does the work, a store
// (package pebble, or another that passes package storetest) keeps it, and a
// [Handler] makes the attempts: package deliver's over HTTP, or your own.
package bellman
