package tracing

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/brokers"
)

// Trace returns the trace in ctx: bellman's own, or that of an OpenTelemetry span of the embedding
// program.
func (t *Tracer) Trace(ctx context.Context) *bellman.Trace {
	if own := bellman.TraceOf(ctx); own != nil {
		return own
	}
	return given(trace.SpanContextFromContext(ctx))
}

// Added notes on the span in ctx which tasks were added.
func (t *Tracer) Added(ctx context.Context, tasks []*bellman.Task, added []bellman.Added) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	var stored, existing, refused int
	for _, a := range added {
		switch {
		case a.Err != nil:
			refused++
		case a.Existing:
			existing++
		default:
			stored++
		}
	}
	if len(tasks) != 1 || tasks[0] == nil {
		span.SetAttributes(attribute.Int("bellman.tasks.added", stored), attribute.Int("bellman.tasks.existing", existing),
			attribute.Int("bellman.tasks.refused", refused))
		return
	}
	span.SetAttributes(attribute.String("bellman.queue", tasks[0].Queue), attribute.Bool("bellman.task.existing", existing > 0))
	if id := added[0].ID; !id.IsZero() {
		span.SetAttributes(attribute.String("bellman.task.id", id.String()))
	}
}

// Attempt starts the span of an attempt. Its parent is the trace under which the task was added,
// however long ago; without one it starts a new trace.
func (t *Tracer) Attempt(ctx context.Context, task *bellman.Task, a *bellman.Attempt, endpoint string) (context.Context, bellman.Span) {
	if task.Trace() != nil {
		ctx = trace.ContextWithRemoteSpanContext(ctx, spanContext(task.Trace()))
	}
	ctx, span := t.tracer.Start(ctx, "attempt "+task.Queue, trace.WithSpanKind(trace.SpanKindClient))
	if span.IsRecording() {
		span.SetAttributes(
			attribute.String("bellman.queue", task.Queue),
			attribute.String("bellman.task.id", task.ID.String()),
			attribute.Int("bellman.attempt.number", a.Number),
			attribute.String("bellman.attempt.trigger", a.Trigger.String()),
			attribute.Int64("bellman.attempt.lateness_ms", a.Lateness().Milliseconds()),
		)
		span.SetAttributes(target(endpoint, task.Method)...)
	}
	return bellman.WithTrace(ctx, given(span.SpanContext())), attempt{span, task}
}

// target returns the destination of an attempt as attributes of the semantic conventions: only the
// host, because the rest of an address may contain a secret.
func target(endpoint, method string) []attribute.KeyValue {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return nil
	}
	if kind := brokers.KindOf(u.Scheme); kind != nil {
		return []attribute.KeyValue{attribute.String("messaging.system", kind.System), attribute.String("messaging.operation.type", "send"),
			attribute.String("messaging.operation.name", "publish"), attribute.String("bellman.connection", u.Host)}
	}
	about := []attribute.KeyValue{attribute.String("server.address", u.Hostname())}
	if port, err := strconv.Atoi(u.Port()); err == nil {
		about = append(about, attribute.Int("server.port", port))
	}
	if method != "" {
		about = append(about, attribute.String("http.request.method", method))
	}
	return about
}

// An attempt is the span of an attempt.
type attempt struct {
	span trace.Span
	task *bellman.Task // as it was when the attempt started
}

// End ends the span. The answer's text and the error stay in the attempt log, because anybody may
// have written them.
func (s attempt) End(a *bellman.Attempt, to *bellman.Status) {
	defer s.span.End()
	if !s.span.IsRecording() {
		return
	}
	result := a.Result.String()
	s.span.SetAttributes(attribute.String("bellman.attempt.result", result), attribute.String("bellman.task.state", to.State.String()))
	if a.Action != "" {
		s.span.SetName(a.Action + " " + s.task.Queue)
		s.span.SetAttributes(attribute.String("bellman.attempt.action", a.Action))
	}
	if a.Reading != "" {
		s.span.SetAttributes(attribute.String("bellman.attempt.reading", a.Reading))
	}
	if a.Status != 0 {
		s.span.SetAttributes(attribute.Int("http.response.status_code", a.Status))
	}
	if a.Result != bellman.Accepted {
		kind := result
		if a.Result == bellman.ErrorStatus && a.Status != 0 {
			kind = strconv.Itoa(a.Status)
		}
		s.span.SetAttributes(attribute.String("error.type", kind))
		s.span.SetStatus(codes.Error, result)
	}
	switch {
	case to.State.Ended() && !s.task.State.Ended():
		s.span.AddEvent("task ended", trace.WithAttributes(attribute.String("bellman.task.state", to.State.String()), attribute.String("bellman.task.reason", to.Reason)))
	case !to.Due.IsZero():
		s.span.SetAttributes(attribute.String("bellman.task.due", to.Due.UTC().Format(time.RFC3339Nano)))
	}
}

// given returns a span's context in the form that others get; nil: there is none.
func given(at trace.SpanContext) *bellman.Trace {
	if !at.IsValid() {
		return nil
	}
	return &bellman.Trace{ID: at.TraceID(), Span: at.SpanID(), Flags: byte(at.TraceFlags()), State: at.TraceState().String()}
}

// spanContext returns a trace as a parent. It drops a tracestate that the SDK cannot parse.
func spanContext(t *bellman.Trace) trace.SpanContext {
	state, _ := trace.ParseTraceState(t.State)
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: t.ID, SpanID: t.Span, TraceFlags: trace.TraceFlags(t.Flags), TraceState: state, Remote: true})
}

// from returns the trace in a caller's headers.
func from(parents, states []string) *bellman.Trace {
	if len(parents) != 1 { // the standard says to ignore several
		return nil
	}
	return bellman.ParseTrace(parents[0], strings.Join(states, ","))
}
