package tracing

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/bellmanhq/bellman"
)

// Serve makes a span for each request that adds tasks, under the trace in its headers, and calls
// next. Other requests are passed on unchanged.
func (t *Tracer) Serve(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/v1/tasks" && r.URL.Path != "/v1/tasks/batch" {
			next.ServeHTTP(w, r)
			return
		}
		ctx := r.Context()
		if parent := from(r.Header.Values("Traceparent"), r.Header.Values("Tracestate")); parent != nil {
			ctx = trace.ContextWithRemoteSpanContext(ctx, spanContext(parent))
		}
		ctx, span := t.tracer.Start(ctx, "POST "+r.URL.Path, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
			attribute.String("http.request.method", http.MethodPost),
			attribute.String("http.route", r.URL.Path),
			attribute.String("url.path", r.URL.Path),
		))
		defer span.End()
		answer := &answer{ResponseWriter: w, status: http.StatusOK}
		defer func() {
			span.SetAttributes(attribute.Int("http.response.status_code", answer.status))
			if answer.status >= 500 {
				span.SetStatus(codes.Error, "")
			}
		}()
		next.ServeHTTP(answer, r.WithContext(bellman.WithTrace(ctx, given(span.SpanContext()))))
	})
}

// An answer remembers its status.
type answer struct {
	http.ResponseWriter
	status int
	begun  bool
}

func (a *answer) WriteHeader(status int) {
	if !a.begun {
		a.status, a.begun = status, status >= 200
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(b []byte) (int, error) {
	a.begun = true
	return a.ResponseWriter.Write(b)
}

// Unwrap serves http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Take starts the span of a message from a source, under the trace in its headers, which have
// lower-case names. The message's task belongs to the returned trace. Call end when the task is
// stored, or cannot be.
func (t *Tracer) Take(source string, header map[string]string) (under *bellman.Trace, end func(bellman.ID, error)) {
	ctx := context.Background()
	if parent := bellman.ParseTrace(header["traceparent"], header["tracestate"]); parent != nil {
		ctx = trace.ContextWithRemoteSpanContext(ctx, spanContext(parent))
	}
	_, span := t.tracer.Start(ctx, "process "+source, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
		attribute.String("messaging.operation.type", "process"),
		attribute.String("bellman.source", source),
	))
	return given(span.SpanContext()), func(id bellman.ID, err error) {
		if !id.IsZero() {
			span.SetAttributes(attribute.String("bellman.task.id", id.String()))
		}
		if err != nil {
			span.SetStatus(codes.Error, "no task")
		}
		span.End()
	}
}
