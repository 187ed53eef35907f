package server

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/metrics"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/poll"
)

const day = 24 * time.Hour

// warnings are the times before the end of a certificate at which one warning is logged. From the last of them on,
// there is a warning every day.
var warnings = []time.Duration{30 * day, 7 * day, day}

// certificates are the certificates in the configuration of the channels of order queues.
type certificates struct {
	mu     sync.Mutex
	known  []metrics.Certificate
	looked time.Time // when they were last checked; zero: not yet
}

// set replaces the certificates by those of the queues' channels.
func (c *certificates) set(queues []engine.Queue) {
	var known []metrics.Certificate
	for _, q := range queues {
		var of any
		switch h := q.Handler.(type) {
		case *order.Handler:
			of = h.Channel()
		case *poll.Handler:
			of = h.Channel()
		}
		channel, ok := of.(interface{ Certificates() map[string]time.Time })
		if !ok {
			continue
		}
		for name, notAfter := range channel.Certificates() {
			known = append(known, metrics.Certificate{Queue: q.Name, Name: name, NotAfter: notAfter})
		}
	}
	slices.SortFunc(known, func(a, b metrics.Certificate) int { return a.NotAfter.Compare(b.NotAfter) })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known, c.looked = known, time.Time{}
}

func (c *certificates) all() []metrics.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.known)
}

// watch checks the certificates now and once a day, until ctx ends.
func (c *certificates) watch(ctx context.Context, log *slog.Logger) error {
	every := time.NewTicker(day)
	defer every.Stop()
	for {
		c.look(log)
		select {
		case <-every.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// look warns about certificates that expire soon: at their first check, and each time that another
// of warnings has passed since the last check.
func (c *certificates) look(log *slog.Logger) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, before := time.Now(), c.looked
	c.looked = now
	for _, cert := range c.known {
		left := cert.NotAfter.Sub(now)
		crossed := slices.ContainsFunc(warnings, func(w time.Duration) bool {
			return left <= w && (before.IsZero() || cert.NotAfter.Sub(before) > w)
		})
		level, text := slog.LevelWarn, "a certificate of a channel ends soon"
		switch {
		case left <= 0:
			level, text = slog.LevelError, "a certificate of a channel has ended"
		case !crossed && left > slices.Min(warnings):
			continue
		}
		log.Log(context.Background(), level, text, "queue", cert.Queue, "certificate", "channel."+cert.Name,
			"not_after", cert.NotAfter.UTC().Format(time.RFC3339), "days_left", int(max(left, 0)/day))
	}
}
