package mysql

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
)

var rows = flag.Int("rows", 20_000, "tasks in the tables whose plans are looked at")

// connectTest opens a database with its tables.
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

// TestPlans looks at the plan of each statement, without statistics and with:
// none reads a large table from end to end, and those in an order read it from
// an index.
func TestPlans(t *testing.T) {
	d := connectTest(t, newDatabase(t))
	r := sqltest.Record(d)
	s, err := sqlstore.New(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	sqltest.Fill(t, s, *rows)
	sqltest.Finish(t, s, *rows/4)
	sqltest.Everything(t, s)
	for _, statistics := range []bool{false, true} {
		if statistics {
			if _, err := d.db.Exec("ANALYZE TABLE bellman_task, bellman_live, bellman_ended, bellman_attempt"); err != nil {
				t.Fatal(err)
			}
		}
		for _, statement := range r.Statements() {
			if statement.Insert != nil {
				continue
			}
			for _, step := range explain(t, d, statement) {
				large := slices.Contains([]string{"bellman_task", "t", "bellman_live", "l", "bellman_ended", "bellman_attempt", "bellman_audit"}, step.table)
				if large && (step.kind == "ALL" || step.kind == "index" && !strings.Contains(statement.Text, "ORDER BY")) {
					t.Errorf("%s (statistics: %t) does not go by its index: %+v\n%s", statement.Name, statistics, step, statement.Text)
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

// A step is a line of EXPLAIN.
type step struct{ table, kind, key, extra string }

func explain(t *testing.T, d *database, s *sqlstore.Statement) (steps []step) {
	t.Helper()
	text, args := render(s)
	found, err := d.db.Query("EXPLAIN "+text, args...)
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
