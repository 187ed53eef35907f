package field

import (
	"net/http"

	"github.com/bellmanhq/bellman"
)

// Propagate sets the fields traceparent and tracestate of a trace, in the place of any
// that are there; nil changes nothing.
func Propagate(header http.Header, t *bellman.Trace) {
	if t == nil {
		return
	}
	header.Set("Traceparent", t.Parent())
	if header.Del("Tracestate"); t.State != "" {
		header.Set("Tracestate", t.State)
	}
}
