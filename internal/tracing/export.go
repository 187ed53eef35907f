package tracing

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/bellmanhq/bellman/internal/sleep"
)

// An exporter posts spans to a collector, as OTLP/HTTP 1.x in protobuf. The SDK's exporter would
// link gRPC, which nothing else here needs.
type exporter struct {
	url     string
	header  http.Header // of each request
	client  *http.Transport
	log     *slog.Logger
	waiting *waiting

	life context.Context // cancelled when a stop has waited long enough
	cut  context.CancelFunc

	sent, lost atomic.Int64
	failing    atomic.Bool
}

const (
	firstPause = 500 * time.Millisecond
	maxAnswer  = 64 << 10
)

// ExportSpans posts spans, and retries for a while if the collector asks for it. A failure is
// logged when it begins and when it is over, not for each span. It is not returned to the SDK,
// which would log it again.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	e.waiting.spans.Add(-int64(len(spans)))
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	defer context.AfterFunc(e.life, cancel)()
	refused, err := e.deliver(ctx, spans)
	lost := int64(len(spans))
	if err == nil {
		lost = min(refused, lost)
	}
	e.lost.Add(lost)
	e.sent.Add(int64(len(spans)) - lost)
	switch {
	case err != nil && !e.failing.Swap(true):
		e.log.Warn("spans cannot be sent and are dropped; attempts are not delayed", "err", err)
	case err == nil && refused > 0 && !e.failing.Swap(true):
		e.log.Warn("the collector rejects spans; they are dropped, and attempts are not delayed", "spans", refused)
	case err == nil && refused == 0 && e.failing.Swap(false):
		e.log.Info("the collector accepts spans again", "lost", e.lost.Load(), "dropped", e.waiting.dropped.Load())
	}
	return nil
}

// Shutdown does nothing: an exporter keeps nothing.
func (e *exporter) Shutdown(context.Context) error { return nil }

// deliver posts until it succeeds, fails for good, or ctx ends. It returns the number of spans that
// the collector rejected.
func (e *exporter) deliver(ctx context.Context, spans []sdk.ReadOnlySpan) (refused int64, err error) {
	body, err := encode(spans)
	if err != nil {
		return 0, err
	}
	for pause := firstPause; ; pause *= 2 {
		refused, wait, err := e.post(ctx, body)
		if wait < 0 {
			return refused, err
		}
		if !sleep.For(ctx, max(pause, wait)) {
			return 0, err
		}
	}
}

// final is a wait after an answer that another request would not change.
const final time.Duration = -1

// post makes one request. wait is the delay before the next one that the collector requests, or
// final.
func (e *exporter) post(ctx context.Context, body []byte) (refused int64, wait time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return 0, final, err
	}
	req.Header = e.header.Clone()
	resp, err := e.client.RoundTrip(req)
	if err != nil {
		return 0, 0, withoutAddress(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch resp.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		var said collector.ExportTraceServiceResponse
		if err == nil && proto.Unmarshal(answer, &said) == nil {
			refused = max(said.GetPartialSuccess().GetRejectedSpans(), 0)
		}
		return refused, final, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return 0, time.Duration(max(seconds, 0)) * time.Second, fmt.Errorf("the collector answered %d", resp.StatusCode)
	}
	return 0, final, fmt.Errorf("the collector answered %d: want 200 of POST /v1/traces below tracing.endpoint", resp.StatusCode)
}

// withoutAddress removes the address from an error, because it may contain a token.
func withoutAddress(err error) error {
	if wrapped, is := errors.AsType[*url.Error](err); is {
		return wrapped.Err
	}
	return err
}

// encode returns the body of the request for spans.
func encode(spans []sdk.ReadOnlySpan) ([]byte, error) {
	message, err := proto.Marshal(&collector.ExportTraceServiceRequest{ResourceSpans: resourceSpans(spans)})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(message) // writing to memory cannot fail
	w.Close()
	return b.Bytes(), nil
}
