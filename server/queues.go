package server

import (
	"fmt"

	"github.com/bellmanhq/bellman/config"
	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/engine"
)

// young is how many attempts an order counts as young for, and goes before older
// ones when its channel allows too few: the first minute of order_poll.
const young = 20

// queues builds the engine's queues, each with its handler.
func (s *Server) queues(c *config.Config) ([]engine.Queue, error) {
	queues := make([]engine.Queue, len(c.Queues))
	notify := make(map[string]*deliver.Handler, len(c.Queues))
	for i := range c.Queues {
		q := &c.Queues[i]
		queues[i] = engine.Queue{
			Name:                q.Name,
			Kind:                q.Kind,
			Schedule:            q.Schedule,
			Success:             q.Success,
			Timeout:             q.Timeout,
			MaxAge:              q.MaxAge,
			Delay:               q.Delay,
			Concurrency:         q.Concurrency,
			Rate:                q.Rate,
			EndpointConcurrency: q.PerEndpoint.Concurrency,
			EndpointRate:        q.PerEndpoint.Rate,
		}
		if q.Kind == "order" {
			continue
		}
		h, err := s.client.Handler(deliver.Rules{URL: q.URL, Success: q.Success, Sign: q.Sign})
		if err != nil {
			return nil, fmt.Errorf("queue %s: %w", q.Name, err)
		}
		queues[i].Handler, notify[q.Name] = h, h
	}
	for i := range c.Queues { // orders tell notify queues, which may stand behind them
		q := &c.Queues[i]
		if q.Kind != "order" {
			continue
		}
		h, err := s.watch(q, c, notify)
		if err != nil {
			return nil, fmt.Errorf("queue %s: %w", q.Name, err)
		}
		queues[i].Handler, queues[i].Young = h, young
		queues[i].EndpointConcurrency = orderConcurrency(q)
	}
	return queues, nil
}

// orderConcurrency is how many requests a channel gets at once: an order queue is
// one endpoint, so the queue's own limit is the endpoint's.
func orderConcurrency(q *config.Queue) int {
	if q.Concurrency > 0 {
		return q.Concurrency
	}
	return 256
}
