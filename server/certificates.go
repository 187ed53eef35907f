package server

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/metrics"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/poll"
)

const day = 24 * time.Hour

// Times before an end at which one warning is logged. From the last of them on, there is a warning every day.
var (
	warnings    = []time.Duration{30 * day, 7 * day, day} // of certificates
	keyWarnings = []time.Duration{7 * day, day}
)

// certificates are the certificates in the configuration of the channels of order queues, and the keys of
// the API that expire.
type certificates struct {
	mu     sync.Mutex
	known  []metrics.Certificate
	keys   []access.Key
	looked time.Time // when they were last checked; zero: not yet
}

// set replaces the certificates by those of the queues' channels, and the keys.
func (c *certificates) set(queues []engine.Queue, keys []access.Key) {
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
	c.keys = slices.DeleteFunc(slices.Clone(keys), func(k access.Key) bool { return k.Expires.IsZero() })
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

// look warns about certificates and keys that expire soon: at their first check, and each time that
// another of the times for warnings has passed since the last check.
func (c *certificates) look(log *slog.Logger) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, before := time.Now(), c.looked
	c.looked = now
	for _, cert := range c.known {
		left := cert.NotAfter.Sub(now)
		level, text := slog.LevelWarn, "a certificate of a channel ends soon"
		switch {
		case left <= 0:
			level, text = slog.LevelError, "a certificate of a channel has ended"
		case !soon(cert.NotAfter, now, before, warnings):
			continue
		}
		log.Log(context.Background(), level, text, "queue", cert.Queue, "certificate", "channel."+cert.Name,
			"not_after", cert.NotAfter.UTC().Format(time.RFC3339), "days_left", int(max(left, 0)/day))
	}
	for _, k := range c.keys {
		text := "a key of the API expires soon"
		switch {
		case k.Expired(now):
			text = "a key of the API has expired: remove it from keys, or give its user a new one"
		case !soon(k.Expires, now, before, keyWarnings):
			continue
		}
		log.Warn(text, "key", k.Name, "expires", k.Expires.UTC().Format(time.RFC3339), "days_left", int(max(k.Expires.Sub(now), 0)/day))
	}
}

// soon reports whether a warning about an end is due now. before is when it was last checked; zero: never.
func soon(end, now, before time.Time, warnings []time.Duration) bool {
	left := end.Sub(now)
	return left <= slices.Min(warnings) || slices.ContainsFunc(warnings, func(w time.Duration) bool {
		return left <= w && (before.IsZero() || end.Sub(before) > w)
	})
}
