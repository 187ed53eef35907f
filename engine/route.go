package engine

import (
	"cmp"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/dispatch"
)

// routerOf returns the handler that knows the rules of a task's merchant. ok is false if the task
// names no merchant or the handler is not a Router.
func routerOf(q *Queue, t *bellman.Task) (bellman.Router, bool) {
	if t.MerchantNo == "" {
		return nil, false
	}
	g, ok := q.Handler.(bellman.Router)
	return g, ok
}

// limiterOf returns the handler that knows the limits of a task's endpoint. ok is false if the task
// has none, or the handler is not a Limiter.
func limiterOf(q *Queue, t *bellman.Task) (bellman.Limiter, bool) {
	if t.Endpoint == "" {
		return nil, false
	}
	l, ok := q.Handler.(bellman.Limiter)
	return l, ok
}

// under returns the queue with the limits of a merchant in place of its own endpoint limits.
func (q Queue) under(l dispatch.Limits) Queue {
	if l.Concurrency > 0 {
		q.EndpointConcurrency, q.slots, q.perEndpoint = l.Concurrency, true, true
	}
	if l.Rate > 0 {
		q.EndpointRate, q.perEndpoint, q.rated = l.Rate, true, q.common != nil
	}
	return q
}

func limits(g *bellman.Route) dispatch.Limits {
	return dispatch.Limits{Concurrency: g.Concurrency, Rate: g.Rate}
}

// goes is the current endpoint of a task: its merchant's, or its own.
func goes(t *bellman.Task, g *bellman.Route) string { return cmp.Or(g.Endpoint, t.Endpoint) }
