package server

import (
	"context"
	"fmt"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/api"
)

// An Offline validates tasks without a server, by the same code. It does not know the queues, their
// rules and addresses, the egress guard, the merchants, and existing keys.
type Offline struct{ rules *engine.Rules }

// NewOffline returns an Offline.
func NewOffline() (*Offline, error) {
	to, err := deliver.NewClient(deliver.Options{AllowPrivate: true})
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	h, err := to.Handler(deliver.Rules{URL: "http://queue.invalid/"}) // a task without a url may belong to a queue with one
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	rules, err := engine.NewRules(engine.Queue{Name: offlineQueue, Schedule: "1s*", Handler: h}) // it never ends
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	return &Offline{rules}, nil
}

// offlineQueue stands for any queue.
const offlineQueue = "offline"

// Check returns what is wrong with a task of any queue.
func (o *Offline) Check(t *bellman.Task) error {
	copied := *t
	copied.Queue = offlineQueue
	return o.rules.Prepare(&copied)[0].Err
}

// TryBatch returns what a client's TryBatch would return. A valid task has no Task in its result.
func (o *Offline) TryBatch(_ context.Context, in []client.CreateTask) ([]client.BatchResult, error) {
	out := make([]client.BatchResult, len(in))
	for i := range in {
		if p := api.Check(&in[i], o); p != nil {
			out[i] = client.BatchResult{Status: p.Status, Error: p}
		} else {
			out[i].Status = 201
		}
	}
	return out, nil
}
