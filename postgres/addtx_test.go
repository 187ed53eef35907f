package postgres

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
)

// levels are pgx's names of isolations.
var levels = map[sql.IsolationLevel]pgx.TxIsoLevel{sql.LevelReadCommitted: pgx.ReadCommitted, sql.LevelRepeatableRead: pgx.RepeatableRead, sql.LevelSerializable: pgx.Serializable}

func TestAddTx(t *testing.T) {
	url := newDatabase(t)
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	testAddTx(t, url, begin(ctx, pool))
}

func begin(ctx context.Context, pool *pgxpool.Pool) func(*testing.T, sql.IsolationLevel) sqltest.Caller {
	return func(t *testing.T, level sql.IsolationLevel) sqltest.Caller {
		tx, err := pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: levels[level]})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { tx.Rollback(ctx) })
		return sqltest.Caller{
			Add: func(ctx context.Context, adds ...bellman.Add) ([]bellman.Added, error) {
				return AddTx(ctx, tx, adds...)
			},
			Exec:     func(text string) error { _, err := tx.Exec(ctx, text); return err },
			Commit:   func() error { return tx.Commit(ctx) },
			Rollback: func() error { return tx.Rollback(ctx) },
		}
	}
}

func TestAddSQLTx(t *testing.T) {
	url := newDatabase(t)
	ctx := context.Background()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	testAddTx(t, url, func(t *testing.T, level sql.IsolationLevel) sqltest.Caller {
		tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { tx.Rollback() })
		return sqltest.Caller{
			Add: func(ctx context.Context, adds ...bellman.Add) ([]bellman.Added, error) {
				return AddSQLTx(ctx, tx, adds...)
			},
			Exec:     func(text string) error { _, err := tx.ExecContext(ctx, text); return err },
			Commit:   tx.Commit,
			Rollback: tx.Rollback,
		}
	})
}

func testAddTx(t *testing.T, url string, begin func(t *testing.T, level sql.IsolationLevel) sqltest.Caller) {
	s := openTest(t, url, Options{})
	sqltest.CallerTest{Store: s, Driver: s.d, Begin: begin, Serializes: func(err error) bool {
		var server *pgconn.PgError
		return errors.As(err, &server) && server.Code == "40001"
	}}.Run(t)
}

// TestFired adds tasks beside an engine, which the database notifies; and beside
// one that it does not, which looks for itself every second.
func TestFired(t *testing.T) {
	url := newDatabase(t)
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	s := openTest(t, url, Options{})
	delays := sqltest.CallerTest{Store: s, Begin: begin(ctx, pool)}.Fired(t, 20, false)
	t.Logf("notified: attempted after %v to %v, half of them within %v", delays[0], delays[19], delays[10])
	if delays[10] > 500*time.Millisecond || delays[19] > 1500*time.Millisecond {
		t.Errorf("attempted %v to %v after the commit, want within 20ms if all is quiet", delays[0], delays[19])
	}
	quiet := struct{ bellman.Store }{s} // no Hints
	delays = sqltest.CallerTest{Store: quiet, Begin: begin(ctx, pool)}.Fired(t, 4, false)
	t.Logf("not notified: attempted after %v to %v", delays[0], delays[3])
	if delays[3] > 1500*time.Millisecond {
		t.Errorf("a task was attempted %v after its commit, want a second", delays[3])
	}
}

// TestHints listens for what transactions tell, also after the connection was cut.
func TestHints(t *testing.T) {
	url := newDatabase(t)
	s := openTest(t, url, Options{})
	ctx, stop := context.WithCancel(context.Background())
	told := make(chan bellman.Hint, 100)
	ended := make(chan error)
	go func() { ended <- s.Hints(ctx, func(h bellman.Hint) { told <- h }) }()
	rules, err := engine.NewRules(engine.Queue{Name: "tell", Handler: bellman.HandlerFunc(nil)})
	if err != nil {
		t.Fatal(err)
	}
	// What is told before anybody listens is lost, so it is tried again.
	hear := func() {
		t.Helper()
		for began := time.Now(); ; {
			task := &bellman.Task{Queue: "tell", Delay: time.Minute}
			tx, err := s.d.pool.Begin(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := AddTx(ctx, tx, rules.Prepare(task)...); err != nil {
				t.Fatal(err)
			}
			if err := tx.Commit(ctx); err != nil {
				t.Fatal(err)
			}
			select {
			case h := <-told:
				have, err := s.Task(ctx, task.ID)
				if err == nil && len(h.Added) == 1 && h.Added[0] == have.Shard && h.Since == have.Look.UnixMilli() && h.Until == h.Since {
					return
				}
				if err != nil || time.Since(began) > 20*time.Second {
					t.Fatalf("told %+v, and the task is %+v, %v", h, have, err)
				}
			case <-time.After(50 * time.Millisecond):
			}
			if time.Since(began) > 20*time.Second {
				t.Fatal("nothing was told")
			}
		}
	}
	hear()
	if _, err := s.d.pool.Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"); err != nil {
		t.Fatal(err)
	}
	hear()
	if _, err := s.d.pool.Exec(ctx, "SELECT pg_notify('bellman_hint', 'of somebody else')"); err != nil {
		t.Fatal(err)
	}
	hear()
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Hints() = %v", err)
	}
}

func TestHint(t *testing.T) {
	long := make([]uint16, 4000)
	for _, server := range []string{"CockroachDB CCL v24.1.0", "PostgreSQL 11.2-YB-2.20.1.0-b0"} {
		if s := hint(server, bellman.Hint{Added: []uint16{1}}); s != nil {
			t.Errorf("%s is to be sent %s", server, s.Text)
		}
	}
	if s := hint("PostgreSQL 15.18", bellman.Hint{Added: long}); s != nil {
		t.Errorf("a hint of %d shards is to be sent: it is too long", len(long))
	}
}
