package mysql

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/bench/scratch/scratchtest"
	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
)

var rows = flag.Int("rows", 20_000, "number of tasks in the tables whose plans are checked")

// connectTest opens a database with the tables.
func connectTest(t testing.TB, url string) *database {
	t.Helper()
	ctx := context.Background()
	d, err := connect(ctx, url, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	if err := sqlstore.Migrate(ctx, d, 64); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestPlans checks the plan of each statement, with and without statistics. None reads a large
// table from end to end, and those that need an order read it from an index.
func TestPlans(t *testing.T) {
	ctx := context.Background()
	made := scratchtest.New(t, "mysql")
	d := connectTest(t, made.URL)
	r := sqltest.Record(d)
	s := sqltest.Big(t, r, *rows, func(due time.Time) error { return made.Fill(ctx, *rows, due, 24*time.Hour) })
	sqltest.Everything(t, s)
	if n := len(r.Statements()); n < 40 {
		t.Errorf("%d statements were recorded; want at least 40", n)
	}
	for _, statement := range r.Statements() {
		if statement.Insert != nil && statement.Insert.Then == sqlstore.Fail {
			continue // its rows exist already
		}
		most := 1000 + 4*sqltest.Asked(statement) // the constant is for rows of shards and counters
		if read := touched(t, d, statement); read > most {
			t.Errorf("%s reads %d rows; want at most %d:\n%s", statement.Name, read, most, statement.Text)
		}
	}
	for _, statistics := range []bool{false, true} {
		if statistics {
			if _, err := d.db().Exec("ANALYZE TABLE bellman_task, bellman_live, bellman_ended, bellman_attempt, bellman_alias"); err != nil {
				t.Fatal(err)
			}
		}
		for _, statement := range r.Statements() {
			if statement.Insert != nil {
				continue
			}
			for _, step := range explain(t, d, statement) {
				large := slices.Contains([]string{"bellman_task", "t", "bellman_live", "l", "bellman_ended", "bellman_attempt", "bellman_audit", "bellman_alias"}, step.table)
				if large && (step.kind == "ALL" || step.kind == "index" && !strings.Contains(statement.Text, "ORDER BY")) {
					t.Errorf("%s (statistics: %t) does not use its index: %+v\n%s", statement.Name, statistics, step, statement.Text)
				}
				switch statement.Name {
				case "read due tasks", "list tasks", "find tasks", "read attempts", "read documents", "read audit records":
					if strings.Contains(step.extra, "filesort") || step.kind == "ALL" && step.table[0] != '<' {
						t.Errorf("%s (statistics: %t) sorts: %+v\n%s", statement.Name, statistics, step, statement.Text)
					}
				}
				if statement.Name == "read due tasks" && step.table == "bellman_live" && !strings.Contains(step.extra, "Using index") {
					t.Errorf("%s (statistics: %t) reads more than the index: %+v", statement.Name, statistics, step)
				}
			}
		}
	}
}

// touched returns how many rows a statement reads, as the server counts them. Its writes are rolled
// back.
func touched(t *testing.T, d *database, s *sqlstore.Statement) (rows int64) {
	t.Helper()
	ctx := context.Background()
	conn, err := d.db().Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	exec := func(text string) {
		t.Helper()
		if _, err := conn.ExecContext(ctx, text); err != nil {
			t.Fatal(err)
		}
	}
	exec("START TRANSACTION")
	defer exec("ROLLBACK")
	exec("FLUSH STATUS")
	again := *s
	if s.Each != nil {
		again.Each = func(sqlstore.Row) error { return nil }
	}
	err = d.run(ctx, conn, &again)
	if kind := d.Kind(err); kind == sqlstore.Overflow || kind == sqlstore.Duplicate {
		return 0 // a lease that only the probe tries, or an existing node
	}
	if err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	found, err := conn.QueryContext(ctx, "SHOW SESSION STATUS LIKE 'Handler_read%'")
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	for found.Next() {
		var name string
		var n int64
		if err := found.Scan(&name, &n); err != nil {
			t.Fatal(err)
		}
		rows += n
	}
	return rows
}

// A step is one row of EXPLAIN.
type step struct{ table, kind, key, extra string }

func explain(t *testing.T, d *database, s *sqlstore.Statement) (steps []step) {
	t.Helper()
	text, args := render(s)
	found, err := d.db().Query("EXPLAIN "+text, args...)
	if err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	defer found.Close()
	names, err := found.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for found.Next() {
		values := make([]sql.NullString, len(names))
		dest := make([]any, len(names))
		for i := range values {
			dest[i] = &values[i]
		}
		if err := found.Scan(dest...); err != nil {
			t.Fatal(err)
		}
		field := func(name string) string { return values[slices.Index(names, name)].String }
		steps = append(steps, step{field("table"), field("type"), field("key"), field("Extra")})
	}
	if len(steps) == 0 {
		t.Fatal(fmt.Errorf("%s has no plan: %w", s.Name, found.Err()))
	}
	return steps
}
