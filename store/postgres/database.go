package postgres

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/bellmanhq/bellman/internal/sqlstore"
)

// A database is PostgreSQL as a sqlstore.Driver.
type database struct {
	pool  *pgxpool.Pool
	log   *slog.Logger
	locks bool // see LockFences

	stopped time.Duration // Options.Stopped
	answer  time.Duration // Options.Answer
}

var _ sqlstore.Driver = (*database)(nil)

// errLost is an error after which the connection is lost.
type errLost struct{ error }

func (e errLost) Unwrap() error { return e.error }

func (d *database) Close() error {
	d.pool.Close()
	return nil
}

// LockFences is true for PostgreSQL itself: FOR NO KEY UPDATE waits for a claim and makes it wait,
// reads the newest version of the row after a wait, and changes no row. An UPDATE would leave a
// dead version of each shard's row at each commit, and a long transaction of any session keeps
// these from being removed. FOR SHARE would do too, but several of its holders need a MultiXact.
// Other databases that use the protocol may hold locks less strictly.
func (d *database) LockFences() bool { return d.locks }

// KeepsVersions is true for PostgreSQL itself.
func (d *database) KeepsVersions() bool { return d.locks }

func (d *database) CountsInserts() bool { return true }

func (d *database) Largest() (bytes int, setting string) { return 0, "" }

func (d *database) Pool() sqlstore.Pool {
	s := d.pool.Stat()
	return sqlstore.Pool{Most: int(s.MaxConns()), Open: int(s.TotalConns()), InUse: int(s.AcquiredConns()), Waits: s.EmptyAcquireCount(), Waited: s.EmptyAcquireWaitTime()}
}

// Merges is true: the plan is a Merge Append of index scans.
func (d *database) Merges() bool { return true }

// acquire waits for a connection, at most as long as for an answer.
func (d *database) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.answer)
	defer cancel()
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return nil, errLost{err}
	}
	return conn, nil
}

// Read sends the statements in one pipeline, each in a transaction of its own.
func (d *database) Read(ctx context.Context, statements ...*sqlstore.Statement) error {
	conn, err := d.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	ctx, cancel := context.WithTimeout(ctx, d.answer)
	defer cancel()
	err = send(ctx, conn.Conn(), statements, plain)
	d.unfit(err)
	return err
}

// unfit closes all connections, those in use when they are returned, if an error says that they may
// be unfit. It reports whether the server is read-only.
//
//   - A server rejected a write because it is read-only, as a standby is when the address led to
//     the primary before. The connections may lead to the same server, and reads there may be
//     outdated.
//   - A server does not have a statement that was prepared. So the session was reset, and has lost
//     its settings too, or a pooler has begun to share sessions.
func (d *database) unfit(err error) (demoted bool) {
	server, is := errors.AsType[*pgconn.PgError](err)
	if !is || server.Code != readOnly && server.Code != noStatement {
		return false
	}
	d.pool.Reset()
	return server.Code == readOnly
}

// Codes of errors: a read-only transaction, a prepared statement that the server does not have.
const (
	readOnly    = "25006"
	noStatement = "26000"
)

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

// Unblock ends sessions that hold a shard and wait for their client.
// idle_in_transaction_session_timeout ends idle sessions. But a session that received a part of a
// pipeline is active, and no timeout of the server ends it.
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

// migrating is the lock of Alone: the letters "bellman".
const migrating = 0x62656c6c6d616e

// Alone calls f while it holds an advisory lock of the database.
func (d *database) Alone(ctx context.Context, f func() error) error {
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	defer conn.Conn().Close(context.WithoutCancel(ctx)) // frees the lock
	// The wait for the lock may be long, and the session is idle while f runs.
	if _, err := conn.Exec(ctx, "SELECT set_config(name, '0', false) FROM pg_settings WHERE name IN ('lock_timeout', 'idle_session_timeout')"); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(migrating)); err != nil {
		return err
	}
	return f()
}

// Kind classifies an error. The codes are in appendix A of PostgreSQL's manual.
func (d *database) Kind(err error) sqlstore.Kind {
	var lost errLost
	var server *pgconn.PgError
	switch {
	case errors.As(err, &lost): // also if the server says why, as when it has no connection left
		return sqlstore.Lost
	case errors.As(err, &server):
		return kind(server)
	}
	return sqlstore.Other
}

func kind(server *pgconn.PgError) sqlstore.Kind {
	switch server.Code {
	case "40001", "40P01", noStatement: // serialization failure, deadlock
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
	case "40003", "25P03", readOnly, "57P01", "57P02", "57P03", "57P05": // completion unknown, the server ends the session, or another server may accept writes
		return sqlstore.Lost
	}
	if strings.HasPrefix(server.Code, "08") {
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
	t.d.unfit(err)
	return err
}

// opening returns the part BEGIN for the first flight of the transaction.
func (t *transaction) opening() parts {
	if t.begun {
		return plain
	}
	t.begun = true
	return opening
}

// Commit sends the statements and COMMIT in one pipeline. If the server answers with no error of
// its own, the transaction may have been committed.
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
	if server, is := errors.AsType[*pgconn.PgError](err); t.d.unfit(err) || is && kind(server) != sqlstore.Lost || errors.Is(err, sqlstore.ErrRaced) {
		t.Rollback()
		return err
	}
	t.conn.Conn().Close(context.WithoutCancel(ctx))
	t.conn.Release()
	return errLost{errors.New(err.Error())} // not Failed, which would mean that nothing was committed
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

// receive reads the result of a statement in a caller's transaction.
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
