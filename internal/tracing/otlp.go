package tracing

import (
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	resources "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	otlp "go.opentelemetry.io/proto/slim/otlp/trace/v1"
)

// resourceSpans converts spans to OTLP. All have the same resource and scope.
func resourceSpans(spans []sdk.ReadOnlySpan) []*otlp.ResourceSpans {
	if len(spans) == 0 {
		return nil
	}
	said := make([]*otlp.Span, len(spans))
	for i, s := range spans {
		said[i] = span(s)
	}
	of, scope := spans[0].Resource(), spans[0].InstrumentationScope()
	return []*otlp.ResourceSpans{{
		Resource:  &resources.Resource{Attributes: keyValues(of.Attributes())},
		SchemaUrl: of.SchemaURL(),
		ScopeSpans: []*otlp.ScopeSpans{{
			Scope: &common.InstrumentationScope{Name: scope.Name, Version: scope.Version},
			Spans: said,
		}},
	}}
}

func span(s sdk.ReadOnlySpan) *otlp.Span {
	at, parent := s.SpanContext(), s.Parent()
	trace, id := at.TraceID(), at.SpanID()
	said := &otlp.Span{
		TraceId: trace[:], SpanId: id[:], TraceState: at.TraceState().String(), Flags: flags(at, parent),
		Name: strings.ToValidUTF8(s.Name(), "\uFFFD"), Kind: otlp.Span_SpanKind(s.SpanKind()),
		StartTimeUnixNano: nanos(s.StartTime()), EndTimeUnixNano: nanos(s.EndTime()),
		Attributes: keyValues(s.Attributes()), DroppedAttributesCount: uint32(s.DroppedAttributes()),
		DroppedEventsCount: uint32(s.DroppedEvents()),
		Status:             status(s.Status()),
	}
	if parent.HasSpanID() {
		id := parent.SpanID()
		said.ParentSpanId = id[:]
	}
	for _, e := range s.Events() {
		said.Events = append(said.Events, &otlp.Span_Event{Name: e.Name, TimeUnixNano: nanos(e.Time), Attributes: keyValues(e.Attributes)})
	}
	return said
}

// flags returns the span's flags, and whether its parent is of another process.
func flags(at, parent trace.SpanContext) uint32 {
	f := uint32(at.TraceFlags()) | uint32(otlp.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK)
	if parent.IsRemote() {
		f |= uint32(otlp.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK)
	}
	return f
}

func status(s sdk.Status) *otlp.Status {
	switch s.Code {
	case codes.Error:
		return &otlp.Status{Code: otlp.Status_STATUS_CODE_ERROR, Message: s.Description}
	case codes.Ok:
		return &otlp.Status{Code: otlp.Status_STATUS_CODE_OK}
	}
	return nil
}

func nanos(at time.Time) uint64 { return uint64(max(at.UnixNano(), 0)) }

func keyValues(all []attribute.KeyValue) []*common.KeyValue {
	said := make([]*common.KeyValue, len(all))
	for i, a := range all {
		said[i] = &common.KeyValue{Key: string(a.Key), Value: value(a.Value)}
	}
	return said
}

// value converts a value. Values that are neither numbers nor booleans become text; there are no
// others here.
func value(v attribute.Value) *common.AnyValue {
	switch v.Type() {
	case attribute.BOOL:
		return &common.AnyValue{Value: &common.AnyValue_BoolValue{BoolValue: v.AsBool()}}
	case attribute.INT64:
		return &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: v.AsInt64()}}
	case attribute.FLOAT64:
		return &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: v.AsFloat64()}}
	}
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: strings.ToValidUTF8(v.String(), "\uFFFD")}}
}
