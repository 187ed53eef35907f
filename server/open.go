package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/api"
	"github.com/bellmanhq/bellman/internal/attention"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/internal/reconcile"
	"github.com/bellmanhq/bellman/internal/resend"
	"github.com/bellmanhq/bellman/internal/sharelink"
	"github.com/bellmanhq/bellman/store"
)

// Open opens the store and listens, but answers no requests yet. If it returns an error, it has
// closed everything again.
func Open(o Options) (_ *Server, err error) {
	if o.Config == nil {
		return nil, errors.New("server: Options.Config is required")
	}
	s := newServer(o)
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if err := Check(o); err != nil { // before anything is written
		return nil, &ConfigError{err}
	}
	ctx, cancel := context.WithTimeout(context.Background(), openWithin)
	defer cancel()
	if err := s.openStore(ctx, o.NoMigrate); err != nil {
		return nil, err
	}
	queues, err := s.openQueues()
	if err != nil {
		return nil, err
	}
	if err := s.listen(); err != nil {
		return nil, err
	}
	if s.secret, err = newSecret(ctx, s.store, s.log); err != nil {
		return nil, err
	}
	if err := s.openEngine(queues); err != nil {
		return nil, err
	}
	if err := s.openFeatures(queues, o.AlarmEvery); err != nil {
		return nil, err
	}
	if err := s.openAPI(); err != nil {
		return nil, err
	}
	return s, nil
}

// openStore opens the store, unless the address of the API is in use: then no new store is created.
// The server does not listen on the address meanwhile, because clients would wait while a database
// is away.
func (s *Server) openStore(ctx context.Context, existing bool) error {
	free, err := net.Listen("tcp", s.config.Listen)
	if err == nil {
		err = free.Close()
	}
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	opened, err := OpenStore(ctx, s.config.Store, StoreOptions{Existing: existing, Logger: s.log})
	if err != nil {
		return err
	}
	s.store = &unmoved{Store: opened, refuse: s.refuseMoved}
	return s.refuseMoved(ctx)
}

// openQueues makes the queues with their handlers, and everything that a handler needs.
func (s *Server) openQueues() ([]engine.Queue, error) {
	queues, noticed, err := s.configure(s.config)
	if err != nil {
		return nil, &ConfigError{err}
	}
	s.rebuilders.Store(rebuildersOf(queues))
	s.credentials.set(queues, s.config.Keys)
	s.credentials.add(s.expiring)
	s.notices.set(noticed)
	if err := s.config.Warnings(); err != nil {
		s.log.Warn("a setting has no effect, or not all of it", "err", err)
	}
	return queues, nil
}

// listen opens the listeners of notices and of the API.
func (s *Server) listen() (err error) {
	if err := s.notices.listen(s.config); err != nil {
		return err
	}
	if s.listener, err = net.Listen("tcp", s.config.Listen); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	s.listener = bound(s.listener, s.config)
	return nil
}

// openEngine makes the engine, and the way to the other nodes of the store if there can be any.
func (s *Server) openEngine(queues []engine.Queue) error {
	c := s.config
	kind, err := config.ParseStore(c.Store)
	if err != nil {
		return &ConfigError{fmt.Errorf("store: %w", err)}
	}
	retention := c.RetentionIn(kind.Kind)
	s.notices.kept = retention.Succeeded
	o := engine.Options{
		Store:       s.store,
		Queues:      queues,
		Node:        c.Node,
		Addr:        advertised(c, s.Addr()),
		Version:     s.version,
		Logger:      s.log,
		Observer:    s.metrics,
		Tracer:      s.tracer(),
		MaxInFlight: c.Pool.Ceiling,
		PoolFloor:   c.Pool.Floor,
		Flow:        engine.Flow(c.Flow),
		Retention:   engine.Retention(retention),
		StopTimeout: c.StopTimeout,
		Schedules:   &s.schedules,
		Spare:       s.client.Spare,
		Failing:     s.failing,
		Refused:     func() []figures.Refusal { return s.notices.refused.All(time.Now()) },
		Decided: func(t *bellman.Task, by bellman.By, at time.Time) []bellman.Task {
			return s.alarms.Decided(t, by, at) // the alarms are set before the first decision
		},
	}
	if !store.UseOf(s.store).Exclusive {
		s.peers = newPeers(s.secret, o.Addr, s.hinted, s.log) // the engine is set before the first hint
		s.peers.report = func(ctx context.Context, ask figures.Ask) engine.Report { return s.engine.Report(ctx, ask) }
		o.Hint, o.Ask = s.peers.tell, s.peers.ask
	}
	s.engine, err = engine.New(o)
	return err
}

// openFeatures makes what works on the tasks beside the engine: links, bulk resends, alarms,
// reconciliations, and the list of what needs a person.
func (s *Server) openFeatures(queues []engine.Queue, alarmEvery time.Duration) (err error) {
	var leads func() bool // nil: there are no other nodes
	if s.peers != nil {
		leads = s.engine.Leads
	}
	s.links = sharelink.New(s.store, s.secret)
	s.resends, err = resend.New(resend.Options{Store: s.store, Tasks: s.engine, Leads: leads, Queues: s.queueNames, Logger: s.log})
	if err != nil {
		return err
	}
	if err := s.openAlarms(s.config, alarmEvery); err != nil {
		return err
	}
	s.setBilled(queues, s.config)
	s.reconciles, err = reconcile.New(reconcile.Options{
		Store: s.store, Tasks: s.engine, Alarms: s.alarms, Queues: func() []reconcile.Queue { return *s.billed.Load() },
		Leads: leads, Logger: s.log,
	})
	if err != nil {
		return err
	}
	s.metrics.Watch(s.metricSources())
	kept, err := config.ParseStore(s.config.Store)
	if err != nil {
		return &ConfigError{fmt.Errorf("store: %w", err)}
	}
	s.probe = &probe{store: s.store, engine: s.engine, secrets: []secrets{s.merchants, s.accounts}, log: s.log}
	s.attention = attention.New(attention.Options{
		Ready: s.probe.ready, StoreName: kept.String(),
		Engine: s.engine, Store: s.store, Alarms: s.alarms, Nodes: s.engine.Nodes, Reconciliations: s.reconciles, Credentials: s.credentials.all,
		Sources: s.sourceInfos, Queues: s.queueNames, Kind: s.kind,
	})
	return nil
}

// openAPI makes the ways into the server: the API, the sources of messages, and the console.
func (s *Server) openAPI() (err error) {
	c := s.config
	ready := front{s.engine, s}
	s.api, err = api.New(api.Options{
		Engine:    ready,
		Reader:    s.store,
		Schedules: &s.schedules,
		Resends:   s.resends,
		Alarms:    s.alarms,
		Attention: s.attention,
		Merchants: merchants{s.merchants, s},
		Accounts:  accounts{s.accounts, s},
		Links:     s.links,
		Notices:   s.notices,
		PublicURL: c.PublicURL,
		Proxies:   c.TrustedProxies,
		Nodes:     s.engine.Nodes,
		Sources:   s.sourceInfos,
		Intake:    s.engine.Intake,
		Kinds:     s.kind,
		Channels:  s.channelKind,
		CheckURL:  s.checkMerchantURL,
		Sent:      s.sent,
		Backup:    s.backup(),
		Metrics:   s.metrics.Handler(),
		Refused:   func() { s.metrics.Refused("api") },
		Record:    s.record,
		Traced:    s.traced(),
		Keys:      c.Keys,
		Version:   s.version,
		Log:       s.log,

		Reconciliations: s.reconciles,
	})
	if err != nil {
		return err
	}
	if err := s.openSources(c, ready); err != nil {
		return err
	}
	if s.pages, err = s.console(c, ready); err != nil {
		return err
	}
	s.http = s.serving(beside(s.pages, s.api, s.besidePeers(s.api)))
	s.http.RegisterOnShutdown(s.pages.Stop)
	return nil
}

// Limits for callers that are slow: to send the header, to send the whole request, and between two
// requests on one connection. untilRead limits the time to read an answer.
const (
	readHeader  = 10 * time.Second
	readRequest = time.Minute
	idleRequest = 2 * time.Minute
)

// serving returns a server for a listener, with these limits.
func (s *Server) serving(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           untilRead(h),
		ReadHeaderTimeout: readHeader,
		ReadTimeout:       readRequest,
		IdleTimeout:       idleRequest,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}
