package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// TestExistingTaskWaitsForStandby adds a task that exists already. The transaction that finds it
// must write something, because only then does its COMMIT wait for a standby that may not have the
// task yet.
func TestExistingTaskWaitsForStandby(t *testing.T) {
	ctx := context.Background()
	url := newDatabase(t)
	s := openTest(t, url, Options{})
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	newest := func() (xid int64) {
		t.Helper()
		if err := conn.QueryRow(ctx, "SELECT coalesce(max(xmin::text::bigint), 0) FROM bellman_depth").Scan(&xid); err != nil {
			t.Fatal(err)
		}
		return xid
	}
	now := time.Now().Truncate(time.Millisecond)
	add := func() *store.Add {
		t.Helper()
		task := &bellman.Task{ID: bellman.NewID(), Queue: "q", Key: "k", Status: bellman.Status{Due: now, VisibleAt: now, Updated: now, Version: 1}}
		b := &store.Batch{Adds: []store.Add{{Task: task, Digest: bellman.Digest{1}}}}
		if err := s.Commit(ctx, b); err != nil || b.Adds[0].Err != nil {
			t.Fatalf("Commit() = %v, %v", err, b.Adds[0].Err)
		}
		return &b.Adds[0]
	}
	first := add()
	before := newest()
	if again := add(); again.Existing != first.Task.ID {
		t.Errorf("add with the same key: Existing = %v; want %v", again.Existing, first.Task.ID)
	}
	if after := newest(); after <= before {
		t.Errorf("the newest transaction id is still %d; want a new one, because otherwise the answer waits for no standby", after)
	}
	depths, err := s.Depths(ctx)
	if err != nil || len(depths) != 1 || depths[0].Pending != 1 {
		t.Errorf("Depths() = %+v, %v; want one task pending", depths, err)
	}
}
