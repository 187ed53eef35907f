package sqlstore_test

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/mysql"
)

// An Altered driver changes the texts of statements, so that the database behaves like another one.
type Altered struct {
	sqlstore.Driver
	Old, New string
}

func (a *Altered) alter(statements []*sqlstore.Statement) {
	for _, s := range statements {
		s.Text = strings.ReplaceAll(s.Text, a.Old, a.New)
	}
}

// Read changes the statements' texts.
func (a *Altered) Read(ctx context.Context, statements ...*sqlstore.Statement) error {
	a.alter(statements)
	return a.Driver.Read(ctx, statements...)
}

// Begin changes the texts of statements in the transaction.
func (a *Altered) Begin(ctx context.Context) (sqlstore.Tx, error) {
	tx, err := a.Driver.Begin(ctx)
	return &alteredTx{tx, a}, err
}

type alteredTx struct {
	sqlstore.Tx
	a *Altered
}

func (t *alteredTx) Send(ctx context.Context, statements ...*sqlstore.Statement) error {
	t.a.alter(statements)
	return t.Tx.Send(ctx, statements...)
}

func (t *alteredTx) Commit(ctx context.Context, statements ...*sqlstore.Statement) error {
	t.a.alter(statements)
	return t.Tx.Commit(ctx, statements...)
}

// TestProbe opens stores on databases that do not keep a store's promises. Each is rejected with a
// message that names the cause.
func TestProbe(t *testing.T) { each(t, testProbe) }

func testProbe(t *testing.T, kind database) {
	d := kind.driver(t)
	ctx := context.Background()
	if _, err := sqlstore.New(ctx, d); err != nil {
		t.Fatalf("New() = %v", err)
	}
	tests := []struct{ name, old, new, want string }{
		{"a clock that is behind", "SELECT {now}", "SELECT {now} - 1500", "clocks"},
		{"a clock that is ahead", "SELECT {now}", "SELECT {now} + 1500", "clocks"},
		{"a fence that lets all pass", "AND epoch = ?", "AND epoch = epoch + 0 * ?", "fence"},
		{"a fence that lets none pass", "AND epoch = ?", "AND epoch = ? + 1", "fence"},
		{"a task that cannot be found again", "SELECT id, version, queue, line FROM bellman_live", "SELECT id, version + 1, queue, line FROM bellman_live", "commit"},
		{"a newer schema", "MAX(version)", "MAX(version) + 1", "newer"},
		{"an older schema", "MAX(version)", "MAX(version) - 1", "migrate"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var err error
			for range 20 { // a machine that stands still during the comparison of clocks does not see the difference
				if _, err = sqlstore.New(ctx, &Altered{d, tt.old, tt.new}); err != nil || tt.want != "clocks" {
					break
				}
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("New() = %v; want an error with %q", err, tt.want)
			}
		})
	}
	// The probe leaves nothing in the database.
	s, err := sqlstore.New(ctx, d)
	if err != nil {
		t.Fatal(err)
	}
	if depths, err := s.Depths(ctx); err != nil || len(depths) != 0 {
		t.Errorf("Depths() = %v, %v; want none", depths, err)
	}
	if audits, err := s.Audits(ctx, time.Time{}, 10); err != nil || len(audits) != 0 {
		t.Errorf("Audits() = %v, %v; want none", audits, err)
	}
}

// TestExamine finds what a start rejects, and clocks that differ by less.
func TestExamine(t *testing.T) { each(t, testExamine) }

func testExamine(t *testing.T, kind database) {
	d := kind.driver(t)
	tests := []struct {
		name, old, new string
		found, what    string
		level          store.Level
	}{
		{"nothing", "", "", "", "", ""},
		{"a clock that is a little ahead", "SELECT {now}", "SELECT {now} + 500", "clock", "apart", store.Warning},
		{"a clock that is far behind", "SELECT {now}", "SELECT {now} - 5000", "clock", "apart", store.Error},
		{"a fence that lets all pass", "AND epoch = ?", "AND epoch = epoch + 0 * ?", "fence", "fence", store.Error},
		{"a commit that fails", "SELECT id, version, queue, line FROM bellman_live", "SELECT id, version + 1, queue, line FROM bellman_live", "writes", "rolled back", store.Error},
		{"an older schema", "MAX(version)", "MAX(version) - 1", "tables", "this bellman needs", store.Error},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var found []store.Finding
			for range 20 { // a machine that stands still during the comparison of clocks does not see the difference
				found = examined(t, &Altered{d, cmp.Or(tt.old, "no such text"), tt.new}, tt.found == "clock")
				if tt.found == "" && len(found) == 0 {
					return
				}
				if len(found) == 1 && found[0].Name == tt.found && found[0].Level == tt.level && strings.Contains(found[0].What, tt.what) && found[0].Do != "" {
					return
				}
				if tt.found != "clock" {
					break
				}
			}
			t.Errorf("Examine() = %+v; want one %s %q with %q and what to do", found, tt.level, tt.found, tt.what)
		})
	}
}

// examined returns what Examine finds, with or without clocks, whose comparison a busy machine may
// delay. If such a machine needs longer than the trial commits have, it examines again.
func examined(t *testing.T, d sqlstore.Driver, clocks bool) (found []store.Finding) {
	t.Helper()
	for range 20 {
		found = slices.DeleteFunc(sqlstore.Examine(t.Context(), d), func(f store.Finding) bool { return f.Name == "clock" && !clocks })
		if !slices.ContainsFunc(found, func(f store.Finding) bool { return strings.Contains(f.What, context.DeadlineExceeded.Error()) }) {
			break
		}
	}
	return found
}

// TestExamineLocked examines a database in which a session holds the row that the trial of the
// fence needs. The finding must not say that the fence does not hold.
func TestExamineLocked(t *testing.T) { each(t, testExamineLocked) }

func testExamineLocked(t *testing.T, kind database) {
	url := kind.empty(t)
	d := kind.with(t, url, mysql.Options{}).Driver()
	tx := kind.callers["sql"](t, url)(t, sql.LevelReadCommitted)
	must(t, tx.Exec("UPDATE bellman_shard SET fence = fence + 1 WHERE shard = 0"))
	found := sqlstore.Examine(t.Context(), d)
	found = slices.DeleteFunc(found, func(f store.Finding) bool { return f.Name == "clock" }) // a busy machine may delay the comparison
	if len(found) != 1 || found[0].Name != "fence" || !strings.Contains(found[0].What, "could not be tried") || !strings.Contains(found[0].Do, "another session holds a lock") {
		t.Errorf("Examine() = %+v; want only that the fence could not be tried, and to look for the lock", found)
	}
}

// TestExamineReadOnly examines a database that accepts no writes. The finding must not blame locks
// or rights.
func TestExamineReadOnly(t *testing.T) { each(t, testExamineReadOnly) }

func testExamineReadOnly(t *testing.T, kind database) {
	d := kind.driver(t)
	demote(t, d, kind.demote)
	found := examined(t, &refusesWrites{Driver: d}, false)
	if len(found) != 1 || found[0].Name != "fence" || strings.Contains(found[0].What, "another session") || !strings.Contains(found[0].Do, "accepts no writes") {
		t.Errorf("Examine() = %+v; want that the database accepts no writes", found)
	}
}

// refusesWrites is a database in which every transaction may only read. The server makes the first
// refusal, which closes the connections. Later transactions get that error again: new connections
// for each of twelve tries would take longer than the trial commits have, on a busy machine.
type refusesWrites struct {
	sqlstore.Driver
	refusal error
}

func (d *refusesWrites) Begin(ctx context.Context) (sqlstore.Tx, error) {
	tx, err := d.Driver.Begin(ctx)
	return &refusesWritesTx{tx, d}, err
}

type refusesWritesTx struct {
	sqlstore.Tx
	d *refusesWrites
}

func (t *refusesWritesTx) Send(ctx context.Context, statements ...*sqlstore.Statement) error {
	if t.d.refusal == nil {
		t.d.refusal = t.Tx.Send(ctx, statements...)
	}
	return t.d.refusal
}

// TestExamineFull examines a database without room. The finding must not blame rights.
func TestExamineFull(t *testing.T) { each(t, testExamineFull) }

func testExamineFull(t *testing.T, kind database) {
	d := &Altered{kind.driver(t), "SELECT id, version, queue, line FROM bellman_live", "SELECT id, version + 1, queue, line FROM bellman_live"}
	found := examined(t, full{d}, false)
	if len(found) != 1 || found[0].Name != "writes" || !strings.Contains(found[0].Do, "make room") {
		t.Errorf("Examine() = %+v; want that the database has no room", found)
	}
}

// full takes errors that are not of the fence for a full disk.
type full struct{ sqlstore.Driver }

func (d full) Kind(err error) sqlstore.Kind {
	if kind := d.Driver.Kind(err); kind != sqlstore.Other || err == nil {
		return kind
	}
	return sqlstore.Full
}
