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

// Read sends statements in one pipeline, each a transaction's worth of its own.
func (d *database) Read(ctx context.Context, statements ...*sqlstore.Statement) error {
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return errLost{err}
	}
	defer conn.Release()
	return send(ctx, conn.Conn(), false, statements)
}

func (d *database) Begin(ctx context.Context) (sqlstore.Tx, error) {
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return nil, errLost{err}
	}
	return &transaction{conn: conn}, nil
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
	case errors.As(err, &lost):
		return sqlstore.Lost
	default:
		return sqlstore.Other
	}
	switch server.Code {
	case "40001", "40P01": // serialization failure, deadlock
		return sqlstore.Retry
	case "55P03":
		return sqlstore.Blocked
	case "22003":
		return sqlstore.Overflow
	case "23505":
		return sqlstore.Duplicate
	case "42P07", "42710":
		return sqlstore.Exists
	case "53100":
		return sqlstore.Full
	case "40003", "25P03", "57P01", "57P02", "57P03", "57P05": // completion unknown, or the server ends the session
		return sqlstore.Lost
	}
	if server.Code[:2] == "08" {
		return sqlstore.Lost
	}
	return sqlstore.Other
}

// A transaction takes a connection until it ends. BEGIN travels with the first
// statements.
type transaction struct {
	conn  *pgxpool.Conn
	begun bool
}

func (t *transaction) Send(ctx context.Context, statements ...*sqlstore.Statement) error {
	begin := !t.begun
	t.begun = true
	return send(ctx, t.conn.Conn(), begin, statements)
}

func (t *transaction) Commit(ctx context.Context) error {
	if !t.begun {
		t.conn.Release()
		return nil
	}
	defer t.conn.Release()
	tag, err := t.conn.Exec(ctx, "COMMIT")
	var server *pgconn.PgError
	switch {
	case err != nil && !errors.As(err, &server):
		t.conn.Conn().Close(context.WithoutCancel(ctx))
		return errLost{err}
	case err == nil && tag.String() != "COMMIT":
		return errors.New("the transaction had failed before: " + tag.String())
	}
	return err
}

// patience is how long a rollback may take, before its connection is closed.
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

// send sends statements in one pipeline, after a BEGIN if begin says so.
func send(ctx context.Context, conn *pgx.Conn, begin bool, statements []*sqlstore.Statement) (err error) {
	defer func() {
		if err != nil && conn.IsClosed() {
			err = errLost{err}
		}
	}()
	var batch pgx.Batch
	if begin {
		batch.Queue("BEGIN ISOLATION LEVEL READ COMMITTED")
	}
	for _, s := range statements {
		text, args := render(s)
		batch.Queue(text, args...)
	}
	results := conn.SendBatch(ctx, &batch)
	defer func() {
		if closed := results.Close(); err == nil {
			err = closed
		}
	}()
	if begin {
		if _, err := results.Exec(); err != nil {
			return err
		}
	}
	for _, s := range statements {
		if err := receive(results, s); err != nil {
			return &sqlstore.Failed{Statement: s, Err: err}
		}
	}
	return nil
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
