package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
)

func TestRaces(t *testing.T) {
	url := newDatabase(t)
	sqltest.Races(t, openTest(t, url, Options{}), openTest(t, url, Options{}), 200)
}

func TestFrozenOwner(t *testing.T) {
	url := newDatabase(t)
	o := Options{Stopped: time.Second}
	thief := openTest(t, url, o)
	owner, err := connect(context.Background(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close()
	sqltest.Frozen(t, owner, thief, o.Stopped)
}

// TestHalfAPipeline takes a shard whose owner has stopped while it sent: the
// server has its fence and waits for the rest, and no timeout of its own ends that.
func TestHalfAPipeline(t *testing.T) {
	url := newDatabase(t)
	ctx := context.Background()
	thief := openTest(t, url, Options{Stopped: time.Second})
	if err := thief.Join(ctx, bellman.Node{Name: "thief"}, time.Hour); err != nil {
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
	for began := time.Now(); !held && time.Since(began) < 10*time.Second; {
		if err := thief.d.pool.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_locks WHERE relation = 'bellman_shard'::regclass AND mode = 'RowExclusiveLock')`).Scan(&held); err != nil {
			t.Fatal(err)
		}
	}
	if !held {
		t.Fatal("the server did not run half a pipeline")
	}
	began := time.Now()
	if _, err := thief.Claim(ctx, "thief", 0, 0); err != nil {
		t.Errorf("Claim() = %v", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the shard was free after %v, want one second or two", took)
	}
}

func TestStorm(t *testing.T) { sqltest.Storm(t, connectTest(t, newDatabase(t)), 8, 40) }

// TestBusyRows commits often under many leases: the rows of shards and counters
// are written at each commit, and must stay where they are, in few pages.
func TestBusyRows(t *testing.T) {
	ctx := context.Background()
	s := openTest(t, newDatabase(t), Options{})
	var leases []bellman.Lease
	if err := s.Join(ctx, bellman.Node{Name: "n"}, time.Hour); err != nil {
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
		task := &bellman.Task{ID: bellman.NewID(), Queue: "q", Status: bellman.Status{Version: 1, Due: now, Look: now}}
		if err := s.Commit(ctx, &bellman.Batch{Leases: leases, Adds: []bellman.Add{{Task: task}}}); err != nil {
			t.Fatalf("commit %d: %v", i, err)
		}
	}
	for table, most := range map[string]int64{"bellman_shard": 64, "bellman_depth": 64} { // of 8 KiB; one for each commit if rows moved
		var pages int64
		if err := s.d.pool.QueryRow(ctx, "SELECT pg_relation_size($1::text::regclass) / 8192", table).Scan(&pages); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s has %d pages after 500 commits", table, pages)
		if pages > most {
			t.Errorf("%s has %d pages after 500 commits, want %d at most", table, pages, most)
		}
	}
}
