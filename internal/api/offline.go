package api

import (
	"encoding/json"
	"fmt"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/schedule"
)

// Offline shows a task and its attempts as the API does to whoever may see what is masked, but for the
// values of headers: for whoever reads a store without its configuration.
func Offline(t *bellman.Task, log []bellman.Attempt) *client.TaskDetail {
	a := &API{kinds: func(string) string { return "" }, schedules: new(schedule.Cache)}
	d := a.detail(t, log)
	a.unmask(t, log, d)
	return d
}

// Check says what is wrong with a task, as far as that can be told without the queue
// that it names, or returns nil. It reads it as a server does; c knows the rest.
func Check(in *client.CreateTask, c bellman.Checker) *client.Problem {
	const most = 256 << 10
	text, err := json.Marshal(in)
	if err != nil {
		return newProblem(422, fmt.Sprintf("is no task: %v", err))
	}
	var o wanted
	if err := decodeTask(text, &o); err != nil {
		return malformed(err)
	}
	t := ask(&o.in, &o.faults)
	if len(t.Body) > most {
		return tooLarge("task's body", most)
	}
	if err := c.Check(t); err != nil {
		invalid, is := asInvalid(err)
		if !is {
			return newProblem(422, said(err))
		}
		o.faults.take(invalid)
	}
	return o.faults.problem()
}
