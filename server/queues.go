package server

import (
	"fmt"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/brokers"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/internal/results"
	"github.com/bellmanhq/bellman/rule"
)

// weakScheme is the warning about a scheme that signs with MD5.
const weakScheme = "signatures are made with MD5, from which a short secret can be found: use hmac_sha256_params or standard_webhooks where the receiver can check them"

// queues makes the engine's queues, each with its handler. wrong is everything that is refused; a
// queue that is refused may have no handler.
func (s *Server) queues(c *config.Config) (queues []engine.Queue, wrong config.Problems) {
	refused := func(q *config.Queue, field string, err error) {
		wrong = append(wrong, c.Refused("queues."+q.Name+field, err)...)
	}
	queues = make([]engine.Queue, len(c.Queues))
	handlers := make(map[string]bellman.Handler, len(c.Queues))
	for i := range c.Queues {
		q := &c.Queues[i]
		if sign.Weak(q.Sign.Scheme) {
			s.log.Warn(weakScheme, "queue", q.Name, "scheme", q.Sign.Scheme)
		}
		queues[i] = engineQueue(q)
		if err := queues[i].Kind.UnmarshalText([]byte(q.Kind)); err != nil {
			refused(q, ".kind", err)
			continue
		}
		var err error
		queues[i].Ended, err = s.ended(q, c.Queues)
		refused(q, "", err)
		if q.Kind != "notify" {
			continue
		}
		h, err := s.notifyHandler(q)
		if err != nil {
			refused(q, "", err)
			continue
		}
		queues[i].Handler, handlers[q.Name] = h, h
	}
	// After the notify queues, which polls name, and after the polls, which orders name.
	for _, kind := range []string{"poll", "order"} {
		for i := range c.Queues {
			q := &c.Queues[i]
			if q.Kind != kind {
				continue
			}
			h, err := s.channelHandler(q, c, handlers)
			if err != nil {
				refused(q, "", err)
				continue
			}
			queues[i].Handler, queues[i].YoungFirst = h, true
			queues[i].EndpointConcurrency = orderConcurrency(q)
			handlers[q.Name] = h
		}
	}
	for i := range queues {
		if queues[i].Handler != nil { // else it is refused already
			_, err := engine.NewRules(queues[i])
			refused(&c.Queues[i], "", err)
		}
	}
	return queues, wrong
}

// engineQueue returns a queue's settings for the engine, without its kind and its handler.
func engineQueue(q *config.Queue) engine.Queue {
	return engine.Queue{
		Name:                q.Name,
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
}

// channelHandler returns the handler of a queue of kind poll or order, which asks a channel.
// handlers are those of the queues that it may name.
func (s *Server) channelHandler(q *config.Queue, c *config.Config, handlers map[string]bellman.Handler) (bellman.Handler, error) {
	if q.Kind == "poll" {
		return s.pollHandler(q, c, handlers)
	}
	return s.orderHandler(q, c, handlers)
}

// notifyHandler returns the handler of a queue of kind notify: the program's own if it has one.
func (s *Server) notifyHandler(q *config.Queue) (bellman.Handler, error) {
	if h, own := s.handlers[q.Name]; own {
		return h, nil
	}
	home, err := sign.NewSecret(q.URL).Resolve()
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	return s.client.Handler(deliver.Rules{
		URL: string(home), Success: q.Success, Sign: q.Sign, Merchants: s.merchants, PropagateTrace: q.PropagateTrace,
		Schemes: brokers.Schemes, Connections: s.connections, Own: q.Connections,
		Attempted: func(no string, accepted bool) { s.suspects.Attempted(no, accepted, time.Now()) },
	})
}

// ended returns the function that makes the completion events of a queue (on_end); nil: there are
// none.
func (s *Server) ended(q *config.Queue, all []config.Queue) (_ func(*bellman.Task) []bellman.Task, err error) {
	to := map[bellman.State]results.Queue{}
	for state, name := range q.OnEnd.Each() {
		var ended bellman.State
		if err := ended.UnmarshalText([]byte(state)); err != nil {
			return nil, err
		}
		if to[ended], err = resultQueue(name, all); err != nil {
			return nil, err
		}
	}
	if len(to) == 0 {
		return nil, nil
	}
	rules := results.Rules{To: to, Shape: func(t *bellman.Task) []byte { return s.api.Shape(t) }, Log: s.log}
	return rules.Ended, nil
}

// resultQueue returns the queue of that name as a receiver of completion events, with its
// event_json.
func resultQueue(name string, all []config.Queue) (to results.Queue, err error) {
	to.Name = name
	for _, q := range all {
		if q.Name == name && q.EventJSON != "" {
			if to.Words, err = rule.CompileValue(q.EventJSON); err != nil {
				return to, fmt.Errorf("queue %s: event_json: %w", name, err)
			}
		}
	}
	return to, nil
}

// orderConcurrency is how many concurrent requests a channel gets. An order queue is one endpoint,
// so the limit of the queue is the limit of the endpoint.
func orderConcurrency(q *config.Queue) int {
	if q.Concurrency > 0 {
		return q.Concurrency
	}
	return 256
}
