package engine

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
)

// A guard recovers panics of the functions in Options that goroutines of the engine call: there a
// panic would end the process. It logs the first panic of each function.
type guard struct {
	log    *slog.Logger
	logged sync.Map // names of functions
}

// caught recovers a panic of a function. It must be deferred.
func (g *guard) caught(function string) {
	if p := recover(); p != nil {
		if _, logged := g.logged.LoadOrStore(function, true); !logged {
			g.log.Error("a callback panicked", "callback", function, "err", p, "stack", string(debug.Stack()))
		}
	}
}

// around puts the guard around the functions of o.
func (g *guard) around(o *Options) {
	if o.Observer != nil {
		o.Observer = guardedObserver{g, o.Observer}
	}
	if o.Tracer != nil {
		o.Tracer = guardedTracer{g, o.Tracer}
	}
	if hint := o.Hint; hint != nil {
		o.Hint = func(ctx context.Context, addr string, h Hint) {
			defer g.caught("Hint")
			hint(ctx, addr, h)
		}
	}
	if request := o.Ask; request != nil {
		o.Ask = func(ctx context.Context, addr string, ask figures.Ask) (r figures.Report, err error) {
			err = errors.New("the callback Ask panicked")
			defer g.caught("Ask")
			return request(ctx, addr, ask)
		}
	}
	if failing := o.Failing; failing != nil {
		o.Failing = func(ctx context.Context) []figures.FailingMerchant {
			defer g.caught("Failing")
			return failing(ctx)
		}
	}
	if refused := o.Refused; refused != nil {
		o.Refused = func() []figures.Refusal {
			defer g.caught("Refused")
			return refused()
		}
	}
	if spare := o.Spare; spare != nil {
		o.Spare = func() {
			defer g.caught("Spare")
			spare()
		}
	}
}

type guardedObserver struct {
	*guard
	to Observer
}

func (o guardedObserver) Attempted(queue string, result bellman.Result, lateness, took time.Duration) {
	defer o.caught("Observer.Attempted")
	o.to.Attempted(queue, result, lateness, took)
}

func (o guardedObserver) Added(queue string, n int) {
	defer o.caught("Observer.Added")
	o.to.Added(queue, n)
}

func (o guardedObserver) Ended(queue string, state bellman.State) {
	defer o.caught("Observer.Ended")
	o.to.Ended(queue, state)
}

func (o guardedObserver) Committed(operations int, took time.Duration) {
	defer o.caught("Observer.Committed")
	o.to.Committed(operations, took)
}

type guardedTracer struct {
	*guard
	to bellman.Tracer
}

func (t guardedTracer) Trace(ctx context.Context) *bellman.Trace {
	defer t.caught("Tracer.Trace")
	return t.to.Trace(ctx)
}

func (t guardedTracer) Added(ctx context.Context, tasks []*bellman.Task, added []bellman.Added) {
	defer t.caught("Tracer.Added")
	t.to.Added(ctx, tasks, added)
}

// Attempt returns ctx and no span if the tracer panics or returns none.
func (t guardedTracer) Attempt(ctx context.Context, task *bellman.Task, a *bellman.Attempt, endpoint string) (in context.Context, span bellman.Span) {
	in = ctx
	defer t.caught("Tracer.Attempt")
	if within, s := t.to.Attempt(ctx, task, a, endpoint); within != nil && s != nil {
		return within, guardedSpan{t.guard, s}
	}
	return ctx, nil
}

type guardedSpan struct {
	*guard
	to bellman.Span
}

func (s guardedSpan) End(a *bellman.Attempt, to *bellman.Status) {
	defer s.caught("Span.End")
	s.to.End(a, to)
}
