package engine

import (
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// Prepare checks tasks as Add does, but leaves it to the caller to add them: to a
// store's AddTx, which writes them in a transaction of the caller's. An Add has a copy
// that is filled in; what was given gets its id and status and stays as it was else, to be
// prepared again when the transaction is run again. An Add whose Err is set is of a task
// that is wrong. Prepare adds nothing, waits for nothing, and refuses nothing for being
// overloaded.
func (e *Engine) Prepare(tasks ...*bellman.Task) []store.Add {
	return e.prepare(tasks, e.clock.now())
}

func (e *Engine) prepare(tasks []*bellman.Task, now time.Time) []store.Add {
	adds := make([]store.Add, len(tasks))
	for i, t := range tasks {
		add, err := e.accept(t, now)
		if err != nil {
			add = store.Add{Task: t, Err: err}
		}
		t.ID, t.Status = add.Task.ID, add.Task.Status
		adds[i] = add
	}
	return adds
}

// Rules prepare tasks in a process that attempts none, such as a service that
// writes an order and its notification in one transaction, while other processes
// run the engines. Its methods are safe for concurrent use.
type Rules struct{ idle *Engine }

// NewRules takes the queues with the rules, and the handlers, that the engines
// have them with: tasks keep what their queue said when they were prepared.
func NewRules(queues ...Queue) (*Rules, error) {
	e, err := build(Options{Queues: queues})
	if err != nil {
		return nil, err
	}
	return &Rules{e}, nil
}

// Prepare is Engine.Prepare, without an engine. Nothing follows the wall clock
// here, so it is asked.
func (r *Rules) Prepare(tasks ...*bellman.Task) []store.Add {
	return r.idle.prepare(tasks, time.Now())
}
