package sqlstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
	"github.com/bellmanhq/bellman/store"
)

// TestSameEpochTwice loses a claim, as an asynchronous fail-over may, and another node claims the
// same epoch. The node whose claim was lost is fenced off.
func TestSameEpochTwice(t *testing.T) { each(t, testSameEpochTwice) }

func testSameEpochTwice(t *testing.T, kind database) {
	d := kind.driver(t)
	ctx := t.Context()
	s, err := sqlstore.Open(ctx, d, sqlstore.Options{Shards: 4})
	must(t, err)
	for _, name := range []string{"a", "b"} {
		must(t, s.Join(ctx, store.Node{Name: name}, time.Hour))
	}
	lost, err := s.Claim(ctx, "a", 0, 0)
	must(t, err)
	kept, err := s.Claim(ctx, "a", 1, 0)
	must(t, err)
	must(t, roll(ctx, d, `UPDATE bellman_shard SET epoch = 0, owner = ? WHERE shard = 0`, []byte{}))
	won, err := s.Claim(ctx, "b", 0, 0)
	if err != nil || won.Epoch != lost.Epoch {
		t.Fatalf("Claim() = %+v, %v; want epoch %d again", won, err, lost.Epoch)
	}
	commit := func(leases ...store.Lease) error {
		b := sqltest.Adds(1, 1, time.Now())
		b.Leases = leases
		return s.Commit(ctx, b)
	}
	if err := commit(kept, lost); !errors.Is(err, bellman.ErrFenced) {
		t.Errorf("Commit() of the node whose claim was lost = %v, want ErrFenced", err)
	}
	if err := commit(kept, won); err != nil {
		t.Errorf("Commit() with the valid leases = %v", err)
	}
	state, err := s.State(ctx, "")
	if err != nil || state.Shards[0].Lease != won || state.Shards[1].Lease != kept {
		t.Errorf("State() = %+v, %v; want %+v and %+v", state.Shards[:2], err, won, kept)
	}
}

// roll changes the database like a return to an older state.
func roll(ctx context.Context, d sqlstore.Driver, text string, args ...any) error {
	tx, err := d.Begin(ctx)
	if err != nil {
		return err
	}
	return tx.Commit(ctx, &sqlstore.Statement{Name: "roll back", Text: text, Args: args})
}
