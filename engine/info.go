package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/dispatch"
)

// Stats sums up the latest window, a day at most, of what this node did.
func (e *Engine) Stats(window time.Duration) bellman.Stats {
	s := e.watch.history.stats(e.clock.now(), window)
	s.Since = later(s.Since, e.watch.started.Truncate(time.Millisecond))
	return s
}

// Queues describes every configured queue, and every other that has tasks, by
// name.
func (e *Engine) Queues(ctx context.Context) ([]bellman.QueueInfo, error) {
	depths, err := e.store.Depths(ctx)
	if err != nil {
		return nil, fmt.Errorf("count tasks: %w", err)
	}
	now := e.clock.now()
	infos := make(map[string]*bellman.QueueInfo)
	for name, q := range *e.queues.Load() {
		infos[name] = &bellman.QueueInfo{
			Name:                name,
			Kind:                q.Kind,
			Schedule:            q.Schedule,
			Success:             q.Success,
			Timeout:             q.Timeout,
			MaxAge:              q.MaxAge,
			Delay:               q.Delay,
			Concurrency:         q.Concurrency,
			Rate:                q.Rate,
			YoungFirst:          q.YoungFirst,
			EndpointConcurrency: q.EndpointConcurrency,
			EndpointRate:        q.EndpointRate,
			Depth:               bellman.Depth{Queue: name},
		}
	}
	for _, d := range depths {
		info, ok := infos[d.Queue]
		if !ok {
			info = &bellman.QueueInfo{Name: d.Queue}
			infos[d.Queue] = info
		}
		info.Depth = d
	}
	states := make(map[string]dispatch.QueueState)
	for _, st := range e.dispatch.Queues() {
		states[st.Name] = st
	}
	for name, info := range infos {
		info.Pause = e.pauses.get("queue/" + name)
		info.LastMinute = e.watch.history.lastMinute(now, name)
		st := states[name]
		info.Waiting, info.InFlight = st.Waiting, st.InFlight
		info.OldestOverdue, info.OldestFree = atNs(st.OldestDue), atNs(st.OldestFree)
		info.FailedHour = e.watch.history.failedHour(now, name)
	}
	sorted := make([]bellman.QueueInfo, 0, len(infos))
	for _, info := range infos {
		sorted = append(sorted, *info)
	}
	slices.SortFunc(sorted, func(a, b bellman.QueueInfo) int { return strings.Compare(a.Name, b.Name) })
	return sorted, nil
}

// Endpoints describes the endpoints that had tasks lately, and those that are
// paused, by name.
func (e *Engine) Endpoints() []bellman.EndpointInfo {
	var infos []bellman.EndpointInfo
	seen := make(map[string]bool)
	for _, d := range e.dispatch.Endpoints() {
		seen[d.Name] = true
		success := d.Success
		if d.Attempts == 0 {
			success = -1
		}
		target := "endpoint/" + d.Name
		if d.Queue != "" { // which is paused as a queue
			target = "queue/" + d.Queue
		}
		infos = append(infos, bellman.EndpointInfo{
			Endpoint:    d.Name,
			InFlight:    d.InFlight,
			Limit:       d.Limit,
			Rate:        d.Rate,
			Waiting:     d.Waiting,
			Oldest:      atNs(d.OldestDue),
			SuccessRate: success,
			Attempts:    d.Attempts,
			Breaker:     d.Breaker.String(),
			Pause:       e.pauses.get(target),
		})
	}
	for target, p := range e.pauses.all() {
		name, ok := strings.CutPrefix(target, "endpoint/")
		if _, queue := e.queue(name); queue { // which nothing paused under this name
			continue
		}
		if ok && !seen[name] {
			infos = append(infos, bellman.EndpointInfo{Endpoint: name, SuccessRate: -1, Breaker: "closed", Pause: p})
		}
	}
	slices.SortFunc(infos, func(a, b bellman.EndpointInfo) int { return strings.Compare(a.Endpoint, b.Endpoint) })
	return infos
}

// Gauges returns figures of the moment, for metrics.
func (e *Engine) Gauges(ctx context.Context) bellman.Gauges {
	t := e.dispatch.Totals()
	_, waiting := e.hand.len()
	g := bellman.Gauges{
		InFlight:      t.InFlight,
		PoolLimit:     t.Limit,
		Waiting:       t.Waiting,
		OldestWaiting: atNs(t.OldestDue),
		Loaded:        waiting,
		Uncommitted:   e.lane.uncommitted(),
		Endpoints:     t.Endpoints,
		BreakersOpen:  t.OpenBreakers,

		Started:    e.watch.started.UTC(),
		SlowCommit: e.watch.slowCommit(),

		Stray:          e.strayTasks(),
		RefusedFollows: e.refusedFollows.Load(),
		Fired:          atNs(e.firedAt.Load()),
	}
	if e.overloaded.Load() {
		g.Refusing = 1
	}
	now := e.clock.now().UnixMilli()
	switch first, err := e.store.Due(ctx, e.leases.shards(), bellman.Position{}, now, 1, nil); {
	case err != nil:
		g.OldestOverdue = g.OldestWaiting // of those in memory: the store does not say
	case len(first) == 1:
		g.OldestOverdue = time.UnixMilli(first[0].Due).UTC()
	}
	return g
}

// atNs is the time of a due time of the dispatcher's; zero for its zero.
func atNs(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}
