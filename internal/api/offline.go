package api

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/schedule"
)

// Offline shows a task and its attempts unmasked, except for the values of headers, to somebody who
// reads a store without its configuration.
func Offline(t *bellman.Task, log []bellman.Attempt) *client.TaskDetail {
	a := &API{o: Options{Kinds: func(string) string { return "" }, Schedules: new(schedule.Cache)}}
	d := a.detail(t, log)
	a.unmask(t, log, d)
	return d
}

// Check returns the mistakes in a task, as far as they can be found without its queue, or nil. It
// reads the task as a server does; c checks the rest.
func Check(in *client.CreateTask, c bellman.Checker) *client.Problem {
	text, err := json.Marshal(in)
	if err != nil {
		return newProblem(422, fmt.Sprintf("is no task: %v", err))
	}
	var o wanted
	if err := decodeTask(text, &o); err != nil {
		return malformed(err)
	}
	t := ask(&o.in, &o.faults)
	if len(t.Body) > maxTask {
		return tooLarge("task's body", maxTask)
	}
	if err := c.Check(t); err != nil {
		invalid, is := errors.AsType[*bellman.Invalid](err)
		if !is {
			return newProblem(422, said(err))
		}
		o.faults.take(invalid)
	}
	return o.faults.problem()
}
