package server

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/alarm"
	"github.com/bellmanhq/bellman/internal/metrics"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/poll"
)

const (
	day = 24 * time.Hour

	// renewEvery is how often channels are asked to renew the keys that they fetch.
	renewEvery  = time.Hour
	renewWithin = 15 * time.Second
)

// warnings are the times before an end at which one warning is logged. From the last of them on,
// there is a warning every day.
var warnings = []time.Duration{30 * day, 7 * day, day}

// A credentialSource returns the certificates and keys that expire, from memory: it is called every
// few seconds.
type credentialSource func() []alarm.Credential

// credentials are the certificates and keys that expire: those of the queues' channels, the keys of
// the API, and those of further sources. It is safe for concurrent use.
type credentials struct {
	mu       sync.Mutex
	channels []expiringChannel
	keys     []access.Key
	sources  []credentialSource
	looked   time.Time // when they were last checked; zero: not yet
}

// An expiringChannel is the channel of a queue. It may also have Renew, which fetches its keys
// again.
type expiringChannel struct {
	queue string
	of    interface{ Certificates() map[string]time.Time }
}

// add adds a source of credentials.
func (c *credentials) add(from credentialSource) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sources = append(c.sources, from)
}

// set replaces the channels of the queues, and the keys.
func (c *credentials) set(queues []engine.Queue, keys []access.Key) {
	var channels []expiringChannel
	for _, q := range queues {
		var of any
		switch h := q.Handler.(type) {
		case *order.Handler:
			of = h.Channel()
		case *poll.Handler:
			of = h.Channel()
		}
		if channel, ok := of.(interface{ Certificates() map[string]time.Time }); ok {
			channels = append(channels, expiringChannel{q.Name, channel})
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.channels, c.looked = channels, time.Time{}
	c.keys = slices.DeleteFunc(slices.Clone(keys), func(k access.Key) bool { return k.Expires.IsZero() })
}

// certificates returns the certificates of the queues' channels.
func (c *credentials) certificates() []metrics.Certificate {
	c.mu.Lock()
	channels := c.channels
	c.mu.Unlock()
	var all []metrics.Certificate
	for _, channel := range channels {
		for name, notAfter := range channel.of.Certificates() {
			all = append(all, metrics.Certificate{Queue: channel.queue, Name: name, NotAfter: notAfter})
		}
	}
	return all
}

// all returns everything that expires, sorted by the time of expiry.
func (c *credentials) all() []alarm.Credential {
	var all []alarm.Credential
	for _, cert := range c.certificates() {
		all = append(all, alarm.Credential{Name: "queues." + cert.Queue + ".channel." + cert.Name, Queue: cert.Queue, Expires: cert.NotAfter})
	}
	c.mu.Lock()
	keys, sources := c.keys, c.sources
	c.mu.Unlock()
	for _, k := range keys {
		all = append(all, alarm.Credential{Name: "keys." + k.Name, Expires: k.Expires})
	}
	for _, from := range sources {
		all = append(all, from()...)
	}
	slices.SortFunc(all, func(a, b alarm.Credential) int { return a.Expires.Compare(b.Expires) })
	return all
}

// figures returns the result of all for the metrics.
func (c *credentials) figures() (all []metrics.Credential) {
	for _, one := range c.all() {
		all = append(all, metrics.Credential{Name: one.Name, Left: time.Until(one.Expires)})
	}
	return all
}

// watch has the channels renew their keys, now and each hour, and checks what expires, now and once
// a day, until ctx ends.
func (c *credentials) watch(ctx context.Context, log *slog.Logger) error {
	hourly, daily := time.NewTicker(renewEvery), time.NewTicker(day)
	defer hourly.Stop()
	defer daily.Stop()
	c.renew(ctx, log)
	c.look(log)
	for {
		select {
		case <-hourly.C:
			c.renew(ctx, log)
		case <-daily.C:
			c.look(log)
		case <-ctx.Done():
			return nil
		}
	}
}

// renew has the channels fetch their keys if they are due. A failure leaves the keys as they are.
func (c *credentials) renew(ctx context.Context, log *slog.Logger) {
	c.mu.Lock()
	channels := c.channels
	c.mu.Unlock()
	for _, channel := range channels {
		of, can := channel.of.(interface{ Renew(context.Context) error })
		if !can {
			continue
		}
		within, cancel := context.WithTimeout(ctx, renewWithin)
		err := of.Renew(within)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			log.Warn("the keys of a channel cannot be fetched; those of before stay", "queue", channel.queue, "err", err)
		}
	}
}

// look warns about what expires soon: at the first check, and each time that another of the times
// for warnings has passed since the last check.
func (c *credentials) look(log *slog.Logger) {
	all := c.all()
	c.mu.Lock()
	now, before := time.Now(), c.looked
	c.looked = now
	c.mu.Unlock()
	for _, one := range all {
		left := one.Expires.Sub(now)
		level, text := slog.LevelWarn, "a certificate or key expires soon"
		switch {
		case left <= 0:
			level, text = slog.LevelError, "a certificate or key has expired: replace or remove it"
		case !soon(one.Expires, now, before):
			continue
		}
		log.Log(context.Background(), level, text, "credential", one.Name, "queue", one.Queue,
			"expires", one.Expires.UTC().Format(time.RFC3339), "days_left", int(max(left, 0)/day))
	}
}

// soon reports whether a warning about an end is due now. before is when it was last checked; zero:
// never.
func soon(end, now, before time.Time) bool {
	left := end.Sub(now)
	return left <= slices.Min(warnings) || slices.ContainsFunc(warnings, func(w time.Duration) bool {
		return left <= w && (before.IsZero() || end.Sub(before) > w)
	})
}
