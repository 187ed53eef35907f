package server_test

import (
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/config"
)

// A server that others can reach is not opened to them by a file without keys.
func TestReloadKeepsTheLastKey(t *testing.T) {
	var started *config.Config
	key := access.Key{Name: "ops", Role: "read", SHA256: sha256.Sum256([]byte("the only key"))}
	anyone, s, stop := serve(t, t.TempDir(), func(c *config.Config) {
		c.Keys = []access.Key{key}
		started = c
	})
	defer stop()
	bare := *started
	bare.Keys = nil
	loopback := started.Listen
	started.Listen = "0.0.0.0:2355" // as if it had been
	if err := s.Reload(&bare); err == nil || !strings.Contains(err.Error(), "keys: want at least one") {
		t.Errorf("Reload() without keys = %v; want it refused", err)
	}
	if _, err := anyone.Queues(t.Context()); err == nil {
		t.Error("whoever has no key is let in")
	}
	started.Listen = loopback
	if err := s.Reload(&bare); err != nil {
		t.Errorf("Reload() without keys on loopback = %v", err)
	}
	if _, err := anyone.Queues(t.Context()); err != nil {
		t.Errorf("on loopback without keys: %v", err)
	}
}

// A source runs on after a reload without it, so the queue of its messages stays.
func TestReloadKeepsTheQueueOfASource(t *testing.T) {
	var started *config.Config
	_, s, stop := serve(t, t.TempDir(), func(c *config.Config) {
		fed := c.Queues[0]
		fed.Name = "fed"
		c.Queues = append(c.Queues, fed)
		configure(t, c, "connections: {main: {url: 'amqp://127.0.0.1:1/'}}\nsources:\n  - {connection: main, queue: paid, into: fed}\n")
		started = c
	})
	defer stop()
	without := *started
	without.Queues, without.Sources = started.Queues[:1:1], nil
	if err := s.Reload(&without); err == nil || !strings.Contains(err.Error(), "queues.fed: source ") {
		t.Errorf("Reload() without the queue of a source = %v; want it refused", err)
	}
	without.Queues = started.Queues
	if err := s.Reload(&without); err != nil {
		t.Errorf("Reload() with that queue = %v", err)
	}
}
