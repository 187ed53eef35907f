package server

import (
	"cmp"
	"errors"
	"log/slog"
	"slices"

	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/internal/metrics"
	"github.com/bellmanhq/bellman/store/memory"
)

// Check returns the error of the configuration for which Open would refuse o: secrets, addresses
// and rules that cannot be used, each with its place. It makes what a server makes, but opens no
// store, listens nowhere and sends nothing.
func Check(o Options) error {
	if err := checkOwn(o.Config, o.Handlers, o.Channels); err != nil {
		return err
	}
	o.Logger = slog.New(slog.DiscardHandler) // Open logs the warnings
	s := newServer(o)
	s.store = memory.New()
	defer s.Close()
	var all, made config.Problems
	errors.As(o.Config.CheckSecrets(), &all)
	if _, _, err := s.configure(o.Config); err != nil && !errors.As(err, &made) {
		return err
	}
	for _, p := range made {
		if !slices.ContainsFunc(all, func(known config.Problem) bool { return known.Field == p.Field }) {
			all = append(all, p)
		}
	}
	return all.Err()
}

func newServer(o Options) *Server {
	return &Server{
		config: o.Config, keys: o.Config.Keys, handlers: o.Handlers, channels: o.Channels,
		version: cmp.Or(o.Version, "dev"), log: cmp.Or(o.Logger, slog.Default()),
	}
}

// configure makes everything of a configuration that needs no engine: the client, the registries,
// the brokers, the queues with their handlers, and the receivers of notices. The error is
// [config.Problems] with everything that is refused.
func (s *Server) configure(c *config.Config) (queues []engine.Queue, noticed map[string]*queueReceivers, err error) {
	s.client, err = deliver.NewClient(deliver.Options{
		AllowPrivate: c.Egress.AllowPrivate,
		Allow:        c.Egress.Allow,
		Deny:         c.Egress.Deny,
		HTTPSOnly:    c.Egress.HTTPSOnly,
		Proxy:        c.Egress.Proxy,
		Version:      s.version,
	})
	if err != nil {
		return nil, nil, c.Refused("egress", err).Err()
	}
	s.metrics = metrics.New(s.version)
	s.traces, err = s.openTraces(c)
	wrong := c.Refused("tracing", err)
	s.facts.Store(factsOf(c))
	wrong = append(wrong, s.openRegistries(c)...)
	wrong = append(wrong, s.openConnections(c)...)
	s.notices = &notices{server: s}
	queues, noticed, more := s.rules(c)
	return queues, noticed, append(wrong, more...).Err()
}

// rules makes the queues and the receivers of their notices.
func (s *Server) rules(c *config.Config) (queues []engine.Queue, noticed map[string]*queueReceivers, wrong config.Problems) {
	queues, wrong = s.queues(c)
	noticed, more := s.receivers(queues, c)
	return queues, noticed, append(wrong, more...)
}
