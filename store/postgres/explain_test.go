package postgres

import (
	"context"
	"flag"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bellmanhq/bellman/internal/bench/scratch/scratchtest"
	"github.com/bellmanhq/bellman/internal/eventually"
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

// small lists the tables with few rows, which may be read as a whole.
var small = regexp.MustCompile(`(Seq Scan|Sort).*bellman_(shard|node|depth|count|schema)`)

// coming are the indexes of tables whose rows come and go.
var coming = regexp.MustCompile(`bellman_(task|live|ended|order)`)

// TestPlans checks the plan of each statement without statistics, with those of its tables, and
// with those of tables of a million rows. None reads a large table from end to end, and only
// statements on small tables sort.
func TestPlans(t *testing.T) {
	ctx := context.Background()
	made := scratchtest.New(t, "postgres")
	d := connectTest(t, made.URL)
	r := sqltest.Record(d)
	s := sqltest.Big(t, r, *rows, func(due time.Time) error { return made.Fill(ctx, *rows, due, 24*time.Hour) })
	sqltest.Everything(t, s)
	if n := len(r.Statements()); n < 40 {
		t.Errorf("%d statements were recorded; want at least 40", n)
	}
	tidied(t, d)
	for _, statement := range r.Statements() {
		if statement.Insert != nil && statement.Insert.Then == sqlstore.Fail {
			continue // its rows exist already
		}
		most := 200 + 40*sqltest.Asked(statement)
		if pages, plan := touched(t, d, statement); pages > most {
			t.Errorf("%s reads %d pages; want at most %d:\n%s", statement.Name, pages, most, plan)
		}
	}
	leading := leadingColumns(t, d)
	for _, statistics := range []string{"none", "as they are", "of a million", "of empty tables"} {
		switch statistics {
		case "none":
			_, err := d.pool.Exec(ctx, "DELETE FROM pg_statistic WHERE starelid::regclass::text LIKE 'bellman_%'")
			if err != nil {
				t.Logf("cannot delete the statistics: %v", err) // only a superuser may delete them
			}
		case "as they are":
			if _, err := d.pool.Exec(ctx, "ANALYZE"); err != nil {
				t.Fatal(err)
			}
		case "of a million":
			_, err := d.pool.Exec(ctx, "UPDATE pg_class SET reltuples = reltuples * $1 WHERE relname LIKE 'bellman_%' AND reltuples > 100", max(1e6/float64(*rows), 1))
			if err != nil {
				t.Logf("cannot change the statistics: %v", err)
			}
		case "of empty tables": // as a vacuum finds them while a long transaction keeps all rows that have come and gone
			if _, err := d.pool.Exec(ctx, "UPDATE pg_class SET reltuples = 0 WHERE relname LIKE 'bellman_%'"); err != nil {
				t.Logf("cannot change the statistics: %v", err)
			}
		}
		for _, statement := range r.Statements() {
			plan := explain(t, d, statement)
			for line := range strings.Lines(plan) {
				if strings.Contains(line, "Seq Scan") && !small.MatchString(line) || strings.Contains(line, "Bitmap") {
					t.Errorf("%s (statistics: %s) does not use its index:\n%s", statement.Name, statistics, plan)
				}
			}
			for _, scan := range regexp.MustCompile(`Index (?:Only )?Scan(?: Backward)? using (\w+) on.*\n\s*(.*)`).FindAllStringSubmatch(plan, -1) {
				if index, first := scan[1], strings.TrimPrefix(strings.TrimLeft(strings.TrimPrefix(scan[2], "Index Cond: "), "("), "ROW("); coming.MatchString(index) && !strings.HasPrefix(first, leading[index]) ||
					index == "bellman_ended_finished" && !strings.Contains(first, "finished") {
					t.Errorf("%s (statistics: %s) reads the whole of %s:\n%s", statement.Name, statistics, index, plan)
				}
			}
			switch statement.Name {
			case "read due tasks", "list tasks", "find tasks", "read attempts", "read documents", "read audit records":
				if strings.Contains(plan, "Sort  (cost") {
					t.Errorf("%s (statistics: %s) sorts:\n%s", statement.Name, statistics, plan)
				}
			}
			if strings.HasSuffix(statement.Name, "due tasks") && !strings.Contains(plan, "Index Only Scan using bellman_live_due") {
				t.Errorf("%s (statistics: %s) reads more than the index:\n%s", statement.Name, statistics, plan)
			}
			for line := range strings.Lines(plan) {
				if strings.Contains(line, "(ordering_key = ") && !strings.Contains(line, "supersedes") {
					t.Errorf("%s (statistics: %s) reads a whole chain:\n%s", statement.Name, statistics, plan)
				}
			}
			if (statement.Name == "list tasks" || strings.HasSuffix(statement.Name, "due tasks")) && strings.Contains(plan, "Filter") {
				t.Errorf("%s (statistics: %s) reads rows that it does not return:\n%s", statement.Name, statistics, plan)
			}
		}
	}
}

// leadingColumns returns the first column of each index.
func leadingColumns(t *testing.T, d *database) map[string]string {
	t.Helper()
	found, err := d.pool.Query(context.Background(), `SELECT i.indexrelid::regclass::text, a.attname::text FROM pg_index i
		JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] WHERE i.indrelid::regclass::text LIKE 'bellman_%'`)
	if err != nil {
		t.Fatal(err)
	}
	leading := map[string]string{}
	var index, column string
	if _, err := pgx.ForEachRow(found, []any{&index, &column}, func() error {
		leading[index] = column
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return leading
}

// tidied removes dead versions of the few rows that change all the time. After a large table was
// filled, the server analyzes it for a while and keeps all versions of all rows meanwhile. An index
// leads to each of them.
func tidied(t *testing.T, d *database) {
	t.Helper()
	ctx := context.Background()
	eventually.True(t, "autovacuum has ended", func() (ended bool) {
		if err := d.pool.QueryRow(ctx, "SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'autovacuum worker'").Scan(&ended); err != nil {
			t.Fatal(err)
		}
		return ended
	})
	if _, err := d.pool.Exec(ctx, "VACUUM bellman_shard, bellman_node, bellman_depth"); err != nil {
		t.Fatal(err)
	}
}

// touched returns how many pages a statement reads, as the server counts them, and its plan. Its
// writes are rolled back.
func touched(t *testing.T, d *database, s *sqlstore.Statement) (pages int64, plan string) {
	t.Helper()
	ctx := context.Background()
	text, args := renderCaller(s)
	tx, err := d.pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(ctx)
	found, err := tx.Query(ctx, "EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) "+text, args...)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(found, pgx.RowTo[string])
	if kind := d.Kind(err); kind == sqlstore.Overflow || kind == sqlstore.Duplicate {
		return 0, "" // a lease that only the probe tries, or an existing node
	}
	if err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	plan = strings.Join(lines, "\n")
	first := regexp.MustCompile(`Buffers:.*`).FindString(plan) // of the whole plan
	for _, n := range regexp.MustCompile(`(?:hit|read)=(\d+)`).FindAllStringSubmatch(first, -1) {
		count, err := strconv.ParseInt(n[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		pages += count
	}
	return pages, plan
}

// explain returns the plan of a statement as the store's sessions cache it: a generic plan, made
// without looking at the arguments.
func explain(t *testing.T, d *database, s *sqlstore.Statement) string {
	t.Helper()
	ctx := context.Background()
	text, args := renderCaller(s)
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
