package engine

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/bellmanhq/bellman"
)

// follows gives tasks that have no trace the one of ctx. Without a tracer it costs
// nothing, as all of this.
func (e *Engine) follows(ctx context.Context, tasks []*bellman.Task) {
	if e.options.Tracer == nil {
		return
	}
	trace := e.options.Tracer.Trace(ctx)
	for _, t := range tasks {
		t.SetTrace(cmp.Or(t.Trace(), trace))
	}
}

// beginSpan begins the span of a flight's attempt, of which the context is that it
// returns.
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

// endSpan ends it, when it is known what the task becomes.
func (f *flight) endSpan() {
	if f.span != nil {
		f.span.End(&f.attempt, &f.change.To)
		f.span = nil
	}
}

// traceID is what a line of the log says of a task's trace, by which it is found
// beside the spans; nothing where there is none.
func traceID(t *bellman.Task) slog.Attr {
	if t.Trace() == nil {
		return slog.Attr{}
	}
	return slog.String("trace_id", t.Trace().TraceID())
}
