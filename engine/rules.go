package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/cluster"
	"github.com/bellmanhq/bellman/engine/internal/dispatch"
	"github.com/bellmanhq/bellman/schedule"
	"github.com/bellmanhq/bellman/store"
)

// Rules prepare tasks in a process that runs no engine, such as a service that writes an order and
// its notification in one transaction. Only NewRules makes them. All methods are safe for
// concurrent use.
type Rules struct {
	log       *slog.Logger
	ctx       context.Context // passed to handlers that are asked for a route
	schedules *schedule.Cache
	queues    atomic.Pointer[map[string]Queue]
	leases    *cluster.Member // choose the shard of a task
}

// NewRules makes Rules. Give it the same queues and handlers as the engines: a task keeps what its
// queue said when it was prepared.
func NewRules(queues ...Queue) (*Rules, error) {
	r := &Rules{log: slog.Default(), ctx: context.Background(), schedules: new(schedule.Cache), leases: new(cluster.Member)}
	if err := r.setQueues(queues); err != nil {
		return nil, err
	}
	return r, nil
}

// Prepare is Engine.Prepare without an engine. It uses the wall clock.
func (r *Rules) Prepare(tasks ...*bellman.Task) []store.Add { return r.prepare(tasks, time.Now()) }

// setQueues replaces all queues. On an error nothing changes.
func (r *Rules) setQueues(queues []Queue) error {
	if len(queues) == 0 {
		return errors.New("engine: no queue is configured")
	}
	named := make(map[string]Queue, len(queues))
	for _, q := range queues {
		q = q.withDefaults()
		if err := q.check(); err != nil {
			return err
		}
		if _, ok := named[q.Name]; ok {
			return fmt.Errorf("engine: queue %q is given twice", q.Name)
		}
		named[q.Name] = q
	}
	setCommon(named)
	r.queues.Store(&named)
	return nil
}

func (r *Rules) queue(name string) (Queue, bool) {
	q, ok := (*r.queues.Load())[name]
	return q, ok
}

func (r *Rules) prepare(tasks []*bellman.Task, now time.Time) []store.Add {
	adds := make([]store.Add, len(tasks))
	for i, t := range tasks {
		add, err := r.accept(t, now)
		if err != nil {
			add = store.Add{Task: cmp.Or(t, new(bellman.Task)), Err: err}
		}
		if t != nil {
			t.ID, t.Status = add.Task.ID, add.Task.Status
		}
		adds[i] = add
	}
	return adds
}

// accept validates a task and fills in a copy of it. The given task stays unchanged, because the
// caller may add it again.
func (r *Rules) accept(given *bellman.Task, now time.Time) (store.Add, error) {
	return r.acceptAs(bellman.Status{}, given, now)
}

// acceptAs is accept for a task that a handler follows up with. If the state of as has ended, the
// task is a record of something that has happened, and its handler does not check it.
func (r *Rules) acceptAs(as bellman.Status, given *bellman.Task, now time.Time) (store.Add, error) {
	var invalid bellman.Invalid
	if given == nil {
		invalid.Add("task", "is nil: want a task")
		return store.Add{}, invalid.Err()
	}
	q, ok := r.queue(given.Queue)
	if !ok {
		invalid.Add("queue", fmt.Sprintf("there is no queue %.128q: %s", given.Queue, r.wantQueue()))
		return store.Add{}, invalid.Err()
	}
	t := new(bellman.Task)
	*t = *given
	t.Kind = q.Kind
	r.fillIn(t, &q)
	t.Status = bellman.Status{State: as.State, Reason: as.Reason}
	var more bellman.Invalid // what the handler finds; listed after what is checked below, on the task as the handler left it
	if c, ok := q.Handler.(bellman.Checker); ok && !as.State.Ended() {
		err := r.safely(t, func() error { return c.Check(t) })
		var wrong *bellman.Invalid
		switch {
		case errors.As(err, &wrong):
			more.Fields = wrong.Fields
		case err != nil:
			return store.Add{}, fmt.Errorf("check a task of queue %s: %w", given.Queue, err)
		case t.Queue != given.Queue || t.Kind != q.Kind:
			return store.Add{}, fmt.Errorf("check a task of queue %s: the handler changed its queue or kind", given.Queue)
		}
	}
	parsed := r.checkRules(t, &invalid)
	began := beginning(t, &q, now, &invalid)
	if t.Resume() != nil {
		checkResume(t, parsed, now, &invalid)
	}
	invalid.Fields = append(invalid.Fields, more.Fields...)
	if t.State > bellman.Cancelled { // set by the handler, or by who follows up with the task
		invalid.Add("state", fmt.Sprintf("%d is no state: want one of pending, succeeded, failed, cancelled", t.State))
	}
	invalid.Oversized(t)
	if err := invalid.Err(); err != nil {
		return store.Add{}, err
	}
	add := store.Add{Task: t}
	if t.Key != "" { // the caller's own, or what the handler filled in
		asked := *given
		asked.Key = t.Key
		if q.Delay == 0 {
			asked.Delay = max(asked.Delay, 0) // a negative Delay and none mean the same here: at once
		}
		add.Digest = asked.Digest()
	}
	r.enter(t, &q, parsed, began, now)
	return add, nil
}

// fillIn gives a task the rules of its merchant and of its queue that it does not have itself.
func (r *Rules) fillIn(t *bellman.Task, q *Queue) {
	missing := t.Inherited // set when the task was accepted before
	if t.Schedule == "" {
		t.Schedule, missing = q.Schedule, missing|bellman.InheritedSchedule
	}
	if t.Success == "" {
		t.Success, missing = q.Success, missing|bellman.InheritedSuccess
	}
	if t.Timeout == 0 {
		t.Timeout, missing = q.Timeout, missing|bellman.InheritedTimeout
	}
	r.inherit(q, t, missing)
	t.MaxAge = cmp.Or(t.MaxAge, q.MaxAge)
}

// checkRules adds what is wrong with the rules of a task, and returns its schedule; nil: it has
// none.
func (r *Rules) checkRules(t *bellman.Task, invalid *bellman.Invalid) *schedule.Schedule {
	s, err := r.schedules.Parse(t.Schedule)
	if err != nil {
		invalid.Add("schedule", err.Error())
	}
	if t.Timeout < time.Millisecond || t.Timeout > bellman.MaxTimeout {
		invalid.Add("timeout", fmt.Sprintf("%v is out of range: want 1ms to %v", t.Timeout, bellman.MaxTimeout))
	}
	if t.MaxAge < 0 || t.MaxAge > schedule.MaxDuration {
		invalid.Add("max_age", fmt.Sprintf("%v is out of range: want 0s to 87600h", t.MaxAge))
	}
	if t.Repeat != "" {
		if _, err := schedule.ParseRepeat(t.Repeat); err != nil {
			invalid.Add("repeat", err.Error())
		}
	}
	switch {
	case t.OrderingKey != "" && t.Repeat != "":
		invalid.Add("ordering_key", "is given, and repeat: give one of them, for those behind a task that repeats would wait for ever")
	case t.OrderingKey == "" && t.Supersedes:
		invalid.Add("supersedes", "is given without ordering_key, which says what is superseded")
	}
	return s
}

// beginning returns when the schedule of a new task begins.
func beginning(t *bellman.Task, q *Queue, now time.Time, invalid *bellman.Invalid) time.Time {
	began := now.Truncate(time.Millisecond)
	switch {
	case t.Delay != 0 && !t.StartAt.IsZero():
		invalid.Add("delay", "give due or delay, not both")
	case t.Delay > schedule.MaxDuration:
		invalid.Add("delay", fmt.Sprintf("%v is out of range: want 0s to 87600h", t.Delay))
	case !t.StartAt.IsZero() && t.StartAt.Sub(now) > schedule.MaxDuration:
		invalid.Add("due", "is more than ten years ahead: want a time before that")
	case t.StartAt.IsZero():
		began = roundUp(began.Add(delay(t, *q)))
	case t.StartAt.After(now):
		began = roundUp(t.StartAt)
	}
	return began
}

// wantQueue lists the configured queues, ten at most.
func (r *Rules) wantQueue() string {
	const most = 10
	names := slices.Sorted(maps.Keys(*r.queues.Load()))
	switch n := len(names); {
	case n == 0:
		return "there is none"
	case n == 1:
		return "want " + names[0]
	case n > most:
		return fmt.Sprintf("want one of %s and %d more", strings.Join(names[:most], ", "), n-most)
	default:
		return "want one of " + strings.Join(names, ", ")
	}
}

// delay returns how long a task waits before its schedule begins: its own delay, or its queue's.
func delay(t *bellman.Task, q Queue) time.Duration {
	if t.Delay == 0 {
		return q.Delay
	}
	return max(t.Delay, 0)
}

// enter gives a valid task its id and its first status.
func (r *Rules) enter(t *bellman.Task, q *Queue, s *schedule.Schedule, began, now time.Time) {
	t.ID = bellman.NewID()
	if t.State.Ended() { // the handler's record of something that has happened
		now = now.Truncate(time.Millisecond)
		t.Status = bellman.Status{State: t.State, Reason: truncate(t.Reason, bellman.MaxResponse), Version: 1, Shard: r.shardFor(t, q), Began: now, Updated: now, Finished: now}
		t.Last = nil
		return
	}
	due := began
	if first, over := s.Next(0, began, began, rand.Float64()); over == "" {
		due = roundUp(first)
	}
	if !t.Due.IsZero() { // the handler's latest start
		due = earlier(due, later(roundUp(t.Due), now.Truncate(time.Millisecond)))
	}
	made := 0
	if from := t.Resume(); from != nil {
		made, began = from.Attempts, begun(from)
		next, _ := s.Next(made, began, from.Last, 0)
		due = later(roundUp(next), now.Truncate(time.Millisecond))
		continued := *t.Origin
		continued.Resume = nil
		t.Origin = &continued
	}
	t.Status = bellman.Status{
		State:     bellman.Pending,
		Version:   1,
		Shard:     r.shardFor(t, q),
		Attempts:  int32(made),
		Step:      int32(made),
		Began:     began,
		Due:       due,
		VisibleAt: due,
		Updated:   now.Truncate(time.Millisecond),
	}
	t.Last = nil
}

// route returns the current rules of a task's merchant and endpoint. They are zero if the handler
// knows none, or if they cannot be read; in that case the handler reports the error at the attempt.
// A panic is such an error: it would end the node each time that the task is due.
func (r *Rules) route(t *bellman.Task) (_ bellman.Route) {
	if t == nil {
		return bellman.Route{}
	}
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("handler panicked", "task", t.ID, traceID(t), "queue", t.Queue, "err", p, "stack", string(debug.Stack()))
		}
	}()
	q, _ := r.queue(t.Queue)
	if l, ok := limiterOf(&q, t); ok {
		rate, err := l.RateOf(r.ctx, t.Endpoint)
		if err != nil {
			r.log.Warn("the rate of an endpoint cannot be read", "queue", t.Queue, "endpoint", t.Endpoint, "err", err)
		}
		return bellman.Route{Rate: rate}
	}
	router, ok := routerOf(&q, t)
	if !ok {
		return bellman.Route{}
	}
	g, err := router.Route(r.ctx, t)
	if err != nil {
		r.log.Warn("the rules of a task's merchant cannot be read", "queue", t.Queue, "merchant_no", t.MerchantNo, "err", err)
		return bellman.Route{}
	}
	return g
}

// safely calls code of the program. A panic becomes an error. Otherwise it would end the node, and
// between an attempt and its record each start would repeat the attempt.
func (r *Rules) safely(t *bellman.Task, call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("handler panicked", "task", t.ID, traceID(t), "queue", t.Queue, "err", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("handler panicked: %v", p)
		}
	}()
	return call()
}

// inherit fills in the merchant's rules for the fields in missing, which the caller left empty, and
// records them in Inherited.
func (r *Rules) inherit(q *Queue, t *bellman.Task, missing bellman.Inherited) {
	t.Inherited = 0
	if _, ok := routerOf(q, t); !ok {
		return
	}
	t.Inherited = missing
	g := r.route(t)
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

// shardFor returns the shard of a new task. If the queue has no cluster-wide limits, it is a shard
// of this node, which attempts the task soonest. Tasks with one ordering key get one shard.
func (r *Rules) shardFor(t *bellman.Task, q *Queue) uint16 {
	random := chance(t)
	if r.leases.Sole() {
		return r.leases.Pick(random)
	}
	var g bellman.Route
	if _, limited := limiterOf(q, t); limited || bellman.ToMerchant(t.Endpoint) {
		g = r.route(t)
	}
	under := q.under(limits(&g))
	place := random
	switch {
	case under.clusterWide():
		place = under.place(goes(t, &g), random)
	case t.OrderingKey == "":
		return r.leases.Pick(random)
	}
	if n := r.leases.Count(); n > 0 {
		place = uint16(int(place) % n)
	}
	return place
}

// ofLine returns the dispatcher's rules for the line of a task.
func (r *Rules) ofLine(q Queue, t *bellman.Task, g *bellman.Route) dispatch.Rules {
	l := q.under(limits(g)).rules(t.Queue, goes(t, g), quotaOf(r.leases))
	l.Own = limits(g)
	return l
}
