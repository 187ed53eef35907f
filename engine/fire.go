package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/clock"
	"github.com/bellmanhq/bellman/engine/internal/cluster"
	"github.com/bellmanhq/bellman/engine/internal/dispatch"
	"github.com/bellmanhq/bellman/engine/internal/locks"
)

// A runner brings due tasks to their lines and makes their attempts on its own goroutines.
type runner struct {
	log       *slog.Logger
	clock     *clock.Clock
	tracer    bellman.Tracer // may be nil
	chunk     int            // tasks that are brought to their lines at once
	life      *life
	leases    *cluster.Member
	agenda    *agenda
	loader    *loader
	contents  *contents
	dispatch  *dispatch.D[*item]
	gate      *gate
	recorder  *recorder
	committer *committer
	announcer *announcer
	lines     *lines
	ticker    *ticker
	node      string // the name of this node in the attempts' log

	attempts context.Context // of all attempts: it ends when they must
	cutOff   context.CancelFunc
	flights  sync.WaitGroup
	handling atomic.Int64 // handlers that are running
	workers  workers

	starting locks.RWMutex // held for reading while an attempt is started
	held     atomic.Bool   // attempts are kept from starting by holdsBack
	ready    atomic.Bool   // the store accepts commits, and attempts are made
}

func (r *runner) init() {
	locks.Name(&r.starting, "starting")
	locks.Name(&r.workers.mu, "workers")
}

// tick is the goroutine that watches the time. It brings due items to their lines, and wakes the
// dispatcher when a rate or a probe allows the next attempt. It runs at least every 5 s and says so
// in firedAt.
func (r *runner) tick(ctx context.Context) error {
	due := make([]*item, 0, r.chunk)
	for ctx.Err() == nil {
		if r.firing() {
			r.ticker.firedAt.Store(r.clock.Wall().UnixNano())
		}
		now := r.clock.Now()
		var more bool
		var next int64
		due, more, next = r.agenda.advance(now.UnixMilli(), r.contents.chunk(), due[:0])
		if len(due) > 0 {
			due = r.yield(due)
			r.contents.read(ctx, due)
			r.bring(due, now)
			clear(due)
		} else {
			r.pump()
		}
		if more {
			continue
		}
		if at, ok := r.dispatch.Wake(now.UnixNano()); ok && r.firing() { // while not firing, Wake may return now although nothing may start
			next = min(next, (at+999_999)/1e6)
		}
		r.ticker.sleepUntil(ctx, next)
	}
	return nil
}

// yield drops due items whose lines have earlier tasks on disk: the loader brings all of them in
// order. Otherwise these items would go round in memory and starve the others.
func (r *runner) yield(due []*item) []*item {
	behind := r.loader.behind.Load()
	if behind == nil {
		return due
	}
	var back []*item
	rest := due[:0]
	for _, it := range due {
		if !it.urgent && (*behind)[r.loader.peersOf(&it.Entry)] {
			back = append(back, it)
		} else {
			rest = append(rest, it)
		}
	}
	r.agenda.reload(back...)
	r.loader.wake()
	return rest
}

// bring brings due items to their lines and starts attempts.
func (r *runner) bring(due []*item, now time.Time) {
	if r.lines.bring(r.attempts, due, now) {
		r.loader.wake()
	}
	r.pump()
}

// pump starts attempts until the dispatcher has none that may go.
func (r *runner) pump() {
	r.starting.RLock()
	defer r.starting.RUnlock()
	for r.firing() {
		ticket, it, ok := r.dispatch.Next(r.clock.Now().UnixNano())
		if !ok {
			return
		}
		r.flights.Add(1)
		r.workers.do(job{ticket, it}, r.begin)
	}
}

// firing reports whether attempts may start: not while their outcomes could not be recorded.
func (r *runner) firing() bool {
	return !r.life.stopping.Load() && !r.committer.outcomes.Ill() && r.leases.Trusting() && !r.holdsBack()
}

// commitPatience is the duration of a commit after which no attempt starts.
const commitPatience = time.Second

// holdsBack reports whether attempts wait because outcomes are recorded too slowly: a crash would
// repeat all attempts that are not recorded. goOn ends the wait.
func (r *runner) holdsBack() bool {
	if !r.unrecorded() {
		return false
	}
	r.held.Store(true)
	return r.unrecorded() // checked again, because goOn may have run in between
}

func (r *runner) unrecorded() bool {
	return r.committer.outcomes.Behind() || r.committer.outcomes.Writing() > commitPatience
}

// goOn starts attempts again when the reason of holdsBack is over.
func (r *runner) goOn() {
	if r.held.Load() && !r.unrecorded() {
		r.held.Store(false)
		r.ticker.wakeBefore(0)
	}
}

// resume starts attempts that a pause stopped.
func (r *runner) resume() {
	r.pump()
	r.comeBack()
}

// fireAgain starts attempts that waited for leases or for the store.
func (r *runner) fireAgain() {
	r.pump()
	r.ticker.wakeBefore(0)
}

// writable records whether the store accepts commits.
func (r *runner) writable(well bool) {
	r.ready.Store(well)
	if well {
		r.fireAgain() // the ticker ignored the lines meanwhile
	}
}

// comeBack makes the loader check which lines with deferred tasks may go again.
func (r *runner) comeBack() {
	r.agenda.shelves.wake()
	r.loader.wake()
}

// begin runs a job in a worker.
func (r *runner) begin(j job) {
	defer r.flights.Done()
	r.work(j.ticket, j.item)
}

// work makes an attempt, then the next one of the dispatcher, until there is none.
func (r *runner) work(ticket dispatch.Ticket, it *item) {
	for {
		outcome := r.fire(ticket, it)
		now := r.clock.Now().UnixNano()
		if !r.firing() {
			r.dispatch.Done(now, ticket, outcome)
			return
		}
		var ok bool
		if ticket, it, ok = r.dispatch.DoneNext(now, ticket, outcome); !ok {
			if at, ok := r.dispatch.Wake(now); ok {
				r.ticker.wakeBefore((at + 999_999) / 1e6)
			}
			return
		}
		if ticket.More {
			r.pump()
		}
	}
}

// maxHold bounds Verdict.Hold. A longer value is a mistake of the endpoint.
const maxHold = 10 * time.Minute

// fire attempts one item, if mayStart allows it.
func (r *runner) fire(ticket dispatch.Ticket, it *item) dispatch.Outcome {
	s := start{ticket: ticket, item: it}
	may := r.gate.mayStart(&s)
	if s.moves {
		r.bring([]*item{it}, r.clock.Now())
	}
	if !s.waits && !s.moves {
		defer r.contents.release(it)
	}
	if !may {
		return dispatch.Skipped
	}
	t := it.task
	now := r.clock.Now()
	f := &flight{item: it, seen: t, task: t, route: s.route}
	_, f.routed = routerOf(&s.queue, t)
	f.attempt = bellman.Attempt{
		Number:  int(t.Attempts) + 1,
		Trigger: t.Trigger,
		Due:     dueInTurn(t, now),
		Started: now,
		Node:    r.node,
	}
	if it.suspect {
		r.announcer.sent(t)
	}
	if it.suspect || t.InDoubt() {
		f.attempt.Trigger = bellman.ByTakeover
	}
	ctx, cancel := context.WithTimeout(r.attempts, it.limit)
	ctx = r.beginSpan(ctx, f)
	returned := false
	defer func() {
		if !returned { // runtime.Goexit, which FailNow of a test calls: this goroutine ends after its deferred calls
			f.verdict = r.panicked(t, f.attempt.Number, "it called runtime.Goexit")
			outcome := r.ended(ctx, cancel, ticket, f)
			r.dispatch.Done(r.clock.Now().UnixNano(), ticket, outcome)
			r.pump()
		}
	}()
	f.verdict = r.attempt(ctx, s.queue, t, f.attempt.Number)
	returned = true
	return r.ended(ctx, cancel, ticket, f)
}

// ended records an attempt whose handler has returned.
func (r *runner) ended(ctx context.Context, cancel context.CancelFunc, ticket dispatch.Ticket, f *flight) dispatch.Outcome {
	f.attempt.Took = r.clock.Now().Sub(f.attempt.Started)
	late := errors.Is(ctx.Err(), context.DeadlineExceeded)
	cancel()
	if r.attempts.Err() != nil && f.verdict.Next != bellman.Succeed {
		r.recorder.recordInterrupted(f)
		return dispatch.Inconclusive
	}
	complete(&f.verdict, late)
	r.recorder.record(f)
	if hold := min(f.verdict.Hold, maxHold); hold > 0 {
		ended := r.clock.Now()
		r.dispatch.Hold(ended.UnixNano(), ticket, ended.Add(hold).UnixNano())
	}
	switch {
	case f.verdict.Unsent:
		return dispatch.Inconclusive
	case f.verdict.Throttled:
		return dispatch.Throttled
	case f.verdict.Result == bellman.Unreachable, f.verdict.Result == bellman.TimedOut:
		return dispatch.Down
	case f.verdict.Result == bellman.Accepted:
		return dispatch.Accepted
	}
	return dispatch.Refused
}

// wrongKindWait is how long a task waits while its queue has another kind.
const wrongKindWait = time.Minute

// attempt calls the queue's handler and turns a panic, or too much Data, into a verdict. If the
// kind of the queue differs from the task's, the handler is not called: it could misread an order,
// or send its data to somebody.
func (r *runner) attempt(ctx context.Context, q Queue, t *bellman.Task, number int) (v bellman.Verdict) {
	if t.Kind != bellman.KindUnknown && t.Kind != q.Kind {
		why := fmt.Sprintf("not attempted: the task is of kind %s, and its queue is of kind %s now", t.Kind, q.Kind)
		return bellman.Verdict{Result: bellman.Refused, Error: why, Unsent: true, Due: r.clock.Now().Add(wrongKindWait)}
	}
	r.handling.Add(1)
	defer r.handling.Add(-1)
	defer func() {
		if p := recover(); p != nil {
			v = r.panicked(t, number, p)
		}
	}()
	v = q.Handler.Attempt(ctx, t, number)
	if err := fits(&v); err != nil {
		r.log.Error("the result of a handler is too large", "task", t.ID, traceID(t), "queue", t.Queue, "attempt", number, "err", err)
		return bellman.Verdict{Result: bellman.Refused, Error: err.Error()}
	}
	return v
}

// panicked logs a panic of a handler, and returns the verdict.
func (r *runner) panicked(t *bellman.Task, number int, p any) bellman.Verdict {
	r.log.Error("handler panicked", "task", t.ID, traceID(t), "queue", t.Queue, "attempt", number, "err", p, "stack", string(debug.Stack()))
	return bellman.Verdict{Result: bellman.Refused, Error: fmt.Sprintf("handler panicked: %v", p)}
}

// complete fills in the empty fields of a verdict and cuts long texts. A Result that does not exist
// counts as empty.
func complete(v *bellman.Verdict, late bool) {
	if v.Result == bellman.Unknown || v.Result > bellman.Blocked {
		switch {
		case v.Next == bellman.Succeed:
			v.Result = bellman.Accepted
		case late:
			v.Result = bellman.TimedOut
		default:
			v.Result = bellman.Refused
		}
	}
	v.Response = truncate(v.Response, bellman.MaxResponse)
	v.Header = truncate(v.Header, bellman.MaxResponseHeader)
	v.Error = truncate(v.Error, bellman.MaxResponse)
	v.Action, v.Reading = truncate(v.Action, bellman.MaxResponse), truncate(v.Reading, bellman.MaxResponse)
}

// beginSpan starts the span of an attempt and returns its context.
func (r *runner) beginSpan(ctx context.Context, f *flight) context.Context {
	if r.tracer == nil {
		return ctx
	}
	endpoint := f.task.Endpoint
	if bellman.ToMerchant(endpoint) {
		endpoint = f.route.Endpoint
	}
	ctx, f.span = r.tracer.Attempt(ctx, f.task, &f.attempt, endpoint)
	f.trace = bellman.TraceOf(ctx)
	return ctx
}
