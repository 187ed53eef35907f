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
)

// Trace returns the trace of ctx: of bellman's own, or of a span of OpenTelemetry that
// the program which embeds the engine made.
func (t *Tracer) Trace(ctx context.Context) *bellman.Trace {
	if own := bellman.TraceOf(ctx); own != nil {
		return own
	}
	return given(trace.SpanContextFromContext(ctx))
}

// Added notes on the span of ctx what was added under it.
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
	if len(tasks) != 1 {
		span.SetAttributes(attribute.Int("bellman.tasks.added", stored), attribute.Int("bellman.tasks.existing", existing),
			attribute.Int("bellman.tasks.refused", refused))
		return
	}
	span.SetAttributes(attribute.String("bellman.queue", tasks[0].Queue), attribute.Bool("bellman.task.existing", existing > 0))
	if id := added[0].ID; !id.IsZero() {
		span.SetAttributes(attribute.String("bellman.task.id", id.String()))
	}
}

// Attempt begins the span of an attempt: a child of what the task was added under,
// however long ago, or the first of a trace of its own.
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

// target says where an attempt goes, in the words of the semantic conventions: the
// host alone, for the rest of an address may hold a secret.
func target(endpoint, method string) []attribute.KeyValue {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return nil
	}
	switch u.Scheme {
	case "amqp":
		return []attribute.KeyValue{attribute.String("messaging.system", "rabbitmq"), attribute.String("messaging.operation.type", "send"),
			attribute.String("messaging.operation.name", "publish"), attribute.String("bellman.connection", u.Host)}
	case "nats":
		return []attribute.KeyValue{attribute.String("messaging.system", "nats"), attribute.String("messaging.operation.type", "send"),
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

// An attempt is the span of one.
type attempt struct {
	span trace.Span
	task *bellman.Task // as it was when the attempt began
}

// End ends it. What the answer said, and why there was none, stays in the log of
// attempts: it may be anybody's words.
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

// given is a span as others get to know it; nil: there is none.
func given(at trace.SpanContext) *bellman.Trace {
	if !at.IsValid() {
		return nil
	}
	return &bellman.Trace{ID: at.TraceID(), Span: at.SpanID(), Flags: byte(at.TraceFlags()), State: at.TraceState().String()}
}

// spanContext is a trace as a parent. A state that the SDK does not read is left out.
func spanContext(t *bellman.Trace) trace.SpanContext {
	state, _ := trace.ParseTraceState(t.State)
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: t.ID, SpanID: t.Span, TraceFlags: trace.TraceFlags(t.Flags), TraceState: state, Remote: true})
}

// from is the trace in what a caller's headers say.
func from(parents, states []string) *bellman.Trace {
	if len(parents) != 1 { // two are as good as none, says the standard
		return nil
	}
	return bellman.ParseTrace(parents[0], strings.Join(states, ","))
}
