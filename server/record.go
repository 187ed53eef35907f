package server

import (
	"context"
	"encoding/hex"
	"strings"
	"time"

	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/store"
)

// recordWithin bounds how long a request waits for its audit record.
const recordWithin = 5 * time.Second

// record writes an audit record for an action that changes nothing in the store. A failure is
// logged.
func (s *Server) record(ctx context.Context, a store.Audit) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWithin)
	defer cancel()
	err := s.store.Commit(ctx, &store.Batch{Audits: []store.Audit{a}})
	if err != nil {
		s.log.Warn("an audit record was not written", "action", a.Action, "target", a.Target, "who", a.Who, "err", err)
	}
	return err
}

// recordKeys writes audit records for the keys that a reloaded configuration adds, removes and
// changes.
func (s *Server) recordKeys(c *config.Config) {
	a := store.Audit{At: time.Now(), Action: "keys", Target: "keys", Reason: "SIGHUP"}
	before, after := shownKeys(s.keys), shownKeys(c.Keys)
	for _, k := range s.keys {
		if before[k.Name] != after[k.Name] {
			a.Changes = append(a.Changes, store.Changed{Field: k.Name, Before: before[k.Name], After: after[k.Name]})
		}
	}
	for _, k := range c.Keys {
		if before[k.Name] == "" {
			a.Changes = append(a.Changes, store.Changed{Field: k.Name, After: after[k.Name]})
		}
	}
	if a.Changes != nil && s.record(context.Background(), a) != nil {
		return // the next reload records these changes too
	}
	s.keys = c.Keys
}

// shownKeys returns the keys by name, each with its role, the beginning of its hash, and its
// limits.
func shownKeys(keys []access.Key) map[string]string {
	shown := make(map[string]string, len(keys))
	for _, k := range keys {
		shown[k.Name] = strings.TrimSpace(string(k.Role) + " " + hex.EncodeToString(k.SHA256[:4]) + " " + k.Limits())
	}
	return shown
}
