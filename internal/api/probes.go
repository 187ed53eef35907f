package api

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/access"
)

// registerProbes registers the document, the probes, the metrics and the stream of events.
func (a *API) registerProbes(h part) {
	health := jsonResponse(h, reflect.TypeFor[client.Health](), "All is well.")
	plain := func(description, mediaType, kind string) *huma.Response {
		return &huma.Response{Description: description, Content: map[string]*huma.MediaType{mediaType: {Schema: &huma.Schema{Type: kind}}}}
	}
	add := func(op huma.Operation, response *huma.Response) {
		op.Responses = map[string]*huma.Response{"200": response}
		h.OpenAPI().AddOperation(&op)
		h.Adapter().Handle(&op, nil)
	}
	add(operation("openapi", http.MethodGet, "/openapi.json", access.Open, "This document."), plain("OpenAPI 3.1.", "application/json", huma.TypeObject))
	add(operation("healthz", http.MethodGet, "/healthz", access.Open, "Whether the process is alive."), health)
	add(operation("readyz", http.MethodGet, "/readyz", access.Open, "Whether the store answers and tasks are fired; 503, with the reason, if not. A store without room for new tasks is ready, with the status full."), health)
	if a.o.Metrics != nil {
		add(operation("metrics", http.MethodGet, "/metrics", access.MayRead, "Metrics for Prometheus."), plain("Metrics.", "text/plain", huma.TypeString))
	}
	op := scoped(operation("events", http.MethodGet, "/v1/events", access.MayRead, "Changes of tasks as they are committed, as server-sent events."))
	op.Description += " Events are named task and attempt; the data of each is an Event. A reader that is too slow misses some, and Last-Event-ID is not supported: what happened before the call is not told. The stream ends when the server shuts down."
	op.Parameters = []*huma.Param{&onlyQueue}
	h.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[client.Event](), true, "Event")
	add(op, plain("The stream.", "text/event-stream", huma.TypeString))
}

func jsonResponse(h huma.API, t reflect.Type, description string) *huma.Response {
	schema := h.OpenAPI().Components.Schemas.Schema(t, true, t.Name())
	return &huma.Response{Description: description, Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}}
}

func (a *API) openapi(w *response, _ *http.Request) {
	w.Header()["Content-Type"] = jsonType
	w.Write(a.docText) // an error means that the client has gone
}

func (a *API) healthz(w *response, _ *http.Request) { well(w, "ok") }

func (a *API) readyz(w *response, r *http.Request) {
	switch err := a.o.Engine.Ready(r.Context()); {
	case err == nil:
		well(w, "ok")
	case errors.Is(err, bellman.ErrFull):
		well(w, "full")
	default:
		write(w, newProblem(http.StatusServiceUnavailable, "not ready: "+said(err)))
	}
}

func well(w http.ResponseWriter, how string) {
	w.Header()["Content-Type"] = jsonType
	fmt.Fprintf(w, "{\"status\":%q}\n", how) // an error means that the client has gone
}
