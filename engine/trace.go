package engine

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/bellmanhq/bellman"
)

// follows gives tasks without a trace the trace of ctx. Without a tracer it does nothing.
func (e *Engine) follows(ctx context.Context, tasks []*bellman.Task) {
	if e.options.Tracer == nil {
		return
	}
	trace := e.options.Tracer.Trace(ctx)
	for _, t := range tasks {
		t.SetTrace(cmp.Or(t.Trace(), trace))
	}
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

// endSpan ends the span when the new status of the task is known.
func (f *flight) endSpan() {
	if f.span != nil {
		f.span.End(&f.attempt, &f.change.To)
		f.span = nil
	}
}

// traceID is the log attribute with a task's trace id; empty if the task has no trace.
func traceID(t *bellman.Task) slog.Attr {
	if t.Trace() == nil {
		return slog.Attr{}
	}
	return slog.String("trace_id", t.Trace().TraceID())
}
