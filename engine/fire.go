package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/dispatch"
	"github.com/bellmanhq/bellman/engine/internal/wheel"
)

// tick is the goroutine that watches the time: it brings what becomes due from
// the wheel to the lines, and wakes the dispatcher when a rate or a probe
// allows it to go on. It comes round every 5 s at least, and says so in firedAt.
func (e *Engine) tick(ctx context.Context) error {
	fired := make([]wheel.Fired[*item], e.limits.Chunk)
	due := make([]*item, 0, e.limits.Chunk)
	for ctx.Err() == nil {
		if e.firing() {
			e.firedAt.Store(e.options.Wall().UnixNano())
		}
		now := e.clock.now()
		var more bool
		var next int64
		due, more, next = e.hand.advance(now.UnixMilli(), fired[:e.chunk()], due[:0])
		if len(due) > 0 {
			due = e.yield(due)
			e.fetch(ctx, due)
			e.bring(due, now)
			clear(due)
		} else {
			e.pump()
		}
		if more {
			continue
		}
		if at, ok := e.dispatch.Wake(now.UnixNano()); ok && e.firing() { // otherwise it would say now, and nothing could go
			next = min(next, (at+999_999)/1e6)
		}
		e.sleepUntil(ctx, next)
	}
	return nil
}

// yield drops those due items from hand whose lines have others on disk, which
// were due before: the loader brings them in their turn. Else the same ones would
// go round in memory, and the rest be forgotten.
func (e *Engine) yield(due []*item) []*item {
	behind := e.behind.Load()
	if behind == nil {
		return due
	}
	var back []*item
	rest := due[:0]
	for _, it := range due {
		if !it.urgent && (*behind)[e.peersOf(&it.Entry)] {
			back = append(back, it)
		} else {
			rest = append(rest, it)
		}
	}
	e.hand.drop(true, back...)
	e.kickLoader()
	return rest
}

// bring hands due items to the dispatcher and starts as many as may go. Those
// whose line is full go back to disk, where the loader finds them again.
func (e *Engine) bring(due []*item, now time.Time) {
	var full []*item
	for _, it := range due {
		if it.task != nil && it.bytes == 0 {
			if e.content.Load() < maxContent {
				e.count(it)
			} else {
				e.open(it, now)
				it.task = nil
			}
		}
		if !e.offer(e.attempts, it, now) {
			full = append(full, it)
		}
	}
	if len(full) > 0 {
		for _, it := range full {
			e.release(it)
		}
		e.hand.drop(true, full...)
		e.kickLoader()
	}
	e.pump()
}

// offer hands an item to its line; false if that is full.
func (e *Engine) offer(ctx context.Context, it *item, now time.Time) bool {
	e.hand.mu.Lock()
	gone := it.gone
	if !gone {
		it.place = inLine
	}
	e.hand.mu.Unlock()
	if gone {
		e.release(it)
		return true
	}
	pushed := e.push(it, now)
	for pushed == dispatch.Unknown {
		if it.task == nil {
			e.fetchOne(ctx, it)
		}
		if it.task == nil {
			return true // gone meanwhile
		}
		e.open(it, now)
		pushed = e.push(it, now)
	}
	if pushed == dispatch.Kept {
		return true
	}
	e.hand.mu.Lock()
	if it.place == inLine {
		it.place = held
	}
	e.hand.mu.Unlock()
	return false
}

func (e *Engine) push(it *item, now time.Time) dispatch.Pushed {
	attempts := int(it.Attempts)
	if it.urgent {
		attempts = dispatch.Urgent
	}
	return e.dispatch.Push(now.UnixNano(), uint64(it.Line), it.Due*1e6, attempts, it)
}

// open makes the line of an item known to the dispatcher.
func (e *Engine) open(it *item, now time.Time) {
	q, ok := e.queue(it.task.Queue)
	if !ok {
		e.stray(it.task.Queue)
	}
	g := e.Route(it.task)
	e.dispatch.Open(now.UnixNano(), uint64(it.Line), e.rulesOf(q, it.task, &g))
}

// pump starts attempts as long as the dispatcher has one that may go.
func (e *Engine) pump() {
	e.starting.RLock()
	defer e.starting.RUnlock()
	for e.firing() {
		ticket, it, ok := e.dispatch.Next(e.clock.now().UnixNano())
		if !ok {
			return
		}
		e.flights.Add(1)
		e.workers.do(job{ticket, it}, e.begin)
	}
}

// firing reports whether attempts may be started: not while their outcomes could
// not be recorded.
func (e *Engine) firing() bool {
	return !e.stopping.Load() && !e.outcomes.Ill() && e.leases.trusting() && !e.holdsBack()
}

// commitPatience is how long a commit may take before nothing is started any more.
const commitPatience = time.Second

// holdsBack reports whether attempts wait because the store records their outcomes too
// slowly: a death would repeat all that were answered and not recorded. goOn ends that.
func (e *Engine) holdsBack() bool {
	if !e.unrecorded() {
		return false
	}
	e.held.Store(true)
	return e.unrecorded() // again: goOn would not notice what was over in between
}

func (e *Engine) unrecorded() bool {
	return e.outcomes.Behind() || e.outcomes.Writing() > commitPatience
}

// goOn has attempts started that holdsBack kept, once there is no reason for it any more.
func (e *Engine) goOn() {
	if e.held.Load() && !e.unrecorded() {
		e.held.Store(false)
		e.wakeBefore(0)
	}
}

// begin is what a worker does.
func (e *Engine) begin(j job) {
	defer e.flights.Done()
	e.work(j.ticket, j.item)
}

// work makes an attempt, and whatever the dispatcher has next, until it has
// nothing.
func (e *Engine) work(ticket dispatch.Ticket, it *item) {
	for {
		outcome := e.fire(ticket, it)
		now := e.clock.now().UnixNano()
		if !e.firing() {
			e.dispatch.Done(now, ticket, outcome)
			return
		}
		var ok bool
		if ticket, it, ok = e.dispatch.DoneNext(now, ticket, outcome); !ok {
			if at, ok := e.dispatch.Wake(now); ok {
				e.wakeBefore((at + 999_999) / 1e6)
			}
			return
		}
		if ticket.More {
			e.pump()
		}
	}
}

// maxHold bounds Verdict.Hold: what is longer is a mistake, or nothing that a payment
// could wait for.
const maxHold = 10 * time.Minute

// fire attempts one item, if it may still be attempted.
func (e *Engine) fire(ticket dispatch.Ticket, it *item) dispatch.Outcome {
	s := start{ticket: ticket, item: it}
	may := e.mayStart(&s)
	if !s.inLine {
		defer e.release(it)
	}
	if !may {
		return dispatch.Skipped
	}
	t := it.task
	now := e.clock.now()
	f := &flight{item: it, seen: t, task: t, route: s.route}
	f.attempt = bellman.Attempt{
		Number:  int(t.Attempts) + 1,
		Trigger: t.Trigger,
		Due:     dueInTurn(t, now),
		Started: now,
		Node:    e.leases.base,
	}
	if it.suspect {
		e.leases.sent(t)
	}
	if it.suspect || t.InDoubt() {
		f.attempt.Trigger = bellman.ByTakeover
	}
	ctx, cancel := context.WithTimeout(e.attempts, it.limit)
	ctx = e.beginSpan(ctx, f)
	f.verdict = e.attempt(ctx, s.queue, t, f.attempt.Number)
	f.attempt.Took = e.clock.now().Sub(now)
	late := errors.Is(ctx.Err(), context.DeadlineExceeded)
	cancel()
	if e.attempts.Err() != nil && f.verdict.Next != bellman.Succeed {
		e.recordCut(f)
		return dispatch.Cancelled
	}
	complete(&f.verdict, late)
	e.record(f)
	if hold := min(f.verdict.Hold, maxHold); hold > 0 {
		ended := e.clock.now()
		e.dispatch.Hold(ended.UnixNano(), ticket, ended.Add(hold).UnixNano())
	}
	switch {
	case f.verdict.Unsent:
		return dispatch.Cancelled
	case f.verdict.Throttled:
		return dispatch.Throttled
	case f.verdict.Result == bellman.Unreachable, f.verdict.Result == bellman.TimedOut:
		return dispatch.Down
	case f.verdict.Result == bellman.Accepted:
		return dispatch.Accepted
	}
	return dispatch.Refused
}

// attempt calls the queue's handler; a panic is an answer of its own.
func (e *Engine) attempt(ctx context.Context, q Queue, t *bellman.Task, number int) (v bellman.Verdict) {
	e.handling.Add(1)
	defer e.handling.Add(-1)
	defer func() {
		if p := recover(); p != nil {
			e.log.Error("handler panicked", "task", t.ID, traceID(t), "queue", t.Queue, "attempt", number, "err", p, "stack", string(debug.Stack()))
			v = bellman.Verdict{Result: bellman.Refused, Error: fmt.Sprintf("handler panicked: %v", p)}
		}
	}()
	return q.Handler.Attempt(ctx, t, number)
}

// complete fills in what a handler left out of its verdict.
func complete(v *bellman.Verdict, late bool) {
	if v.Result == bellman.Unknown {
		switch {
		case v.Next == bellman.Succeed:
			v.Result = bellman.Accepted
		case late:
			v.Result = bellman.TimedOut
		default:
			v.Result = bellman.Refused
		}
	}
	v.Response = cut(v.Response, maxResponse)
	v.Error = cut(v.Error, maxResponse)
}

// maxResponse is how many characters of an answer are kept, as in best-effort
// notification as it is usually built.
const maxResponse = 600

// cut returns the first n characters of s.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
