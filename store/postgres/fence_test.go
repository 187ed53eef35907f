package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/eventually"
	"github.com/bellmanhq/bellman/internal/sqlstore"
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
	for _, text := range []string{"BEGIN", "SELECT shard FROM bellman_shard WHERE shard = 0 FOR NO KEY UPDATE"} {
		half.SendParse(&pgproto3.Parse{Query: text})
		half.SendBind(&pgproto3.Bind{})
		half.SendExecute(&pgproto3.Execute{})
	}
	if err := half.Flush(); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "the server has run the fence of half a pipeline", func() (held bool) {
		if err := thief.d.pool.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_locks WHERE relation = 'bellman_shard'::regclass AND mode = 'RowShareLock')`).Scan(&held); err != nil {
			t.Fatal(err)
		}
		return held
	})
	ctx, cancel := context.WithTimeout(ctx, patient)
	defer cancel()
	if _, err := thief.Claim(ctx, "thief", 0, 0); err != nil {
		t.Errorf("Claim() = %v; want the shard freed", err)
	}
}

// TestFenceWaits lets a commit and a claim of its shard meet in each order. Whoever is second
// waits, and then sees what the first did.
func TestFenceWaits(t *testing.T) {
	ctx := context.Background()
	url := newDatabase(t)
	s := openTest(t, url, Options{Stopped: patient})
	if !s.d.LockFences() {
		t.Fatal("PostgreSQL's fence is no lock")
	}
	other, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(ctx)
	if err := s.Join(ctx, store.Node{Name: "n"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	const claim, release = `UPDATE bellman_shard SET owner = 'thief', epoch = epoch + 1 WHERE shard = 0`, `UPDATE bellman_shard SET owner = '\x006e' WHERE shard = 0`
	tests := []struct {
		name   string
		before []string // what the other transaction does before the fence
		end    func(pgx.Tx, context.Context) error
		want   error
	}{
		{"a claim that commits", []string{claim}, pgx.Tx.Commit, bellman.ErrFenced},
		{"a release and a claim that commit", []string{release, claim}, pgx.Tx.Commit, bellman.ErrFenced},
		{"a claim that is rolled back", []string{claim}, pgx.Tx.Rollback, nil},
		{"a release that commits", []string{release}, pgx.Tx.Commit, nil},
	}
	for _, long := range []bool{false, true} { // the fence travels before COMMIT, or with it
		for _, tt := range tests {
			t.Run(fmt.Sprintf("%s/long=%t", tt.name, long), func(t *testing.T) {
				if _, err := other.Exec(ctx, "UPDATE bellman_shard SET owner = ''"); err != nil {
					t.Fatal(err)
				}
				b := newTask()
				b.Leases = claimShards(t, s, "n", 2)
				if long {
					b.Docs = []store.Doc{{Kind: "k", Name: tt.name, Value: []byte("{}"), Was: []byte{}}}
				}
				tx, err := other.Begin(ctx)
				if err != nil {
					t.Fatal(err)
				}
				defer tx.Rollback(ctx)
				for _, text := range tt.before {
					if _, err := tx.Exec(ctx, text); err != nil {
						t.Fatal(err)
					}
				}
				committed := make(chan error, 1)
				go func() { committed <- s.Commit(ctx, b) }()
				waitForLocked(t, url)
				if err := tt.end(tx, ctx); err != nil {
					t.Fatal(err)
				}
				if err := <-committed; !errors.Is(err, tt.want) {
					t.Errorf("Commit() = %v, want %v", err, tt.want)
				}
				if _, err := s.Task(ctx, b.Adds[0].Task.ID); (err == nil) != (tt.want == nil) {
					t.Errorf("Task() = %v, and Commit() should be %v", err, tt.want)
				}
			})
		}
	}
	t.Run("a claim waits for a commit", func(t *testing.T) {
		if _, err := other.Exec(ctx, "UPDATE bellman_shard SET owner = ''"); err != nil {
			t.Fatal(err)
		}
		leases := claimShards(t, s, "n", 2)
		tx, err := s.d.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		// The statement of a commit's fence, held open.
		if err := tx.Send(ctx, &sqlstore.Statement{Name: "fence", Text: `SELECT shard FROM bellman_shard WHERE shard IN (??) ORDER BY shard FOR NO KEY UPDATE`, Args: []any{[]int64{0, 1}}, Want: 2}); err != nil {
			t.Fatal(err)
		}
		claimed := make(chan error, 1)
		go func() {
			_, err := s.Claim(ctx, "n", 0, leases[0].Epoch)
			claimed <- err
		}()
		waitForLocked(t, url)
		select {
		case err := <-claimed:
			t.Errorf("Claim() = %v while a commit holds the shard", err)
		default:
		}
		if err := tx.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		if err := <-claimed; err != nil {
			t.Errorf("Claim() = %v after the commit", err)
		}
	})
}

// claimShards claims the first n shards for a node.
func claimShards(t *testing.T, s *Store, node string, n int) (leases []store.Lease) {
	t.Helper()
	state, err := s.State(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, shard := range state.Shards[:n] {
		l, err := s.Claim(t.Context(), node, shard.Shard, shard.Epoch)
		if err != nil {
			t.Fatal(err)
		}
		leases = append(leases, l)
	}
	return leases
}

// newTask returns a batch of one task.
func newTask() *store.Batch {
	now := time.Now()
	return &store.Batch{Adds: []store.Add{{Task: &bellman.Task{ID: bellman.NewID(), Queue: "q", Status: bellman.Status{Version: 1, Due: now, VisibleAt: now}}}}}
}

// waitForLocked waits until a session of the database waits for a lock.
func waitForLocked(t *testing.T, url string) {
	t.Helper()
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	eventually.True(t, "a session waits for a lock", func() (waits bool) {
		if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')`).Scan(&waits); err != nil {
			t.Fatal(err)
		}
		return waits
	})
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
	if err := s.Join(ctx, store.Node{Name: "n"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	leases := claimShards(t, s, "n", 64)
	for i := range 500 {
		b := newTask()
		b.Leases = leases
		if err := s.Commit(ctx, b); err != nil {
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
