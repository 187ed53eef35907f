package tracing

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	otel "go.opentelemetry.io/otel/trace"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/brokers"
)

// A span that finds no room is dropped and counted. Every other span is counted once.
func TestNoRoom(t *testing.T) {
	var asked atomic.Int64
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer collector.Close()
	tracer, err := New(Options{Endpoint: collector.URL, Sample: 1})
	if err != nil {
		t.Fatal(err)
	}
	const all = 3 * maxWaiting
	for range all {
		_, span := tracer.Attempt(t.Context(), &bellman.Task{Queue: "q"}, &bellman.Attempt{Number: 1}, "")
		span.End(&bellman.Attempt{Number: 1, Result: bellman.Accepted}, &bellman.Status{State: bellman.Succeeded})
	}
	tracer.Close(t.Context())
	if f := tracer.Figures(); f.Sent != 0 || f.Lost+f.Dropped != all || asked.Load() == 0 {
		t.Errorf("Figures() = %+v after %d spans and %d requests; want each of them lost or dropped", f, all, asked.Load())
	}
}

// A stop does not wait for a collector that hangs.
func TestCloseIsBounded(t *testing.T) {
	gone := make(chan struct{})
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-gone }))
	defer collector.Close()
	defer close(gone)
	tracer, err := New(Options{Endpoint: collector.URL, Sample: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, span := tracer.Attempt(t.Context(), &bellman.Task{Queue: "q"}, &bellman.Attempt{Number: 1}, "")
	span.End(&bellman.Attempt{Number: 1}, &bellman.Status{})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	tracer.Close(ended)
	if f := tracer.Figures(); f.Lost != 1 {
		t.Errorf("Figures() = %+v; want one lost", f)
	}
}

// If a program that embeds the engine has spans of its own, the engine's spans are their children.
func TestTraceOfSpan(t *testing.T) {
	tracer, err := New(Options{Endpoint: "http://127.0.0.1:1", Sample: 0})
	if err != nil {
		t.Fatal(err)
	}
	defer tracer.Close(t.Context())
	if got := tracer.Trace(t.Context()); got != nil {
		t.Errorf("Trace() of a context without a span = %+v; want nil", got)
	}
	want := bellman.ParseTrace("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "a=1")
	if got := tracer.Trace(otel.ContextWithSpanContext(t.Context(), spanContext(want))); got == nil || *got != *want {
		t.Errorf("Trace() = %+v; want %+v", got, want)
	}
	under, end := tracer.Take("main/q", map[string]string{"traceparent": want.Parent(), "tracestate": "a=1"})
	end(bellman.ID{}, nil)
	if under.ID != want.ID || under.Span == want.Span || under.State != "a=1" || !under.Sampled() {
		t.Errorf("Take() is a child of %+v; want a new span in the trace %+v", under, want)
	}
}

// A trace names the system of a message, and does not report the connection's name as a host.
func TestTargetOfMessages(t *testing.T) {
	for _, kind := range brokers.Kinds {
		got := map[attribute.Key]string{}
		for _, a := range target(kind.Scheme.Endpoint("main"), "POST") {
			got[a.Key] = a.Value.AsString()
		}
		want := map[attribute.Key]string{"messaging.system": kind.System, "messaging.operation.type": "send", "messaging.operation.name": "publish", "bellman.connection": "main"}
		if !maps.Equal(got, want) {
			t.Errorf("attributes of a message to %s: %v; want %v", kind.Name, got, want)
		}
	}
}
