package postgres

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/bellmanhq/bellman/internal/sqlstore"
)

// A database is PostgreSQL as a sqlstore.Driver.
type database struct {
	pool *pgxpool.Pool
	log  *slog.Logger

	stopped time.Duration // longer than this no client is silent in the middle of a transaction
	answer  time.Duration // longer than this no flight is waited for
}

var _ sqlstore.Driver = (*database)(nil)

// errLost is an error after which the connection is gone.
type errLost struct{ error }

func (e errLost) Unwrap() error { return e.error }

func (d *database) Close() error {
	d.pool.Close()
	return nil
}

func (d *database) CountsInserts() bool { return true }

func (d *database) Pool() sqlstore.Pool {
	s := d.pool.Stat()
	return sqlstore.Pool{Most: int(s.MaxConns()), Open: int(s.TotalConns()), InUse: int(s.AcquiredConns()), Waits: s.EmptyAcquireCount(), Waited: s.EmptyAcquireWaitTime()}
}

// Merges is true: the plan is a Merge Append of index scans.
func (d *database) Merges() bool { return true }

// acquire waits for a connection as long as for an answer.
func (d *database) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.answer)
	defer cancel()
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return nil, errLost{err}
	}
	return conn, nil
}

// Read sends statements in one pipeline, each a transaction's worth of its own.
func (d *database) Read(ctx context.Context, statements ...*sqlstore.Statement) error {
	conn, err := d.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	ctx, cancel := context.WithTimeout(ctx, d.answer)
	defer cancel()
	err = send(ctx, conn.Conn(), statements, plain)
	d.demoted(err)
	return err
}

// demoted reports whether a server refused a write because it may only be read, as a standby
// does behind an address that led to the primary. All connections are closed then, those in use
// when they are given back: they may be to the same server, and what they would read is old.
func (d *database) demoted(err error) bool {
	var server *pgconn.PgError
	if !errors.As(err, &server) || server.Code != readOnly {
		return false
	}
	d.pool.Reset()
	return true
}

// readOnly is the code of an error that says that a transaction may not write.
const readOnly = "25006"

func (d *database) Begin(ctx context.Context) (sqlstore.Tx, error) {
	conn, err := d.acquire(ctx)
	if err != nil {
		return nil, err
	}
	return &transaction{d: d, conn: conn}, nil
}

// Define runs a statement that defines something.
func (d *database) Define(ctx context.Context, text string) error {
	_, err := d.pool.Exec(ctx, types.Replace(text))
	return err
}

// Unblock ends sessions that hold a shard and wait for their client. Those that
// are idle end by idle_in_transaction_session_timeout; but one that received a
// pipeline without its end is active, and no timeout of the server ends it.
func (d *database) Unblock(ctx context.Context) error {
	tag, err := d.pool.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid() AND state <> 'idle' AND wait_event = 'ClientRead'
		AND clock_timestamp() - state_change > $1 * interval '1 millisecond'
		AND pid IN (SELECT pid FROM pg_locks WHERE relation = 'bellman_shard'::regclass AND granted)`, d.stopped.Milliseconds())
	if err == nil && tag.RowsAffected() > 0 {
		d.log.Warn("ended sessions that held a shard while their client had stopped", "sessions", tag.RowsAffected())
	}
	return err
}

// migrating is the lock that Alone takes: the letters "bellman".
const migrating = 0x62656c6c6d616e

// Alone calls f while holding an advisory lock of the database.
func (d *database) Alone(ctx context.Context, f func() error) error {
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	defer conn.Conn().Close(context.WithoutCancel(ctx)) // frees the lock
	if _, err := conn.Exec(ctx, "SET lock_timeout = 0"); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(migrating)); err != nil {
		return err
	}
	return f()
}

// Kind says what an error means: see appendix A of PostgreSQL's manual.
func (d *database) Kind(err error) sqlstore.Kind {
	var lost errLost
	var server *pgconn.PgError
	switch {
	case errors.As(err, &server):
		return kind(server)
	case errors.As(err, &lost):
		return sqlstore.Lost
	}
	return sqlstore.Other
}

func kind(server *pgconn.PgError) sqlstore.Kind {
	switch server.Code {
	case "40001", "40P01", "26000": // serialization failure, deadlock; a plan that the server has no longer
		return sqlstore.Retry
	case "55P03":
		return sqlstore.Blocked
	case "22003":
		return sqlstore.Overflow
	case "23505":
		return sqlstore.Duplicate
	case "42P07", "42710", "42701": // table, other, column
		return sqlstore.Exists
	case "53100":
		return sqlstore.Full
	case "40003", "25P03", readOnly, "57P01", "57P02", "57P03", "57P05": // completion unknown, the server ends the session, or another may take writes
		return sqlstore.Lost
	}
	if server.Code[:2] == "08" {
		return sqlstore.Lost
	}
	if stale(server) {
		return sqlstore.Retry
	}
	return sqlstore.Other
}

// A transaction holds a connection until it ends. BEGIN is sent with the first statements.
type transaction struct {
	d     *database
	conn  *pgxpool.Conn
	begun bool
}

func (t *transaction) Send(ctx context.Context, statements ...*sqlstore.Statement) error {
	ctx, cancel := context.WithTimeout(ctx, t.d.answer)
	defer cancel()
	err := send(ctx, t.conn.Conn(), statements, t.opening())
	t.d.demoted(err)
	return err
}

// opening says that BEGIN is to be sent, the first time.
func (t *transaction) opening() parts {
	if t.begun {
		return plain
	}
	t.begun = true
	return opening
}

// Commit sends statements and COMMIT in one pipeline. What the server does not
// answer with an error of its own may have been done.
func (t *transaction) Commit(ctx context.Context, statements ...*sqlstore.Statement) error {
	if !t.begun && len(statements) == 0 {
		t.conn.Release()
		return nil
	}
	within, cancel := context.WithTimeout(ctx, t.d.answer)
	defer cancel()
	err := send(within, t.conn.Conn(), statements, t.opening()|closing)
	if err == nil {
		t.conn.Release()
		return nil
	}
	var server *pgconn.PgError
	if t.d.demoted(err) || errors.As(err, &server) && kind(server) != sqlstore.Lost || errors.Is(err, sqlstore.ErrRaced) {
		t.Rollback()
		return err
	}
	t.conn.Conn().Close(context.WithoutCancel(ctx))
	t.conn.Release()
	return errLost{errors.New(err.Error())} // no Failed: that would be certain
}

// patience is the longest time for a rollback. After that, its connection is closed.
const patience = time.Second

func (t *transaction) Rollback() {
	defer t.conn.Release()
	if !t.begun || t.conn.Conn().IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := t.conn.Exec(ctx, "ROLLBACK"); err != nil {
		t.conn.Conn().Close(ctx)
	}
}

// receive reads what came of a statement.
func receive(results pgx.BatchResults, s *sqlstore.Statement) error {
	if s.Each == nil {
		tag, err := results.Exec()
		if err != nil {
			return err
		}
		s.Affected = tag.RowsAffected()
		if s.Want != 0 && s.Affected != s.Want {
			return sqlstore.ErrRaced
		}
		return nil
	}
	rows, err := results.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := s.Each(row{rows}); err != nil {
			return err
		}
	}
	return rows.Err()
}
