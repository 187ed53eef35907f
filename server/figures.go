package server

import (
	"context"
	"time"

	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/metrics"
	"github.com/bellmanhq/bellman/store"
)

// scrapePatience is the longest time for each question of a scrape to the store. So the engine's
// figures arrive within a scraper's usual 10 s while a store hangs.
const scrapePatience = 2 * time.Second

// sources returns what a scrape of the metrics reads.
func (s *Server) sources() metrics.Sources {
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
