package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
)

// TestPruneBesideLongTransaction deletes old tasks while another session has a transaction open.
// The server then keeps the index entries of deleted tasks, and a search from the beginning passes
// all of them. Once that is slow, a search begins where the previous one ended.
func TestPruneBesideLongTransaction(t *testing.T) {
	ctx := context.Background()
	url := newDatabase(t)
	d := connectTest(t, url)
	r := sqltest.Record(d)
	s, err := sqlstore.New(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	sqltest.Finish(t, s, 2000)
	idle, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close(ctx)
	if _, err := idle.Exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.pool.Exec(ctx, `INSERT INTO bellman_ended SELECT state, ('00000000-0000-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid,
		i, reason, shard, version, line, attempts, queue, rest, attempt FROM generate_series(1, $1) i, (SELECT * FROM bellman_ended LIMIT 1) e`, *endedTasks*20); err != nil {
		t.Fatal(err)
	}
	if _, err := d.pool.Exec(ctx, `DELETE FROM bellman_ended WHERE finished < 1000000000`); err != nil {
		t.Fatal(err)
	}
	// search deletes tasks, and measures the search for them.
	search := func() (pages int64, plan string) {
		if n, err := s.Prune(ctx, bellman.Succeeded, time.Now().Add(time.Hour), 200); n != 200 || err != nil {
			t.Fatalf("Prune() = %d, %v; want 200", n, err)
		}
		for _, statement := range r.Statements() {
			if statement.Name == "find tasks" {
				return touched(t, d, statement)
			}
		}
		t.Fatal("no search was recorded")
		return 0, ""
	}
	first, _ := search()
	next, plan := search()
	t.Logf("%d pages for the first 200 tasks, %d for the next", first, next)
	if most := first / 4; next > most {
		t.Errorf("the second search reads %d pages; want at most %d, a quarter of the first:\n%s", next, most, plan)
	}
}
