package postgres

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
	"github.com/bellmanhq/bellman/store"
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
			Add: func(ctx context.Context, adds ...store.Add) ([]bellman.Added, error) {
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
			Add: func(ctx context.Context, adds ...store.Add) ([]bellman.Added, error) {
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

// TestFired adds tasks beside an engine that is told of the commits, and beside one that looks for
// itself every second.
func TestFired(t *testing.T) {
	url := newDatabase(t)
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	s := openTest(t, url, Options{})
	sqltest.CallerTest{Store: s, Begin: begin(ctx, pool)}.FiredSooner(t)
}

// A caller's transaction has no NOTIFY: PostgreSQL holds a lock of the whole server from there to
// the end of the commit, so all such transactions would commit one at a time.
func TestNoNotify(t *testing.T) {
	url := newDatabase(t)
	openTest(t, url, Options{})
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	seen := &statements{}
	config := conn.Config()
	config.Tracer = seen
	traced, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	defer traced.Close(context.WithoutCancel(ctx))
	rules, err := engine.NewRules(engine.Queue{Name: "q", Handler: bellman.HandlerFunc(nil)})
	if err != nil {
		t.Fatal(err)
	}
	err = pgx.BeginFunc(ctx, traced, func(tx pgx.Tx) error {
		_, err := AddTx(ctx, tx, rules.Prepare(&bellman.Task{Queue: "q"})...)
		return err
	})
	if err != nil || len(seen.texts) == 0 {
		t.Fatalf("AddTx() = %v, with statements %q", err, seen.texts)
	}
	for _, text := range seen.texts {
		if strings.Contains(strings.ToLower(text), "notify") {
			t.Errorf("AddTx sent %s", text)
		}
	}
}

// statements collects the texts that a connection sends.
type statements struct{ texts []string }

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	s.texts = append(s.texts, data.SQL)
	return ctx
}

func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (s *statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	for _, q := range data.Batch.QueuedQueries {
		s.texts = append(s.texts, q.SQL)
	}
	return ctx
}

func (s *statements) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (s *statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}
