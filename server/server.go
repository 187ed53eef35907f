// Package server is bellman as a whole: from a configuration it opens the store, builds the
// handlers of the queues, the engine, the API and the console, runs them, and stops them in order.
//
// A program of your own runs a server with handlers and channels that are Go code:
//
//	c, err := server.ReadConfig("bellman.yaml", os.LookupEnv, nil)
//	…
//	err = server.Run(ctx, server.Options{Config: c, Channels: map[string]order.Channel{"wallet": wallet}})
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/account"
	"github.com/bellmanhq/bellman/internal/alarm"
	"github.com/bellmanhq/bellman/internal/api"
	"github.com/bellmanhq/bellman/internal/attention"
	"github.com/bellmanhq/bellman/internal/brokers/source"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/internal/console"
	"github.com/bellmanhq/bellman/internal/merchant"
	"github.com/bellmanhq/bellman/internal/metrics"
	"github.com/bellmanhq/bellman/internal/reconcile"
	"github.com/bellmanhq/bellman/internal/resend"
	"github.com/bellmanhq/bellman/internal/sharelink"
	"github.com/bellmanhq/bellman/internal/tracing"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/wechatpay"
	"github.com/bellmanhq/bellman/schedule"
	"github.com/bellmanhq/bellman/store"
)

// Options of a server. Config is required.
type Options struct {
	Config  *Config
	Version string       // of the program; default dev
	Logger  *slog.Logger // default: slog.Default()

	// Handlers make the attempts of queues of kind notify, by the name of the queue. What such a
	// queue says of requests (url, sign, connections) has no effect. All other queues of that kind
	// are attempted over HTTP or a broker.
	Handlers map[string]bellman.Handler

	// Channels are the payment channels of queues of kind order that are configured with channel:
	// {kind: program}, by the name of the queue.
	Channels map[string]order.Channel

	// NoMigrate opens an existing store of this version, and creates nothing.
	NoMigrate bool

	// AlarmEvery is how often alarms are evaluated; default 5 s. An alarm ends after twelve times
	// that without its condition.
	AlarmEvery time.Duration
}

// A Server is a whole bellman. Open one, Run it, Close it; or call Run for all three.
type Server struct {
	log          *slog.Logger
	version      string
	config       *config.Config
	store        store.Store
	probe        *probe // of the store
	client       *deliver.Client
	metrics      *metrics.Metrics
	pausedTasks  remembered[int] // of paused merchants
	suspects     merchant.Suspects
	failingSeen  remembered[[]figures.FailingMerchant]
	health       healthCache // of merchants
	expiringSeen remembered[[]alarm.Credential]
	traces       *tracing.Tracer // nil: no tracing
	engine       *engine.Engine
	secret       *secret // shared by all nodes
	peers        *peers  // nil: the store belongs to this process alone
	api          *api.API
	pages        *console.Console
	sources      []*source.Source
	resends      *resend.Jobs
	alarms       *alarm.Watch
	attention    *attention.Desk
	reconciles   *reconcile.Runs
	billed       atomic.Pointer[[]reconcile.Queue] // the queues of orders
	links        *sharelink.Links
	merchants    *merchant.Registry
	accounts     *account.Registry
	credentials  credentials // certificates and keys that expire
	platform     wechatpay.Platform
	schedules    schedule.Cache // of the engine, orders, API and console
	facts        atomic.Pointer[queueFacts]
	rebuilders   atomic.Pointer[rebuilders]
	keys         []access.Key // of the API, in the last configuration
	listener     net.Listener
	http         *http.Server
	notices      *notices

	connections map[string]deliver.Connection // brokers, by their names
	senders     []interface{ Close() }

	handlers map[string]bellman.Handler // Options.Handlers
	channels map[string]order.Channel   // Options.Channels
}

// A ConfigError is an error of the configuration: another start fails in the same way.
type ConfigError struct{ cause error }

func (e *ConfigError) Error() string { return e.cause.Error() }

func (e *ConfigError) Unwrap() error { return e.cause }

// How long parts of a stop may take, beside the attempts in flight.
const (
	drainRequests = 5 * time.Second
	flushWithin   = 2 * time.Second // spans, and alarms, that wait
)

// hinted applies a hint of another node.
func (s *Server) hinted(h engine.Hint) {
	if slices.Contains(h.Docs, merchant.Kind) {
		s.merchants.Refresh()
	}
	if slices.Contains(h.Docs, account.Kind) {
		s.accounts.Refresh()
	}
	s.engine.Hinted(h)
}

// Addr returns where the API listens, as HOST:PORT.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Engine returns the engine, for a program that embeds the server.
func (s *Server) Engine() *engine.Engine { return s.engine }

// Run serves until ctx ends, and stops in order: requests and messages, attempts, commits. It
// returns nil after an orderly stop.
func (s *Server) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	outlive := context.WithoutCancel(ctx)
	taken, settled := context.WithCancel(outlive) // ends when the sources have stored what they received
	g.Go(func() error {
		defer settled()
		s.take(ctx)
		<-ctx.Done()
		return nil
	})
	g.Go(func() error {
		defer s.flushAlarms(outlive)
		return s.engine.Run(taken)
	})
	g.Go(func() error { return s.resends.Run(ctx) })
	g.Go(func() error { return s.probe.watch(ctx) })
	g.Go(func() error { return s.alarms.Run(ctx) })
	g.Go(func() error { return s.reconciles.Run(ctx) })
	g.Go(func() error { return s.credentials.watch(ctx, s.log) })
	g.Go(func() error { return s.merchants.Run(ctx) })
	g.Go(func() error { return s.merchants.Sweep(ctx, s.engine.Leads) })
	g.Go(func() error { return s.accounts.Run(ctx) })
	g.Go(func() error { return s.accounts.Sweep(ctx, s.engine.Leads) })
	g.Go(func() error {
		if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve: %w", err)
		}
		return nil
	})
	g.Go(s.notices.serve)
	g.Go(func() error {
		<-ctx.Done()
		ctx, cancel := context.WithTimeout(outlive, drainRequests)
		defer cancel()
		s.drain(ctx)
		return nil
	})
	g.Go(func() error { return s.broken(ctx) })
	return g.Wait()
}

// drain closes both listeners, and waits until their requests are answered or ctx ends. A notice
// that arrives slowly does not delay the end of the API, nor the other way round.
func (s *Server) drain(ctx context.Context) {
	var noticed sync.WaitGroup
	noticed.Go(func() { s.notices.shutdown(ctx) })
	if err := s.http.Shutdown(ctx); err != nil {
		s.http.Close()
	}
	noticed.Wait()
}

// Close closes everything that Open opened. Call it after Run.
func (s *Server) Close() error {
	var errs []error
	if s.http != nil {
		s.http.Close()
	}
	if s.listener != nil {
		s.listener.Close() // after Run it is closed already
	}
	if s.notices != nil {
		s.notices.close()
	}
	if s.client != nil {
		s.client.Close()
	}
	for _, to := range s.senders {
		to.Close()
	}
	if s.peers != nil {
		s.peers.close()
	}
	if s.traces != nil {
		ctx, cancel := context.WithTimeout(context.Background(), flushWithin)
		s.traces.Close(ctx)
		cancel()
	}
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	return errors.Join(errs...)
}

// Reload replaces the rules of the queues, the bounds of the pool, the alarms and the keys by those
// of c, without losing a task. All other settings of c need a restart. On an error nothing changes.
func (s *Server) Reload(c *Config) error {
	if err := checkOwn(c, s.handlers, s.channels); err != nil {
		return err
	}
	if len(c.Keys) == 0 && !config.Loopback(s.config.Listen) {
		return fmt.Errorf("keys: want at least one, for this server listens on %s: without keys only loopback may be listened on", s.config.Listen)
	}
	facts := factsOf(c)
	for i := range s.config.Sources { // they run on until a restart
		from := &s.config.Sources[i]
		if _, there := facts.kinds[from.Into]; !there && from.Into != "" {
			return fmt.Errorf("queues.%s: source %s, which a restart alone ends, puts its messages there: without the queue they would be dead letters", from.Into, from.Name())
		}
	}
	queues, noticed, wrong := s.rules(c)
	if err := wrong.Err(); err != nil {
		return err
	}
	if err := access.Check(c.Keys); err != nil {
		return err
	}
	if err := s.engine.SetQueues(queues); err != nil {
		return err
	}
	s.rebuilders.Store(rebuildersOf(queues))
	if err := s.engine.SetPool(c.Pool.Floor, c.Pool.Ceiling); err != nil {
		return err
	}
	if err := s.api.SetKeys(c.Keys); err != nil {
		return err
	}
	if err := s.pages.SetKeys(c.Keys); err != nil {
		return err
	}
	s.recordKeys(c)
	s.facts.Store(facts)
	s.credentials.set(queues, c.Keys)
	s.notices.set(noticed)
	s.setBilled(queues, c)
	s.credentials.look(s.log)
	return s.setAlarms(c)
}

// kind returns the kind of a queue; empty: there is no such queue.
func (s *Server) kind(queue string) string { return s.facts.Load().kinds[queue] }

// channelKind returns the channel of the orders or polls of a queue; empty: request templates, or
// another kind.
func (s *Server) channelKind(queue string) string { return s.facts.Load().channels[queue] }

// queueNames returns the names of the configured queues, sorted.
func (s *Server) queueNames() []string { return slices.Sorted(maps.Keys(s.facts.Load().kinds)) }
