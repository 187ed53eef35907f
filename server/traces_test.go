package server_test

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/config"
)

// spans is a collector.
type spans struct {
	mu    sync.Mutex
	all   []*otlp.Span
	token string
	bad   string
}

func (s *spans) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var said collector.ExportTraceServiceRequest
	unzipped, err := gzip.NewReader(r.Body)
	if err == nil {
		var body []byte
		if body, err = io.ReadAll(unzipped); err == nil {
			err = proto.Unmarshal(body, &said)
		}
	}
	if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		s.bad = r.URL.Path + " " + r.Header.Get("Content-Type")
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.token = r.Header.Get("X-Token")
	for _, of := range said.ResourceSpans {
		for _, scope := range of.ScopeSpans {
			s.all = append(s.all, scope.Spans...)
		}
	}
}

// named are the spans of a name, in the order in which they began.
func (s *spans) named(name string) (found []*otlp.Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, span := range s.all {
		if span.Name == name {
			found = append(found, span)
		}
	}
	return found
}

// about is what a span says under a name.
func about(span *otlp.Span, name string) string {
	for _, a := range span.Attributes {
		if a.Key == name {
			if text := a.Value.GetStringValue(); text != "" {
				return text
			}
			return a.Value.String()
		}
	}
	return ""
}

const callersTrace, callersSpan = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"

// post creates a task over HTTP, with headers.
func post(t *testing.T, at, body string, headers map[string][]string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header(headers)
	r.Header.Set("Content-Type", "application/json")
	transport := new(http.Transport)
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode > 201 {
		t.Fatalf("POST %s = %d %s", at, resp.StatusCode, text)
	}
}

// One trace: whoever called, what accepted it, each attempt, over a restart.
func TestTraces(t *testing.T) {
	t.Setenv("TRACES_TOKEN", "geheim")
	seen := new(spans)
	to := httptest.NewServer(seen)
	defer to.Close()
	var mu sync.Mutex
	var parents []string
	succeed := false
	merchant := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		parents = append(parents, r.Header.Get("Traceparent"))
		if succeed {
			io.WriteString(w, "success")
		}
	}))
	defer merchant.Close()
	dir := t.TempDir()
	change := func(c *config.Config) {
		c.Tracing.Endpoint = to.URL
		c.Tracing.Headers = map[string]sign.Secret{"X-Token": sign.NewSecret("env:TRACES_TOKEN")}
		c.Queues[0].Schedule, c.Queues[0].PropagateTrace = "0s, 1s*50", true
		quiet := config.DefaultQueue("quiet")
		c.Queues = append(c.Queues, quiet)
	}
	api, s, stop := serve(t, dir, change)
	post(t, "http://"+s.Addr()+"/v1/tasks", `{"queue":"default","key":"k","url":"`+merchant.URL+`/secret-path?token=geheim"}`,
		map[string][]string{"Traceparent": {"00-" + callersTrace + "-" + callersSpan + "-01"}, "Tracestate": {"a=1", "b=2"}})
	post(t, "http://"+s.Addr()+"/v1/tasks", `{"queue":"default","key":"k","url":"`+merchant.URL+`/secret-path?token=geheim"}`,
		map[string][]string{"Traceparent": {"00-" + strings.Repeat("1", 32) + "-" + callersSpan + "-01"}}) // the same task
	task, err := api.Task(t.Context(), client.ByKey("default", "k"))
	if err != nil {
		t.Fatal(err)
	}
	until(t, api, task.ID, attempted(1))
	stop()
	mu.Lock()
	before := len(parents)
	succeed = true
	mu.Unlock()
	api, _, stop = serve(t, dir, change)
	ended := until(t, api, task.ID, func(t *client.TaskDetail) bool { return t.State == "succeeded" })
	stop()

	accepts, attempts := seen.named("POST /v1/tasks"), seen.named("attempt default")
	if len(accepts) != 2 || len(attempts) != ended.Attempts || ended.Attempts <= before || before == 0 {
		t.Fatalf("%d spans of requests and %d of attempts; want 2 and %d, some of them after the restart (%d before)", len(accepts), len(attempts), ended.Attempts, before)
	}
	accept := accepts[0]
	if hex.EncodeToString(accept.TraceId) != callersTrace || hex.EncodeToString(accept.ParentSpanId) != callersSpan || accept.Kind != otlp.Span_SPAN_KIND_SERVER ||
		about(accept, "bellman.task.id") != task.ID || accept.TraceState != "a=1,b=2" {
		t.Errorf("the span of the request is %v; want a server's under the caller's", accept)
	}
	if other := accepts[1]; about(other, "bellman.task.id") != task.ID || hex.EncodeToString(other.TraceId) == callersTrace {
		t.Errorf("the span of the repeated request is %v; want one of its own trace that names the task", other)
	}
	for i, span := range attempts {
		if hex.EncodeToString(span.TraceId) != callersTrace || !bytes.Equal(span.ParentSpanId, accept.SpanId) || span.Kind != otlp.Span_SPAN_KIND_CLIENT {
			t.Errorf("the span of attempt %d is %v; want a client's under the request's", i+1, span)
		}
		if want := "00-" + callersTrace + "-" + hex.EncodeToString(span.SpanId) + "-01"; parents[i] != want {
			t.Errorf("the merchant got traceparent %q with attempt %d; want %q", parents[i], i+1, want)
		}
		if about(span, "server.address") != "127.0.0.1" || about(span, "bellman.queue") != "default" || about(span, "http.request.method") != "POST" {
			t.Errorf("attributes of attempt %d are %v", i+1, span.Attributes)
		}
		if strings.Contains(span.String(), "geheim") || strings.Contains(span.String(), "secret-path") {
			t.Errorf("the span of attempt %d shows the address: %v", i+1, span)
		}
	}
	first, last := attempts[0], attempts[len(attempts)-1]
	if first.Status.GetCode() != otlp.Status_STATUS_CODE_ERROR || about(first, "error.type") != "refused" || len(first.Events) != 0 {
		t.Errorf("the span of the first attempt is %v; want an error, refused", first)
	}
	if last.Status.GetCode() == otlp.Status_STATUS_CODE_ERROR || len(last.Events) != 1 || last.Events[0].Name != "task ended" || about(last, "bellman.task.state") != "succeeded" {
		t.Errorf("the span of the last attempt is %v; want no error, and the end of the task", last)
	}
	if seen.token != "geheim" || seen.bad != "" {
		t.Errorf("the collector got token %q and %q", seen.token, seen.bad)
	}
}

// A queue without propagate_trace sends no trace. If the caller does not record its trace, bellman
// does not either. An invalid traceparent refuses no task.
func TestTracesKept(t *testing.T) {
	seen := new(spans)
	to := httptest.NewServer(seen)
	defer to.Close()
	got := make(chan http.Header, 10)
	merchant := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header
		io.WriteString(w, "success")
	}))
	defer merchant.Close()
	_, s, stop := serve(t, t.TempDir(), func(c *config.Config) {
		c.Tracing.Endpoint = to.URL
		loud := config.DefaultQueue("loud")
		loud.PropagateTrace = true
		c.Queues = append(c.Queues, loud)
	})
	defer func() { stop() }()
	tasks := "http://" + s.Addr() + "/v1/tasks"
	post(t, tasks, `{"queue":"default","url":"`+merchant.URL+`"}`, map[string][]string{"Traceparent": {"00-" + callersTrace + "-" + callersSpan + "-01"}})
	if h := <-got; h.Get("Traceparent") != "" || h.Get("Tracestate") != "" {
		t.Errorf("a queue without propagate_trace sends %v", h)
	}
	post(t, tasks, `{"queue":"loud","url":"`+merchant.URL+`"}`, map[string][]string{"Traceparent": {"00-" + callersTrace + "-" + callersSpan + "-00"}})
	if h := <-got; !strings.HasPrefix(h.Get("Traceparent"), "00-"+callersTrace+"-") || !strings.HasSuffix(h.Get("Traceparent"), "-00") {
		t.Errorf("a trace that is not recorded goes on as %q; want the same, not recorded", h.Get("Traceparent"))
	}
	hostile := [][]string{{"00-" + callersTrace + "-" + callersSpan + "-01", "00-" + callersTrace + "-" + callersSpan + "-01"},
		{"ff-" + callersTrace + "-" + callersSpan + "-01"}, {strings.Repeat("0", 8000)}, {""}, {"00-" + strings.Repeat("0", 32) + "-" + callersSpan + "-01"}}
	for _, parents := range hostile {
		post(t, tasks+"/batch", `{"tasks":[{"queue":"loud","url":"`+merchant.URL+`"},{"queue":"loud","url":"`+merchant.URL+`"}]}`, map[string][]string{"Traceparent": parents})
		one, other := (<-got).Get("Traceparent"), (<-got).Get("Traceparent")
		if len(one) != 55 || len(other) != 55 || strings.Contains(one, callersTrace) || one[:35] != other[:35] {
			t.Errorf("traceparent %.60q leads to %q and %q; want a new trace, one for the batch", parents, one, other)
		}
	}
	stop()
	stop = func() {}
	for _, span := range seen.named("attempt loud") {
		if hex.EncodeToString(span.TraceId) == callersTrace {
			t.Errorf("%v was sent: its caller does not record", span)
		}
	}
	if n := len(seen.named("attempt loud")); n != 2*len(hostile) {
		t.Errorf("%d spans of attempts; want %d", n, 2*len(hostile))
	}
}

// A collector that is away holds nothing up, is told of once, and its losses are counted.
func TestTracesCollectorAway(t *testing.T) {
	const away = "http://127.0.0.1:1" // nothing listens on this port
	merchant := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "success") }))
	defer merchant.Close()
	var log record
	api, s, stop := serveLogged(t, t.TempDir(), slog.New(slog.NewTextHandler(&log, nil)), func(c *config.Config) { c.Tracing.Endpoint = away })
	for range 3 {
		task := create(t, api, client.CreateTask{Queue: "default", URL: merchant.URL})
		until(t, api, task.ID, func(t *client.TaskDetail) bool { return t.State == "succeeded" })
	}
	text := scrape(t, s.Addr())
	http.DefaultClient.CloseIdleConnections()
	for _, name := range []string{"bellman_spans_sent_total", "bellman_spans_lost_total", "bellman_spans_dropped_total"} {
		if !strings.Contains(text, "\n"+name+" ") {
			t.Errorf("/metrics has no %s", name)
		}
	}
	stop()
	if n := strings.Count(log.String(), "spans cannot be sent"); n != 1 {
		t.Errorf("the log says %d times that spans cannot be sent; want once:\n%s", n, log.String())
	}
}

// Without an endpoint there is no goroutine of it, nothing is taken in and nothing sent on.
func TestTracesOff(t *testing.T) {
	got := make(chan http.Header, 1)
	merchant := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header
		io.WriteString(w, "success")
	}))
	defer merchant.Close()
	_, s, stop := serve(t, t.TempDir(), func(c *config.Config) { c.Queues[0].PropagateTrace = true }) // which Check refuses
	defer stop()
	post(t, "http://"+s.Addr()+"/v1/tasks", `{"queue":"default","url":"`+merchant.URL+`"}`, map[string][]string{"Traceparent": {"00-" + callersTrace + "-" + callersSpan + "-01"}})
	if h := <-got; h.Get("Traceparent") != "" {
		t.Errorf("traceparent %q is sent without tracing", h.Get("Traceparent"))
	}
	stacks := make([]byte, 1<<20)
	if stacks = stacks[:runtime.Stack(stacks, true)]; bytes.Contains(stacks, []byte("go.opentelemetry.io")) {
		t.Error("a goroutine of OpenTelemetry runs without tracing")
	}
}
