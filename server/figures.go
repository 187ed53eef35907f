package server

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/metrics"
	"github.com/bellmanhq/bellman/store"
)

// scrapePatience is the longest time for each question of a scrape to the store. So the engine's
// figures arrive within a scraper's usual 10 s while a store hangs.
const scrapePatience = 2 * time.Second

// metricSources returns what a scrape of the metrics reads.
func (s *Server) metricSources() metrics.Sources {
	return metrics.Sources{
		Gauges: within(s.engine.Gauges),
		Queues: within(func(ctx context.Context) []figures.Queue {
			infos, err := s.engine.Queues(ctx)
			if err != nil {
				s.log.Error("queues cannot be described", "err", err)
			}
			return infos
		}),
		Endpoints: s.engine.Endpoints,
		Merchants: s.paused,
		Failing:   within(s.failing),
		Store:     s.figures,
		Nodes:     s.figuresOfPeers,
		Sources:   s.sourceInfos,
		Intake:    s.engine.Intake,
		Alarms:    within(s.alarmsRaised),

		Reconciled: within(s.reconciled),

		Certificates: s.credentials.certificates,
		Credentials:  s.credentials.figures,
		Traces:       s.figuresOfTraces(),
	}
}

// within returns ask with the patience of a scrape.
func within[T any](ask func(context.Context) T) func() T {
	return func() T {
		ctx, cancel := context.WithTimeout(context.Background(), scrapePatience)
		defer cancel()
		return ask(ctx)
	}
}

// figures returns the store's figures about itself.
func (s *Server) figures() []store.Figure {
	if f, has := store.As[store.Figures](s.store); has {
		return f.Figures()
	}
	return nil
}

// figuresOfPeers returns the counts of hints between nodes.
func (s *Server) figuresOfPeers() []store.Figure {
	if s.peers == nil {
		return nil
	}
	return []store.Figure{
		{Name: "hints_sent_total", Help: "Hints that another node accepted.", Counter: true, Value: float64(s.peers.sent.Load())},
		{Name: "hints_failed_total", Help: "Hints that another node did not accept.", Counter: true, Value: float64(s.peers.failed.Load())},
		{Name: "hints_received_total", Help: "Hints received from other nodes.", Counter: true, Value: float64(s.peers.received.Load())},
		{Name: "hints_refused_total", Help: "Received hints with a wrong signature.", Counter: true, Value: float64(s.peers.refused.Load())},
	}
}

const (
	pausedTasks = 2000 // tasks of paused merchants are counted up to this number
	pausedPage  = 200
	pausedAge   = 30 * time.Second // how long that count is reused
	failingAge  = 10 * time.Second // how long the list of failing merchants is reused
)

// paused returns the paused merchants and the number of their waiting tasks.
func (s *Server) paused() ([]figures.MerchantPause, int) {
	paused := s.engine.PausedMerchants()
	if len(paused) == 0 {
		s.pausedTasks.forget()
		return nil, 0
	}
	tasks, err := s.pausedTasks.get(pausedAge, func() (int, error) {
		ctx, cancel := context.WithTimeout(context.Background(), scrapePatience)
		defer cancel()
		return s.countPaused(ctx, paused)
	})
	if err != nil {
		s.log.Warn("tasks of paused merchants cannot be counted", "err", err)
	}
	return paused, tasks
}

// failing returns registered merchants that accept nothing from this node.
func (s *Server) failing(ctx context.Context) []figures.FailingMerchant {
	all, err := s.failingSeen.get(failingAge, func() ([]figures.FailingMerchant, error) {
		all, err := s.suspects.Failing(ctx, s.store, time.Now())
		if err != nil {
			return nil, err
		}
		return slices.DeleteFunc(all, func(f figures.FailingMerchant) bool {
			_, err := s.merchants.Read(ctx, f.MerchantNo)
			return errors.Is(err, bellman.ErrNotFound)
		}), nil
	})
	if err != nil {
		s.log.Warn("the tasks of failing merchants cannot be read", "err", err)
	}
	return all
}

func (s *Server) countPaused(ctx context.Context, paused []figures.MerchantPause) (n int, err error) {
	pending := bellman.Pending
	for _, p := range paused {
		var before bellman.ID
		for read := 0; read < pausedTasks; read += pausedPage {
			page, next, err := s.store.List(ctx, store.Filter{MerchantNo: p.MerchantNo, State: &pending}, before, pausedPage)
			if err != nil {
				return n, err
			}
			for _, t := range page {
				if target, _ := s.engine.Held(t); target != "" {
					n++
				}
			}
			if n >= pausedTasks {
				return pausedTasks, nil
			}
			if before = next; next.IsZero() {
				break
			}
		}
	}
	return n, nil
}
