package postgres

import (
	"context"
	"flag"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
	"github.com/bellmanhq/bellman/store"
)

var endedTasks = flag.Int("ended", 10_000, "tasks that end while a transaction is open")

// TestLongTransaction ends many tasks while another session has a transaction open, as pg_dump and
// a forgotten BEGIN have. The server then keeps all old versions of rows. The statements that run
// at each commit, or each second, must not pass more and more of them.
func TestLongTransaction(t *testing.T) {
	ctx := context.Background()
	url := newDatabase(t)
	d := connectTest(t, url)
	r := sqltest.Record(d)
	s, err := sqlstore.New(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	leases := sqltest.LeaseAll(t, s)
	// end adds and ends n tasks, the way an engine does.
	end := func(from, n int) {
		const at = 50
		for i := from; i < from+n; i += at {
			now := time.Now()
			b := sqltest.Adds(i, at, now)
			for j := range b.Adds {
				b.Adds[j].Task.Shard = uint16((i + j) % len(leases))
			}
			if err := s.Commit(ctx, b); err != nil {
				t.Fatal(err)
			}
			if err := s.Commit(ctx, &store.Batch{Leases: leases, Changes: sqltest.Succeed(b, now)}); err != nil {
				t.Fatal(err)
			}
			if err := s.Beat(ctx, leases[0].Mark); err != nil {
				t.Fatal(err)
			}
		}
	}
	// pages measures the statements that were sent, each in its latest form.
	pages := func() map[string]int64 {
		most := map[string]int64{}
		for _, statement := range r.Statements() {
			n, _ := touched(t, d, statement)
			most[statement.Name] = max(most[statement.Name], n)
		}
		return most
	}

	idle, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close(ctx)
	if _, err := idle.Exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1"); err != nil {
		t.Fatal(err)
	}
	// Counts of callers' transactions that were folded long ago.
	if _, err := d.pool.Exec(ctx, `INSERT INTO bellman_count (id, queue, state, tasks)
		SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid, 'q', 0, 0 FROM generate_series(1, 20000) i`); err != nil {
		t.Fatal(err)
	}
	if _, err := d.pool.Exec(ctx, `DELETE FROM bellman_count`); err != nil {
		t.Fatal(err)
	}
	end(0, 50) // one commit of ends: a second later another one would read the counts of the last minute alone
	before := pages()
	began := time.Now()
	for n := 0; n < *endedTasks || time.Since(began) < 2*time.Second; n += 1000 { // in two seconds counts are folded
		end(100+n, 1000)
	}
	if _, err := s.State(ctx, "pause"); err != nil {
		t.Fatal(err)
	}
	after := pages()
	for name, most := range map[string]int64{"fence": 0, "count tasks": 64, "read counts": -300, "read state": 64, "beat": 64, "delete statuses": 128, "insert statuses": 256} {
		t.Logf("%s: %d pages at first, then %d", name, before[name], after[name])
		if after[name] > before[name]+most {
			t.Errorf("%s reads %d pages after many tasks ended, and %d at first; want at most %d more", name, after[name], before[name], most)
		}
	}
}
