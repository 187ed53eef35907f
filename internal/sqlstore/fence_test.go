package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/mysql"
)

// TestRaces makes an owner commit and a thief claim its shard at the same moment, many times. If
// both succeed, the thief's first read must find what the owner wrote.
func TestRaces(t *testing.T) { each(t, testRaces) }

func testRaces(t *testing.T, kind database) {
	url := kind.empty(t)
	owner, thief := kind.with(t, url, mysql.Options{}), kind.with(t, url, mysql.Options{})
	const rounds = 200
	ctx := context.Background()
	for _, name := range []string{"owner", "thief"} {
		// The thief claims for the owner's name, so that the claim does not depend on an expiry.
		if err := owner.Join(ctx, store.Node{Name: name}, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	fenced, won, both := 0, 0, 0
	for n := range rounds {
		state, err := owner.State(ctx, "")
		if err != nil {
			t.Fatal(err)
		}
		lease, err := owner.Claim(ctx, "owner", 0, state.Shards[0].Epoch)
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprint("round ", n)
		var group sync.WaitGroup
		var commit, claim error
		there := false
		group.Go(func() {
			commit = owner.Commit(ctx, &store.Batch{Leases: []store.Lease{lease, {Shard: 1, Epoch: state.Shards[1].Epoch}},
				Docs: []store.Doc{{Kind: "race", Name: name, Value: []byte("{}")}}})
		})
		group.Go(func() {
			// The thief claims for the same name, which needs no expiry.
			if _, claim = thief.Claim(ctx, "owner", 0, lease.Epoch); claim != nil {
				return
			}
			docs, err := thief.Docs(ctx, store.DocFilter{Kind: "race"}, rounds)
			if err != nil {
				t.Error(err)
			}
			for _, d := range docs {
				there = there || d.Name == name
			}
		})
		group.Wait()
		switch {
		case claim != nil:
			t.Fatalf("round %d: Claim() = %v", n, claim)
		case commit == nil && !there:
			t.Fatalf("round %d: the owner committed after the thief had its shard", n)
		case commit == nil:
			both++
		case errors.Is(commit, bellman.ErrFenced) && !there:
			fenced++
		default:
			t.Fatalf("round %d: Commit() = %v, and its write is there: %t", n, commit, there)
		}
		won++
	}
	t.Logf("%d rounds: the owner was first in %d, fenced off in %d", won, both, fenced)
}

// TestFrozenOwner claims a shard whose owner has stopped between its fence and its commit. The
// database ends the owner's session after a short time.
func TestFrozenOwner(t *testing.T) { each(t, testFrozenOwner) }

func testFrozenOwner(t *testing.T, kind database) {
	url := kind.empty(t)
	o := mysql.Options{Stopped: time.Second}
	thief, owner := kind.with(t, url, o), kind.with(t, url, o).Driver()
	ctx := context.Background()
	if err := thief.Join(ctx, store.Node{Name: "thief"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	state, err := thief.State(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	tx, err := owner.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	err = tx.Send(ctx,
		&sqlstore.Statement{Name: "fence", Text: `UPDATE bellman_shard SET fence = fence + 1 WHERE shard = 0`},
		&sqlstore.Statement{Name: "write", Insert: &sqlstore.Insert{Into: "bellman_doc", Columns: []sqlstore.Column{
			{Name: "kind", Values: [][]byte{[]byte("frozen")}}, {Name: "name", Values: [][]byte{[]byte("a")}}, {Name: "value", Values: [][]byte{[]byte("{}")}}}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := thief.Claim(ctx, "thief", 0, state.Shards[0].Epoch); err != nil {
		t.Fatalf("Claim() = %v; want the shard freed", err)
	}
	if err := tx.Commit(ctx); err == nil {
		t.Error("the owner committed after its shard was claimed; want an error")
	}
	if docs, err := thief.Docs(ctx, store.DocFilter{Kind: "frozen"}, 10); err != nil || len(docs) != 0 {
		t.Errorf("Docs() = %v, %v; want none", docs, err)
	}
}
