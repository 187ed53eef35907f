package main

import (
	"context"
	"time"
)

// A peer is what bellman is measured beside.
type peer interface {
	name() string
	most() int                  // tasks that it takes in at once; 1: there are no batches
	efforts() []effort          // that are tried for its rates
	crew() (name, store string) // a key of crews, and where its workers find the tasks

	// add creates tasks: one, or up to as many as it takes at once.
	add(ctx context.Context, tasks []task) error
	// done says whether all tasks are recorded as done.
	done(ctx context.Context) (bool, error)
	// forget deletes what it keeps of tasks that are done.
	forget(ctx context.Context) error
	close() error
}

// An effort is how hard workers try.
type effort struct {
	workers int
	looks   time.Duration // how often they look for work
}

// A task to be created.
type task struct {
	number int
	due    time.Time // zero: now
}
