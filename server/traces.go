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

// openTraces builds what makes spans, and sends them; nil: nobody wants any.
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

// tracer is what the engine makes spans with; nil: nothing.
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

// figuresOfTraces are counts of spans; nil: there are none.
func (s *Server) figuresOfTraces() func() []store.Figure {
	if s.traces == nil {
		return nil
	}
	return func() []store.Figure {
		f := s.traces.Figures()
		return []store.Figure{
			{Name: "sent_total", Help: "Spans that the collector of traces took.", Counter: true, Value: float64(f.Sent)},
			{Name: "lost_total", Help: "Spans that the collector of traces did not take, or not in time.", Counter: true, Value: float64(f.Lost)},
			{Name: "dropped_total", Help: "Spans for which there was no room, as too many waited for the collector.", Counter: true, Value: float64(f.Dropped)},
		}
	}
}

// propagating sends the trace of a request's context along with it.
type propagating struct{ http.RoundTripper }

// RoundTrip sends a copy of the request: a transport may not change it.
func (p propagating) RoundTrip(r *http.Request) (*http.Response, error) {
	if t := bellman.TraceOf(r.Context()); t != nil {
		r = r.Clone(r.Context())
		field.Propagate(r.Header, t)
	}
	return p.RoundTripper.RoundTrip(r)
}
