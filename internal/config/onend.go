package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// OnEnd names the queues that get completion events, by end state; empty: none.
type OnEnd struct {
	Succeeded, Failed, Cancelled string
}

// Each returns the queues by state.
func (e OnEnd) Each() map[string]string {
	names := map[string]string{"succeeded": e.Succeeded, "failed": e.Failed, "cancelled": e.Cancelled}
	maps.DeleteFunc(names, func(_, queue string) bool { return queue == "" })
	return names
}

// onEndFields are the fields of all kinds of queues.
var onEndFields = []field[Queue]{
	{name: "on_end.succeeded", set: func(q *Queue, s string) error { return name(&q.OnEnd.Succeeded, s) }},
	{name: "on_end.failed", set: func(q *Queue, s string) error { return name(&q.OnEnd.Failed, s) }},
	{name: "on_end.cancelled", set: func(q *Queue, s string) error { return name(&q.OnEnd.Cancelled, s) }},
}

// checkOnEnd reports each on_end whose queue does not exist or cannot send, and circles of queues.
func checkOnEnd(r *reader, path string, queues []Queue) {
	next := map[string][]string{}
	for _, q := range queues {
		for _, to := range q.OnEnd.Each() {
			next[q.Name] = append(next[q.Name], to)
		}
	}
	for _, q := range queues {
		for state, to := range q.OnEnd.Each() {
			at := within(within(within(path, q.Name), "on_end"), state)
			if wrong := notNotify(queues, to, "a result"); wrong != "" {
				r.noteAt(at, wrong)
			} else if circle := round(next, []string{q.Name, to}); circle != nil {
				r.noteAt(at, fmt.Sprintf("goes round, so that each result has a result: %s: want a queue whose on_end leads nowhere back", strings.Join(circle, " → ")))
			}
		}
	}
}

// round returns a path of queues that begins with way and ends at its first queue; nil: there is
// none.
func round(next map[string][]string, way []string) []string {
	last := way[len(way)-1]
	if last == way[0] {
		return way
	}
	for _, to := range slices.Sorted(slices.Values(next[last])) {
		if to != way[0] && slices.Contains(way, to) {
			continue // a circle of other queues is reported there
		}
		if circle := round(next, append(slices.Clip(way), to)); circle != nil {
			return circle
		}
	}
	return nil
}
