package mysql

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
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
			Add: func(ctx context.Context, adds ...bellman.Add) ([]bellman.Added, error) {
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
	delays := c.Fired(t, 20, true)
	t.Logf("told: attempted after %v to %v, half of them within %v", delays[0], delays[19], delays[10])
	if delays[10] > 200*time.Millisecond || delays[19] > 1500*time.Millisecond {
		t.Errorf("attempted %v to %v after the commit, want within 20ms if all is quiet", delays[0], delays[19])
	}
	delays = c.Fired(t, 4, false)
	t.Logf("not told: attempted after %v to %v", delays[0], delays[3])
	if delays[3] > 1500*time.Millisecond {
		t.Errorf("a task was attempted %v after its commit, want a second", delays[3])
	}
}
