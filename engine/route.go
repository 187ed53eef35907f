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

// routerOf returns the handler that knows the rules of a task's merchant. ok is false if the task
// names no merchant or the handler is not a Router.
func routerOf(q *Queue, t *bellman.Task) (bellman.Router, bool) {
	if t.MerchantNo == "" {
		return nil, false
	}
	g, ok := q.Handler.(bellman.Router)
	return g, ok
}

// Route returns the current rules of a task's merchant. They are zero if the task names no
// merchant, or if they cannot be read; in that case the handler reports the error at the attempt.
func (m *Monitor) Route(t *bellman.Task) bellman.Route { return m.rules.route(t) }

// under returns the queue with the limits of a merchant in place of its own endpoint limits.
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

// goes is the current endpoint of a task: its merchant's, or its own.
func goes(t *bellman.Task, g *bellman.Route) string { return cmp.Or(g.Endpoint, t.Endpoint) }

// Rerouted tells the engine that the address or the limits of a merchant may have changed. Waiting
// tasks of that merchant move to the new endpoint.
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
		e.dispatch.Open(e.clock.Now().UnixNano(), line, e.rules.ofLine(q, t, &g))
		moved = true
	}
	if moved {
		e.runner.pump()
		e.ticker.wakeBefore(0)
	}
}

// PauseMerchant stops attempts of a merchant's tasks, in all queues whose handler is a
// [bellman.Router], until ResumeMerchant; a restart does not end it. Tasks are still accepted, and
// their schedules wait.
func (a *Admin) PauseMerchant(ctx context.Context, merchantNo string, by bellman.By) error {
	return a.pauses.pause(ctx, merchantTarget+merchantNo, by)
}

// ResumeMerchant ends PauseMerchant. It returns ErrNotPaused if the merchant is not paused.
func (a *Admin) ResumeMerchant(ctx context.Context, merchantNo string, by bellman.By) error {
	return a.pauses.resume(ctx, merchantTarget+merchantNo, by)
}

// MerchantPause returns who paused a merchant, or nil if the merchant is not paused.
func (m *Monitor) MerchantPause(merchantNo string) *figures.Pause {
	return m.pauses.merchant(merchantNo)
}

// PausedMerchants returns the paused merchants, the longest paused first.
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

const merchantTarget = "merchant/" // prefix of a merchant number in the name of a pause

func isMerchantTarget(target string) bool { return strings.HasPrefix(target, merchantTarget) }

// ofLine returns the dispatcher's rules for the line of a task.
func (r *Rules) ofLine(q Queue, t *bellman.Task, g *bellman.Route) dispatch.Rules {
	l := q.under(limits(g)).rules(t.Queue, goes(t, g), quotaOf(r.leases))
	l.Own = limits(g)
	return l
}
