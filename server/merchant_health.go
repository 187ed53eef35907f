package server

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/merchant"
)

const (
	healthAtOnce = 4                     // merchants of a list that are read concurrently: all of them may begin just before the end
	healthTime   = 40 * time.Millisecond // after that nothing else of a list's merchants is read
	healthAge    = 10 * time.Second      // how long what was read is reused
	healthMost   = 10_000                // merchants whose health is kept
)

// readHealth sets whether a merchant is failing, by its newest tasks, and its backlog. After end it
// reads nothing more; zero: it has all the time that it takes.
func (s merchants) readHealth(ctx context.Context, m *client.Merchant, end time.Time) error {
	recent, err := merchant.LookRecent(ctx, s.store, m.MerchantNo, time.Now())
	m.Failing = recent.Failing()
	if err != nil || !end.IsZero() && time.Now().After(end) {
		return err
	}
	m.Backlog, err = merchant.LookBacklog(ctx, s.store, m.MerchantNo, time.Now(), s.kind)
	return err
}

// A healthCache keeps for a while what readHealth read for lists of merchants. The zero value is
// empty. It is safe for concurrent use.
type healthCache struct {
	mu sync.Mutex
	by map[string]knownHealth
}

type knownHealth struct {
	at      time.Time
	failing bool
	backlog *client.Backlog
}

// note keeps what readHealth has set.
func (l *healthCache) note(m *client.Merchant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by == nil || len(l.by) >= healthMost {
		l.by = map[string]knownHealth{}
	}
	l.by[m.MerchantNo] = knownHealth{time.Now(), m.Failing, m.Backlog}
}

// recall sets what note has kept, and reports whether it is younger than healthAge.
func (l *healthCache) recall(m *client.Merchant) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen, has := l.by[m.MerchantNo]
	if !has || time.Since(seen.at) >= healthAge {
		return false
	}
	m.Failing, m.Backlog = seen.failing, seen.backlog
	return true
}

// readAllHealth is readHealth for a list, as far as there is time. What it read of a merchant is
// reused for healthAge, so that the list read again goes on where it ended. Merchants that are left
// have no backlog, and are failing if the nodes say so.
func (s merchants) readAllHealth(ctx context.Context, all []client.Merchant, most time.Duration) error {
	end := time.Now().Add(most)
	var left atomic.Bool
	g, of := errgroup.WithContext(ctx)
	g.SetLimit(healthAtOnce)
	for i := range all {
		g.Go(func() error {
			m := &all[i]
			if s.health.recall(m) {
				return nil
			}
			var err error
			if time.Now().Before(end) {
				err = s.readHealth(of, m, end)
			}
			if m.Backlog == nil {
				left.Store(true)
			} else if err == nil {
				s.health.note(m)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil || !left.Load() {
		return err
	}
	f, err := s.engine.Figures(ctx, figures.Ask{Gauges: true})
	for i := range all {
		m := &all[i]
		if m.Backlog == nil {
			m.Failing = slices.ContainsFunc(f.Failing, func(one figures.FailingMerchant) bool { return one.MerchantNo == m.MerchantNo })
		}
	}
	return err
}
