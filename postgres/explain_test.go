package postgres

import (
	"context"
	"flag"
	"regexp"
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

// small are tables of some rows, which may be read as a whole.
var small = regexp.MustCompile(`(Seq Scan|Sort).*bellman_(shard|node|depth|count|schema)`)

// TestPlans looks at the plan of each statement, without statistics and with:
// none reads a table from end to end, and none but those few sorts.
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
	ctx := context.Background()
	for _, statistics := range []bool{false, true} {
		if statistics {
			if _, err := d.pool.Exec(ctx, "ANALYZE"); err != nil {
				t.Fatal(err)
			}
		}
		for _, statement := range r.Statements() {
			plan := explain(t, d, statement)
			for line := range strings.Lines(plan) {
				if strings.Contains(line, "Seq Scan") && !small.MatchString(line) || strings.Contains(line, "Bitmap") {
					t.Errorf("%s (statistics: %t) does not go by its index:\n%s", statement.Name, statistics, plan)
				}
			}
			switch statement.Name {
			case "read due tasks", "list tasks", "find tasks", "read attempts", "read documents", "read audit records":
				if strings.Contains(plan, "Sort") {
					t.Errorf("%s (statistics: %t) sorts:\n%s", statement.Name, statistics, plan)
				}
			}
			if statement.Name == "list tasks" && strings.Contains(plan, "Filter") {
				t.Errorf("%s (statistics: %t) looks at more rows than those it wants:\n%s", statement.Name, statistics, plan)
			}
		}
	}
}

// explain is the plan of a statement as the store's sessions keep it: made
// without looking at arguments.
func explain(t *testing.T, d *database, s *sqlstore.Statement) string {
	t.Helper()
	ctx := context.Background()
	text, args := render(s)
	if s.Want != 0 {
		text, args = guarded(text, len(args)), append(args, s.Want)
	}
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	nulls := ""
	if len(args) > 0 {
		nulls = "(NULL" + strings.Repeat(", NULL", len(args)-1) + ")"
	}
	results, err := conn.Conn().PgConn().Exec(ctx, "PREPARE looked AS "+text+"; EXPLAIN EXECUTE looked"+nulls+"; DEALLOCATE looked").ReadAll()
	if err != nil {
		t.Fatalf("%s: %v\n%s", s.Name, err, text)
	}
	var plan strings.Builder
	for _, result := range results {
		for _, line := range result.Rows {
			plan.Write(append(line[0], '\n'))
		}
	}
	return plan.String()
}
