package server

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bellmanhq/bellman/internal/alarm"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/internal/console"
	"github.com/bellmanhq/bellman/internal/metrics"
	"github.com/bellmanhq/bellman/internal/results"
)

// openAlarms makes the evaluation of alarms, by the rules of a configuration.
func (s *Server) openAlarms(c *config.Config, every time.Duration) (err error) {
	if s.alarms, err = alarm.New(alarm.Options{Engine: s.engine, Store: s.store, Logger: s.log, Every: every, Credentials: s.credentials.all, Chinese: console.Chinese}); err != nil {
		return err
	}
	return s.setAlarms(c)
}

// setAlarms replaces the rules of alarms by those of c. The end of an alarm may be reported to any
// queue of kind notify, because its rule may be gone or name another queue by then.
func (s *Server) setAlarms(c *config.Config) error {
	queues := make(map[string]results.Queue, len(c.Queues))
	for _, q := range c.Queues {
		if q.Kind != "notify" {
			continue
		}
		var err error
		if queues[q.Name], err = resultQueue(q.Name, c.Queues); err != nil {
			return fmt.Errorf("alarms: %w", err)
		}
	}
	s.alarms.SetRules(c.Alarms, queues)
	return nil
}

// flushAlarms stores what the last attempts before a stop found.
func (s *Server) flushAlarms(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, flushWithin)
	defer cancel()
	s.alarms.Flush(ctx)
}

// alarmsRaised returns how many alarms of each rule are raised, for the metrics; nil if the store
// does not answer.
func (s *Server) alarmsRaised(ctx context.Context) []metrics.Alarm {
	raised := map[string]int{}
	for _, r := range s.alarms.Rules() {
		raised[r.Name] = 0
	}
	all, err := s.alarms.List(ctx)
	if err != nil {
		s.log.Error("alarms cannot be read", "err", err)
		return nil
	}
	for _, a := range all {
		if a.Raised() {
			raised[a.Name]++
		}
	}
	alarms := make([]metrics.Alarm, 0, len(raised))
	for _, name := range slices.Sorted(maps.Keys(raised)) {
		alarms = append(alarms, metrics.Alarm{Name: name, Raised: raised[name]})
	}
	return alarms
}
