// Package tracing makes OpenTelemetry spans for tasks, and sends them to a collector over
// OTLP/HTTP. It implements [bellman.Tracer], which is all that other packages know of it. A slow or
// unreachable collector delays nothing: spans are dropped and counted.
package tracing

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/bellmanhq/bellman"
)

// Options of a Tracer. Endpoint is required.
type Options struct {
	Endpoint   string            // base URL of the collector, such as http://127.0.0.1:4318; spans are posted to /v1/traces below it
	Header     http.Header       // of each request to it
	Sample     float64           // the fraction of new traces that are recorded, 0 to 1; a caller's trace is recorded if the caller records it
	Service    string            // service.name; empty: OTEL_SERVICE_NAME, or bellman
	Attributes map[string]string // of the resource; they override OTEL_RESOURCE_ATTRIBUTES

	Node    string       // service.instance.id
	Version string       // service.version
	Logger  *slog.Logger // default: slog.Default()
}

// A Tracer makes spans. Make one with New, and Close it.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	export   *exporter
	waiting  *waiting
}

var _ bellman.Tracer = (*Tracer)(nil)

// maxWaiting is the largest number of spans that wait for the collector: about 4 MiB.
const maxWaiting = 4096

// New returns a tracer. Its goroutine sends the gathered spans every five seconds. The SDK reads
// the variables OTEL_RESOURCE_ATTRIBUTES, OTEL_BSP_SCHEDULE_DELAY, OTEL_BSP_EXPORT_TIMEOUT,
// OTEL_BSP_MAX_EXPORT_BATCH_SIZE, OTEL_SERVICE_NAME and those of span limits.
func New(o Options) (*Tracer, error) {
	o.Logger = cmp.Or(o.Logger, slog.Default())
	about, err := o.resource()
	if err != nil {
		return nil, fmt.Errorf("traces: resource: %w", err)
	}
	header := http.Header{}
	maps.Copy(header, o.Header)
	header.Set("Content-Type", "application/x-protobuf")
	header.Set("Content-Encoding", "gzip")
	header.Set("User-Agent", "bellman/"+cmp.Or(o.Version, "dev"))
	t := &Tracer{waiting: new(waiting)}
	t.export = &exporter{
		url: o.Endpoint + "/v1/traces", header: header, client: http.DefaultTransport.(*http.Transport).Clone(),
		log: o.Logger, waiting: t.waiting,
	}
	t.export.life, t.export.cut = context.WithCancel(context.Background())
	t.waiting.SpanProcessor = sdk.NewBatchSpanProcessor(t.export, sdk.WithMaxQueueSize(maxWaiting))
	t.provider = sdk.NewTracerProvider(
		sdk.WithResource(about),
		sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(o.Sample))),
		sdk.WithSpanProcessor(t.waiting),
	)
	t.tracer = t.provider.Tracer("github.com/bellmanhq/bellman", trace.WithInstrumentationVersion(o.Version))
	return t, nil
}

// resource returns the resource of the spans.
func (o *Options) resource() (*resource.Resource, error) {
	given := []attribute.KeyValue{attribute.String("service.version", cmp.Or(o.Version, "dev"))}
	if o.Node != "" {
		given = append(given, attribute.String("service.instance.id", o.Node))
	}
	for name, value := range o.Attributes {
		given = append(given, attribute.String(name, value))
	}
	var named []attribute.KeyValue
	if o.Service != "" {
		named = append(named, attribute.String("service.name", o.Service))
	}
	return resource.New(context.Background(),
		resource.WithAttributes(attribute.String("service.name", "bellman")),
		resource.WithFromEnv(), resource.WithTelemetrySDK(),
		resource.WithAttributes(given...), resource.WithAttributes(named...))
}

// Close sends the waiting spans until ctx ends. Later spans are dropped.
func (t *Tracer) Close(ctx context.Context) {
	defer context.AfterFunc(ctx, t.export.cut)()
	defer t.export.cut()
	t.provider.Shutdown(context.WithoutCancel(ctx)) // its errors are the exporter's, which has none
	t.export.client.CloseIdleConnections()
}

// Figures are counts of spans since the start.
type Figures struct {
	Sent    int64 // accepted by the collector
	Lost    int64 // rejected by the collector, or not accepted in time
	Dropped int64 // dropped because too many were waiting
}

// Figures returns the present counts.
func (t *Tracer) Figures() Figures {
	return Figures{Sent: t.export.sent.Load(), Lost: t.export.lost.Load(), Dropped: t.waiting.dropped.Load()}
}

// waiting bounds the number of waiting spans, and counts those it drops. The SDK's queue behind it
// has the same size, so it never drops a span uncounted.
type waiting struct {
	sdk.SpanProcessor
	spans, dropped atomic.Int64
}

// OnEnd forwards a finished span, or drops it.
func (w *waiting) OnEnd(s sdk.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	if w.spans.Add(1) > maxWaiting {
		w.spans.Add(-1)
		w.dropped.Add(1)
		return
	}
	w.SpanProcessor.OnEnd(s)
}

// longest is how long the delivery of a batch is retried, if OTEL_BSP_EXPORT_TIMEOUT allows it.
const longest = 10 * time.Second
