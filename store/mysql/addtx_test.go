package mysql

import (
	"context"
	"database/sql"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
	"github.com/bellmanhq/bellman/store"
)

// TestAddTx uses a pool that is set up as nobody told it to be for bellman.
func TestAddTx(t *testing.T) {
	url := newDatabase(t)
	ctx := context.Background()
	d := connectTest(t, url)
	s, err := sqlstore.New(ctx, d)
	if err != nil {
		t.Fatal(err)
	}
	db := raw(t, url)
	sqltest.CallerTest{Store: s, Driver: d, Begin: begin(db)}.Run(t)
}

func begin(db *sql.DB) func(*testing.T, sql.IsolationLevel) sqltest.Caller {
	return func(t *testing.T, level sql.IsolationLevel) sqltest.Caller {
		ctx := context.Background()
		tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { tx.Rollback() })
		return sqltest.Caller{
			Add: func(ctx context.Context, adds ...store.Add) ([]bellman.Added, error) {
				return AddTx(ctx, tx, adds...)
			},
			Exec:     func(text string) error { _, err := tx.ExecContext(ctx, text); return err },
			Commit:   tx.Commit,
			Rollback: tx.Rollback,
		}
	}
}

// TestFired adds tasks beside an engine that is told of them; and beside one that
// is not, which looks for itself every second.
func TestFired(t *testing.T) {
	url := newDatabase(t)
	c := sqltest.CallerTest{Store: openTest(t, url, Options{}), Begin: begin(raw(t, url))}
	c.FiredSooner(t)
}
