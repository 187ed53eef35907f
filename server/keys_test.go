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
