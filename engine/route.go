package engine

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

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
func (e *Engine) Route(t *bellman.Task) bellman.Route {
	if t == nil || t.MerchantNo == "" {
		return bellman.Route{}
	}
	q, _ := e.queue(t.Queue)
	router, ok := routerOf(&q, t)
	if !ok {
		return bellman.Route{}
	}
	g, err := router.Route(e.attempts, t)
	if err != nil {
		e.log.Warn("what holds for a task's merchant cannot be read", "queue", t.Queue, "merchant_no", t.MerchantNo, "err", err)
		return bellman.Route{}
	}
	return g
}

// inherit fills in the merchant's rules where the caller gave none, and notes which those are. missing
// are the rules that the caller left out.
func (e *Engine) inherit(q *Queue, t *bellman.Task, missing bellman.Inherited) {
	t.Inherited = 0
	if _, ok := routerOf(q, t); !ok {
		return
	}
	t.Inherited = missing
	g := e.Route(t)
	if missing.Has(bellman.InheritedSchedule) {
		t.Schedule = cmp.Or(g.Schedule, t.Schedule)
	}
	if missing.Has(bellman.InheritedSuccess) {
		t.Success = cmp.Or(g.Success, t.Success)
	}
	if missing.Has(bellman.InheritedTimeout) {
		t.Timeout = cmp.Or(g.Timeout, t.Timeout)
	}
}

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

// rulesOf are the rules of a task's line.
func (e *Engine) rulesOf(q Queue, t *bellman.Task, g *bellman.Route) dispatch.Rules {
	r := q.under(limits(g)).rules(t.Queue, goes(t, g), e.leases.portion())
	r.Own = limits(g)
	return r
}

// rerouted sends an item to the line's new endpoint, if it has another than the one
// that the ticket is for; false: it has not.
func (e *Engine) rerouted(ticket dispatch.Ticket, it *item, g *bellman.Route) bool {
	if it.task == nil || g.Endpoint == "" || ticket.Endpoint() == g.Endpoint {
		return false
	}
	q, _ := e.queue(it.task.Queue)
	now := e.clock.now()
	e.dispatch.Open(now.UnixNano(), uint64(it.Line), e.rulesOf(q, it.task, g))
	e.release(it)
	e.bring([]*item{it}, now)
	return true
}

// Rerouted says that a merchant may have another address, or other limits: what waits
// for it goes there. It asks the handlers of those queues that have such tasks in line.
func (e *Engine) Rerouted(merchantNo string) {
	endpoint := bellman.MerchantEndpoint(merchantNo)
	moved := false
	for name, q := range *e.queues.Load() {
		line := uint64(store.LineOf(name, endpoint))
		if _, routed := q.Handler.(bellman.Router); !routed || !e.dispatch.Known(line) {
			continue
		}
		t := &bellman.Task{Queue: name, MerchantNo: merchantNo, Endpoint: endpoint}
		g := e.Route(t)
		e.dispatch.Open(e.clock.now().UnixNano(), line, e.rulesOf(q, t, &g))
		moved = true
	}
	if moved {
		e.pump()
		e.wakeBefore(0)
	}
}

// PauseMerchant stops attempts of the tasks that name a merchant, of all queues whose
// handler is a [bellman.Router], until ResumeMerchant, over restarts too. Tasks are
// accepted meanwhile, and their schedules wait.
func (e *Engine) PauseMerchant(ctx context.Context, merchantNo string, by bellman.By) error {
	return e.pause(ctx, merchantTarget+merchantNo, by)
}

// ResumeMerchant ends PauseMerchant; ErrNotPaused if there is nothing to end.
func (e *Engine) ResumeMerchant(ctx context.Context, merchantNo string, by bellman.By) error {
	return e.resume(ctx, merchantTarget+merchantNo, by)
}

// MerchantPause returns who paused a merchant; nil: nobody did.
func (e *Engine) MerchantPause(merchantNo string) *figures.Pause {
	if e.pauses.merchants.Load() == 0 {
		return nil
	}
	return e.pauses.get(merchantTarget + merchantNo)
}

// PausedMerchants returns the merchants that are paused, those that have been for the longest
// first.
func (e *Engine) PausedMerchants() (paused []figures.MerchantPause) {
	if e.pauses.merchants.Load() == 0 {
		return nil
	}
	for target, p := range e.pauses.all() {
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
func (e *Engine) Tell(kinds ...string) { e.hintAll(Hint{Docs: kinds}) }

const merchantTarget = "merchant/" // before its number, of what is paused

func isMerchantTarget(target string) bool { return strings.HasPrefix(target, merchantTarget) }

// heldBack sets a due task aside whose merchant is paused, so that it takes nobody's
// place in line; when the pause ends it comes back at once. False: it is not paused.
func (e *Engine) heldBack(it *item) bool {
	t := it.task
	if t == nil || e.MerchantPause(t.MerchantNo) == nil {
		return false
	}
	q, _ := e.queue(t.Queue)
	if _, routed := routerOf(&q, t); !routed {
		return false
	}
	if !e.hand.setAside(it) {
		return true
	}
	now := e.clock.now()
	to := t.Status
	to.VisibleAt = roundUp(now.Add(maxAside - time.Duration(rand.Int64N(int64(maxAside/2)))))
	to.Updated = now
	e.layAside(it, to, nil)
	return true
}
