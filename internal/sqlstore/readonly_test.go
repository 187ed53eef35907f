package sqlstore_test

import (
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
	"github.com/bellmanhq/bellman/store"
)

// TestReadOnly makes all connections of a store reject writes, like connections to a former primary
// after a switchover. New connections lead to a server that accepts writes. Each write must succeed
// by itself.
func TestReadOnly(t *testing.T) { each(t, testReadOnly) }

func testReadOnly(t *testing.T, kind database) {
	d := kind.driver(t)
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
			b := sqltest.Adds(1, 1, time.Now())
			b.Leases = []store.Lease{lease}
			return s.Commit(ctx, b)
		},
		"Commit of a document": func() error {
			return s.Commit(ctx, &store.Batch{Docs: []store.Doc{{Kind: "k", Name: "n", Value: []byte("v"), Was: []byte{}}}})
		},
	} {
		demote(t, d, kind.demote)
		if err := do(); err != nil {
			t.Errorf("%s() after a switchover = %v; want it written over a new connection", call, err)
		}
	}
}

// demote makes each connection of a pool reject writes.
func demote(t *testing.T, d sqlstore.Driver, text string) {
	t.Helper()
	var held []sqlstore.Tx
	for range d.Pool().Most {
		tx, err := d.Begin(t.Context())
		must(t, err)
		must(t, tx.Send(t.Context(), &sqlstore.Statement{Name: "demote", Text: text}))
		held = append(held, tx)
	}
	for _, tx := range held {
		must(t, tx.Commit(t.Context()))
	}
}
