package sqltest

import (
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/store"
)

// ReadOnly makes all connections of a store refuse writes, as those to a server do that was
// the primary until a switchover. demote does that to each connection which the pool has. The next
// connections are to a server that takes writes, and each write must get there by itself.
func ReadOnly(t *testing.T, d sqlstore.Driver, demote func()) {
	ctx := t.Context()
	s, err := sqlstore.Open(ctx, d, sqlstore.Options{Shards: 4})
	must(t, err)
	defer s.Close()
	must(t, s.Join(ctx, store.Node{Name: "n"}, time.Hour))
	lease, err := s.Claim(ctx, "n", 0, 0)
	must(t, err)
	for call, do := range map[string]func() error{
		"Beat": func() error { return s.Beat(ctx, "n") },
		"Join": func() error { return s.Join(ctx, store.Node{Name: "other"}, time.Hour) },
		"Commit": func() error {
			b := adds(1, 1, time.Now())
			b.Leases = []store.Lease{lease}
			return s.Commit(ctx, b)
		},
		"Commit of a document": func() error {
			return s.Commit(ctx, &store.Batch{Docs: []store.Doc{{Kind: "k", Name: "n", Value: []byte("v"), Was: []byte{}}}})
		},
	} {
		demote()
		if err := do(); err != nil {
			t.Errorf("%s() after a switchover = %v; want it written by a new connection", call, err)
		}
	}
}
