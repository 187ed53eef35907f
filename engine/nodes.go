package engine

import (
	"context"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/cluster"
	"github.com/bellmanhq/bellman/store"
)

// A NodeInfo describes a node for operators: its name, address, version, when it joined and last
// sent a heartbeat, whether it is alive, and the shards that it owns.
type NodeInfo = cluster.NodeInfo

// Hinted applies a hint from another node. It returns at once. The hint may come over a network
// from any trusted node, and its content may be arbitrary.
func (e *Engine) Hinted(h Hint) {
	e.leases.Hinted(h)
	if len(h.Changed) > 0 {
		e.agenda.renew(h.Changed)
		e.loader.wake()
	}
	if len(h.Added) > 0 {
		e.loader.rescans.span(h.Added, h.Since, h.Until)
		e.loader.wake()
	}
}

// Tell notifies the other nodes that documents of these kinds changed.
func (e *Engine) Tell(kinds ...string) { e.leases.TellAll(Hint{Docs: kinds}) }

// Leads reports whether this node performs the duties of one node for all: it owns shard 0. For a
// moment there may be no such node, or two.
func (m *Monitor) Leads() bool {
	shards := m.leases.Shards()
	return len(shards) > 0 && shards[0] == 0 && m.leases.Trusting()
}

// Nodes returns the registered nodes by name, and the shards that none of them owns. A dead node is
// listed while it owns shards, and for ten minutes.
func (m *Monitor) Nodes(ctx context.Context) (nodes []NodeInfo, unowned []store.Lease, err error) {
	return m.leases.Nodes(ctx)
}

// Rerouted tells the engine that the address or the limits of a merchant may have changed. Waiting
// tasks of that merchant move to the new endpoint.
func (e *Engine) Rerouted(merchantNo string) {
	e.reopen(bellman.Task{MerchantNo: merchantNo, Endpoint: bellman.MerchantEndpoint(merchantNo)}, func(q *Queue) bool {
		_, routed := q.Handler.(bellman.Router)
		return routed
	})
}

// Relimited tells the engine that the rate of an endpoint may have changed (see [bellman.Limiter]).
func (e *Engine) Relimited(endpoint string) {
	e.reopen(bellman.Task{Endpoint: endpoint}, func(q *Queue) bool {
		_, limited := q.Handler.(bellman.Limiter)
		return limited
	})
}

// reopen gives the lines of some queues the present rules of a task's endpoint.
func (e *Engine) reopen(of bellman.Task, those func(*Queue) bool) {
	changed := false
	for name, q := range *e.rules.queues.Load() {
		line := uint64(store.LineOf(name, of.Endpoint))
		if !those(&q) || !e.dispatch.Known(line) {
			continue
		}
		t := of
		t.Queue = name
		g := e.Route(&t)
		e.dispatch.Open(e.clock.Now().UnixNano(), line, e.rules.ofLine(q, &t, &g))
		changed = true
	}
	if changed {
		e.runner.pump()
		e.runner.ticker.wakeBefore(0)
	}
}
