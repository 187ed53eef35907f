package engine

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/engine/internal/dispatch"
	"github.com/bellmanhq/bellman/store"
)

// routerOf returns the handler that has rules of a task's merchant: nil, false if the task
// names none, or its queue's handler has no such rules.
func routerOf(q *Queue, t *bellman.Task) (bellman.Router, bool) {
	if t.MerchantNo == "" {
		return nil, false
	}
	g, ok := q.Handler.(bellman.Router)
	return g, ok
}

// Route returns the present rules of a task's merchant. They are zero if the task names none, or
// if they cannot be read: then the handler says so when it attempts the task.
func (m *Monitor) Route(t *bellman.Task) bellman.Route { return m.rules.route(t) }

// under is a queue with the limits of a task's merchant.
func (q Queue) under(l dispatch.Limits) Queue {
	if l.Concurrency > 0 {
		q.EndpointConcurrency, q.slots, q.perEndpoint = l.Concurrency, true, true
	}
	if l.Rate > 0 {
		q.EndpointRate, q.perEndpoint = l.Rate, true
	}
	return q
}

func limits(g *bellman.Route) dispatch.Limits {
	return dispatch.Limits{Concurrency: g.Concurrency, Rate: g.Rate}
}

// goes is the endpoint that a task goes to now.
func goes(t *bellman.Task, g *bellman.Route) string { return cmp.Or(g.Endpoint, t.Endpoint) }

// Rerouted says that a merchant may have another address, or other limits: what waits
// for it goes there. It asks the handlers of those queues that have such tasks in line.
func (e *Engine) Rerouted(merchantNo string) {
	endpoint := bellman.MerchantEndpoint(merchantNo)
	moved := false
	for name, q := range *e.rules.queues.Load() {
		line := uint64(store.LineOf(name, endpoint))
		if _, routed := q.Handler.(bellman.Router); !routed || !e.dispatch.Known(line) {
			continue
		}
		t := &bellman.Task{Queue: name, MerchantNo: merchantNo, Endpoint: endpoint}
		g := e.Route(t)
		e.dispatch.Open(e.clock.now().UnixNano(), line, e.rules.ofLine(q, t, &g))
		moved = true
	}
	if moved {
		e.runner.pump()
		e.ticker.wakeBefore(0)
	}
}

// PauseMerchant stops attempts of the tasks that name a merchant, of all queues whose
// handler is a [bellman.Router], until ResumeMerchant, over restarts too. Tasks are
// accepted meanwhile, and their schedules wait.
func (a *Admin) PauseMerchant(ctx context.Context, merchantNo string, by bellman.By) error {
	return a.pauses.pause(ctx, merchantTarget+merchantNo, by)
}

// ResumeMerchant ends PauseMerchant; ErrNotPaused if there is nothing to end.
func (a *Admin) ResumeMerchant(ctx context.Context, merchantNo string, by bellman.By) error {
	return a.pauses.resume(ctx, merchantTarget+merchantNo, by)
}

// MerchantPause returns who paused a merchant; nil: nobody did.
func (m *Monitor) MerchantPause(merchantNo string) *figures.Pause {
	return m.pauses.merchant(merchantNo)
}

// PausedMerchants returns the merchants that are paused, those that have been for the longest
// first.
func (m *Monitor) PausedMerchants() (paused []figures.MerchantPause) {
	if m.pauses.merchants.Load() == 0 {
		return nil
	}
	for target, p := range m.pauses.all() {
		if no, is := strings.CutPrefix(target, merchantTarget); is {
			paused = append(paused, figures.MerchantPause{MerchantNo: no, Pause: *p})
		}
	}
	slices.SortFunc(paused, func(a, b figures.MerchantPause) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.MerchantNo, b.MerchantNo))
	})
	return paused
}

// Tell lets the other nodes know that documents of some kinds changed.
func (e *Engine) Tell(kinds ...string) { e.leases.tellAll(Hint{Docs: kinds}) }

const merchantTarget = "merchant/" // before its number, of what is paused

func isMerchantTarget(target string) bool { return strings.HasPrefix(target, merchantTarget) }

// ofLine are the rules of a task's line.
func (r *Rules) ofLine(q Queue, t *bellman.Task, g *bellman.Route) dispatch.Rules {
	l := q.under(limits(g)).rules(t.Queue, goes(t, g), r.leases.quota())
	l.Own = limits(g)
	return l
}
