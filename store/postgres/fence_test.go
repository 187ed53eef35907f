package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// TestHalfAPipeline claims a shard whose owner stopped in the middle of sending. The server has run
// its fence and waits for the rest, and no timeout of its own ends that.
func TestHalfAPipeline(t *testing.T) {
	url := newDatabase(t)
	ctx := context.Background()
	thief := openTest(t, url, Options{Stopped: time.Second})
	if err := thief.Join(ctx, store.Node{Name: "thief"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	half := conn.PgConn().Frontend()
	for _, text := range []string{"BEGIN", "UPDATE bellman_shard SET fence = fence + 1 WHERE shard = 0"} {
		half.SendParse(&pgproto3.Parse{Query: text})
		half.SendBind(&pgproto3.Bind{})
		half.SendExecute(&pgproto3.Execute{})
	}
	if err := half.Flush(); err != nil {
		t.Fatal(err)
	}
	held := false
	for began := time.Now(); !held && time.Since(began) < patient; {
		if err := thief.d.pool.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_locks WHERE relation = 'bellman_shard'::regclass AND mode = 'RowExclusiveLock')`).Scan(&held); err != nil {
			t.Fatal(err)
		}
	}
	if !held {
		t.Fatal("the server did not run the fence of half a pipeline")
	}
	ctx, cancel := context.WithTimeout(ctx, patient)
	defer cancel()
	if _, err := thief.Claim(ctx, "thief", 0, 0); err != nil {
		t.Errorf("Claim() = %v; want the shard freed", err)
	}
}

// TestBusyRows commits often under many leases. Each commit writes the rows of shards and counters,
// and these must stay in place, in few pages.
func TestBusyRows(t *testing.T) {
	const most = 64 // pages of 8 KiB; if rows moved, there would be one more for each commit
	// An automatic ANALYZE keeps old versions while it runs, which is long on a busy machine. One
	// round of several is therefore enough.
	for round := 1; ; round++ {
		pages := busyRows(t)
		t.Logf("pages after 500 commits: %v", pages)
		if pages["bellman_shard"] <= most && pages["bellman_depth"] <= most {
			return
		}
		if round == 5 {
			t.Fatalf("tables have %v pages after 500 commits; want at most %d", pages, most)
		}
	}
}

// busyRows returns the number of pages of the tables after 500 commits in a new database.
func busyRows(t *testing.T) map[string]int64 {
	ctx := context.Background()
	s := openTest(t, newDatabase(t), Options{})
	var leases []store.Lease
	if err := s.Join(ctx, store.Node{Name: "n"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	for shard := range uint16(64) {
		l, err := s.Claim(ctx, "n", shard, 0)
		if err != nil {
			t.Fatal(err)
		}
		leases = append(leases, l)
	}
	for i := range 500 {
		now := time.Now()
		task := &bellman.Task{ID: bellman.NewID(), Queue: "q", Status: bellman.Status{Version: 1, Due: now, VisibleAt: now}}
		if err := s.Commit(ctx, &store.Batch{Leases: leases, Adds: []store.Add{{Task: task}}}); err != nil {
			t.Fatalf("commit %d: %v", i, err)
		}
	}
	pages := map[string]int64{"bellman_shard": 0, "bellman_depth": 0}
	for table := range pages {
		var n int64
		if err := s.d.pool.QueryRow(ctx, "SELECT pg_relation_size($1::text::regclass) / 8192", table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		pages[table] = n
	}
	return pages
}
