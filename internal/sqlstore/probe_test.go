package sqlstore_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/sqlstore"
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
			_, err := sqlstore.New(ctx, &Altered{d, tt.old, tt.new})
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
