package server

import (
	"context"
	"log/slog"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/store"
)

// A recorder is a store that keeps audit records, while it is not away.
type recorder struct {
	store.Store
	away   bool
	audits []store.Audit
}

func (r *recorder) Commit(_ context.Context, b *store.Batch) error {
	if r.away {
		return bellman.ErrUnreachable
	}
	r.audits = append(r.audits, b.Audits...)
	return nil
}

// Keys that change while the store is away are recorded with the next reload.
func TestChangedKeysAreRecorded(t *testing.T) {
	r := &recorder{away: true}
	s := &Server{store: r, log: slog.New(slog.DiscardHandler)}
	ops := access.Key{Name: "ops", Role: access.Admin}
	s.recordKeys(&config.Config{Keys: []access.Key{ops}})
	r.away = false
	for range 2 {
		s.recordKeys(&config.Config{Keys: []access.Key{ops}})
	}
	if len(r.audits) != 1 || len(r.audits[0].Changes) != 1 || r.audits[0].Changes[0].Field != "ops" {
		t.Errorf("recorded %+v; want one record of the key ops", r.audits)
	}
}
