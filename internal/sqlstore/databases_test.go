package sqlstore_test

import (
	"bytes"
	"context"
	"database/sql"
	"net/url"
	"strings"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/bench/scratch/scratchtest"
	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/mysql"
	"github.com/bellmanhq/bellman/store/postgres"
)

// A database is a kind of database on which the tests run.
type database struct {
	name    string
	open    func(ctx context.Context, url string, o mysql.Options) (*sqlstore.Store, error)
	migrate func(ctx context.Context, url string, o mysql.Options) error

	callers map[string]func(t *testing.T, url string) begin // ways for callers to open their own transaction
	commits func(sent []byte) bool                          // reports whether these bytes from a client commit a task
	again   []error                                         // errors after which a transaction is retried
	denied  error                                           // an error after which it is not retried
	demote  string                                          // makes a session reject writes
}

// databases lists all kinds. Tests that concern only one of them are in its own package.
var databases = []database{
	{
		name: "postgres",
		open: func(ctx context.Context, url string, o mysql.Options) (*sqlstore.Store, error) {
			s, err := postgres.Open(ctx, url, postgres.Options(o))
			if err != nil {
				return nil, err
			}
			return s.Store, nil
		},
		migrate: func(ctx context.Context, url string, o mysql.Options) error {
			return postgres.Migrate(ctx, url, postgres.Options(o))
		},
		callers: map[string]func(*testing.T, string) begin{"pgx": beginPgx, "pgx without prepared statements": func(t *testing.T, url string) begin {
			return beginPgx(t, with(t, url, "default_query_exec_mode", "simple_protocol"))
		}, "sql": func(t *testing.T, url string) begin {
			return beginSQL(t, "pgx", url, postgres.AddSQLTx)
		}},
		// The store sends a commit and its tasks in one write.
		commits: func(sent []byte) bool { return bytes.Contains(sent, []byte("merchant-notify")) },
		again: []error{&pgconn.PgError{Code: "40001", Message: "try again"}, &pgconn.PgError{Code: "40P01", Message: "try again"},
			&pgconn.PgError{Code: "55P03", Message: "try again"}},
		denied: &pgconn.PgError{Code: "42501", Message: "permission denied"},
		demote: "SET default_transaction_read_only = on",
	},
	{
		name: "mysql",
		open: func(ctx context.Context, url string, o mysql.Options) (*sqlstore.Store, error) {
			s, err := mysql.Open(ctx, url, o)
			if err != nil {
				return nil, err
			}
			return s.Store, nil
		},
		migrate: mysql.Migrate,
		callers: map[string]func(*testing.T, string) begin{"sql": func(t *testing.T, url string) begin {
			return beginSQL(t, "mysql", dsn(t, url), mysql.AddTx)
		}, "sql without prepared statements": func(t *testing.T, url string) begin {
			return beginSQL(t, "mysql", dsn(t, with(t, url, "interpolateParams", "true")), mysql.AddTx)
		}},
		commits: func(sent []byte) bool { return bytes.Contains(sent, []byte("COMMIT")) },
		again: []error{&mysqldriver.MySQLError{Number: 1213, Message: "try again"}, &mysqldriver.MySQLError{Number: 1205, Message: "try again"},
			&mysqldriver.MySQLError{Number: 9007, Message: "try again"}, &mysqldriver.MySQLError{Number: 8022, Message: "try again"}},
		denied: &mysqldriver.MySQLError{Number: 1142, Message: "denied"},
		demote: "SET SESSION TRANSACTION READ ONLY",
	},
}

// each runs a test on each kind of database, in parallel.
func each(t *testing.T, test func(t *testing.T, d database)) {
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			test(t, d)
		})
	}
}

// empty creates a database that is dropped when the test ends, and returns its URL.
func (d database) empty(t testing.TB) string { return scratchtest.New(t, d.name).URL }

// with opens a store that is closed when the test ends.
func (d database) with(t testing.TB, url string, o mysql.Options) *sqlstore.Store {
	t.Helper()
	s, err := d.open(context.Background(), url, o)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// store opens a store in its own database.
func (d database) store(t testing.TB) *sqlstore.Store { return d.with(t, d.empty(t), mysql.Options{}) }

// driver connects to its own database, which has the tables.
func (d database) driver(t testing.TB) sqlstore.Driver { return d.store(t).Driver() }

// nodes connects n nodes to one new database.
func (d database) nodes(t testing.TB, n int) []sqlstore.Driver {
	url := d.empty(t)
	list := make([]sqlstore.Driver, n)
	for i := range list {
		list[i] = d.with(t, url, mysql.Options{}).Driver()
	}
	return list
}

// A begin opens a transaction of a program that uses the database beside the store.
type begin func(t *testing.T, level sql.IsolationLevel) caller

// levels are pgx's names of the isolation levels.
var levels = map[sql.IsolationLevel]pgx.TxIsoLevel{sql.LevelReadCommitted: pgx.ReadCommitted, sql.LevelRepeatableRead: pgx.RepeatableRead, sql.LevelSerializable: pgx.Serializable}

func beginPgx(t *testing.T, url string) begin {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, url)
	must(t, err)
	t.Cleanup(pool.Close)
	return func(t *testing.T, level sql.IsolationLevel) caller {
		tx, err := pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: levels[level]})
		must(t, err)
		t.Cleanup(func() { tx.Rollback(ctx) })
		return caller{
			Add: func(ctx context.Context, adds ...store.Add) ([]bellman.Added, error) {
				return postgres.AddTx(ctx, tx, adds...)
			},
			Exec:     func(text string) error { _, err := tx.Exec(ctx, text); return err },
			Commit:   func() error { return tx.Commit(ctx) },
			Rollback: func() error { return tx.Rollback(ctx) },
		}
	}
}

// beginSQL uses a pool without any settings for bellman.
func beginSQL(t *testing.T, driver, url string, add func(context.Context, *sql.Tx, ...store.Add) ([]bellman.Added, error)) begin {
	ctx := context.Background()
	db, err := sql.Open(driver, url)
	must(t, err)
	t.Cleanup(func() { db.Close() })
	return func(t *testing.T, level sql.IsolationLevel) caller {
		tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
		must(t, err)
		t.Cleanup(func() { tx.Rollback() })
		return caller{
			Add:      func(ctx context.Context, adds ...store.Add) ([]bellman.Added, error) { return add(ctx, tx, adds...) },
			Exec:     func(text string) error { _, err := tx.ExecContext(ctx, text); return err },
			Commit:   tx.Commit,
			Rollback: tx.Rollback,
		}
	}
}

// with adds a parameter to an address.
func with(t *testing.T, address, name, value string) string {
	u, err := url.Parse(address)
	must(t, err)
	query := u.Query()
	query.Set(name, value)
	u.RawQuery = query.Encode()
	return u.String()
}

// dsn converts the URL of a MySQL database to the form that its driver takes.
func dsn(t *testing.T, address string) string {
	u, err := url.Parse(address)
	must(t, err)
	config, err := mysqldriver.ParseDSN("/?" + u.RawQuery)
	must(t, err)
	config.Net, config.Addr, config.DBName, config.User = "tcp", u.Host, strings.TrimPrefix(u.Path, "/"), u.User.Username()
	config.Passwd, _ = u.User.Password()
	return config.FormatDSN()
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
