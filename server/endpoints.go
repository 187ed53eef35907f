package server

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/brokers"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/internal/endpoints"
)

// PauseEndpoint pauses an endpoint, in any spelling of its name. A queue that is an endpoint is
// paused as a queue. The error is an *[bellman.Invalid] if no endpoint can have that name.
func (f front) PauseEndpoint(ctx context.Context, name string, by bellman.By) error {
	return f.stop(ctx, name, by, f.Engine.PauseEndpoint, f.PauseQueue)
}

// ResumeEndpoint ends PauseEndpoint, and any other pause of a known endpoint.
func (f front) ResumeEndpoint(ctx context.Context, name string, by bellman.By) error {
	return f.stop(ctx, name, by, f.Engine.ResumeEndpoint, f.ResumeQueue)
}

// stop calls ofQueue if the name is that of a queue that is an endpoint, else ofEndpoint.
func (f front) stop(ctx context.Context, name string, by bellman.By, ofEndpoint, ofQueue func(context.Context, string, bellman.By) error) error {
	endpoint, queue, err := f.server.endpoint(ctx, name)
	switch {
	case err != nil:
		return err
	case queue:
		return ofQueue(ctx, endpoint, by)
	}
	return ofEndpoint(ctx, endpoint, by)
}

// endpoint returns the endpoint that a name means, in the spelling of tasks. queue is true if it is
// the endpoint of a queue. A name that was paused before is always valid, so that its pause can
// end.
func (s *Server) endpoint(ctx context.Context, name string) (endpoint string, queue bool, err error) {
	if endpoints.IsAccount(name) {
		return name, false, nil
	}
	if endpoint, err = s.reached(name); err == nil {
		return endpoint, false, nil
	}
	kind := s.kind(name)
	if kind == "order" || kind == "poll" {
		return name, true, nil
	}
	f, unknown := s.engine.Figures(ctx, figures.Ask{Endpoints: true})
	if unknown != nil {
		return "", false, unknown
	}
	if slices.ContainsFunc(f.Endpoints, func(e figures.Endpoint) bool { return e.Endpoint == name }) {
		return name, false, nil
	}
	if kind != "" {
		err = coded.Errorf("endpoint.queue", "%.60q is a queue whose tasks go to other endpoints: pause the queue, or want one such as https://merchant.example:443", name)
	}
	return "", false, invalid("endpoint", err)
}

// invalid returns a *bellman.Invalid of one field.
func invalid(field string, why error) error {
	bad := new(bellman.Invalid)
	bad.Note(field, why)
	return bad
}

// reached returns the endpoint of requests or messages that a name means.
func (s *Server) reached(name string) (string, error) {
	if !brokers.Schemes.Has(name) {
		if endpoint, ok := deliver.Endpoint(name); ok {
			return endpoint, nil
		}
		var forms []string
		for _, scheme := range brokers.Schemes {
			forms = append(forms, scheme.Name+"://CONNECTION")
		}
		return "", coded.Errorf("endpoint.name", "%.60q is no endpoint: want one such as https://merchant.example:443, %s, or a queue of kind order or poll", name, strings.Join(forms, ", "))
	}
	kind, connection, _ := strings.Cut(name, "://")
	for known, to := range s.connections {
		if strings.EqualFold(kind, to.Scheme().Name) && strings.EqualFold(connection, known) {
			return to.Scheme().Endpoint(known), nil
		}
	}
	var names []string
	for _, known := range slices.Sorted(maps.Keys(s.connections)) {
		names = append(names, s.connections[known].Scheme().Endpoint(known))
	}
	if len(names) == 0 {
		return "", coded.Errorf("endpoint.no_connections", "%.60q is no endpoint, for no connection to a broker is configured: want one such as https://merchant.example:443", name)
	}
	return "", coded.Errorf("endpoint.connection", "%.60q is no connection of the configuration: want one of %s", name, strings.Join(names[:min(len(names), 10)], ", "))
}
