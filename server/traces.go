package server

import (
	"cmp"
	"net/http"
	"os"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/internal/field"
	"github.com/bellmanhq/bellman/internal/tracing"
	"github.com/bellmanhq/bellman/store"
)

// openTraces makes the tracer; nil: no tracing is configured.
func (s *Server) openTraces(c *config.Config) (*tracing.Tracer, error) {
	to := &c.Tracing
	if to.Endpoint == "" {
		return nil, nil
	}
	header, err := to.Header()
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname()
	return tracing.New(tracing.Options{
		Endpoint: to.Endpoint, Header: header, Sample: to.Sample, Service: to.Service, Attributes: to.Attributes,
		Node: cmp.Or(c.Node, host), Version: s.version, Logger: s.log,
	})
}

// tracer returns the engine's tracer; nil: no tracing.
func (s *Server) tracer() bellman.Tracer {
	if s.traces == nil {
		return nil
	}
	return s.traces
}

// traced makes spans of the requests that add tasks; nil: nobody wants any.
func (s *Server) traced() func(http.Handler) http.Handler {
	if s.traces == nil {
		return nil
	}
	return s.traces.Serve
}

// figuresOfTraces returns the counts of spans; nil: no tracing.
func (s *Server) figuresOfTraces() func() []store.Figure {
	if s.traces == nil {
		return nil
	}
	return func() []store.Figure {
		f := s.traces.Figures()
		return []store.Figure{
			{Name: "sent_total", Help: "Spans that the trace collector accepted.", Counter: true, Value: float64(f.Sent)},
			{Name: "lost_total", Help: "Spans that the trace collector did not accept in time.", Counter: true, Value: float64(f.Lost)},
			{Name: "dropped_total", Help: "Spans that were dropped because too many waited for the collector.", Counter: true, Value: float64(f.Dropped)},
		}
	}
}

// propagating sends the trace of a request's context with the request.
type propagating struct{ http.RoundTripper }

// RoundTrip sends a copy of the request, because a transport must not change it.
func (p propagating) RoundTrip(r *http.Request) (*http.Response, error) {
	if t := bellman.TraceOf(r.Context()); t != nil {
		r = r.Clone(r.Context())
		field.Propagate(r.Header, t)
	}
	return p.RoundTripper.RoundTrip(r)
}
