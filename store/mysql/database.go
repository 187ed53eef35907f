package mysql

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sqlstore"
)

// A database is MySQL or MariaDB as a sqlstore.Driver.
type database struct {
	server server
	log    *slog.Logger
	packet int                    // bytes of values in one statement
	pool   atomic.Pointer[sql.DB] // for everything but defining tables
	slow   *sql.DB                // for defining tables, which may take longer than Options.Answer

	open func() *sql.DB // makes a pool without connections
}

var _ sqlstore.Driver = (*database)(nil)

// errLost is an error after which the connection is lost.
type errLost struct{ error }

func (e errLost) Unwrap() error { return e.error }

func (d *database) Close() error { return errors.Join(d.db().Close(), d.slow.Close()) }

// db is the present pool. A connection belongs to the pool from which it came.
func (d *database) db() *sql.DB { return d.pool.Load() }

// LockFences is false: members of Galera see the writes of other members alone.
func (d *database) LockFences() bool { return false }

// KeepsVersions is false: an update finds the newest version first.
func (d *database) KeepsVersions() bool { return false }

// CountsInserts is false: with clientFoundRows a row that existed counts too.
func (d *database) CountsInserts() bool { return false }

// Largest returns the server's limit when the pool was opened. The driver, too, keeps that one.
func (d *database) Largest() (bytes int, setting string) {
	return d.server.packet, "max_allowed_packet"
}

func (d *database) Pool() sqlstore.Pool {
	s := d.db().Stats()
	return sqlstore.Pool{Most: s.MaxOpenConnections, Open: s.OpenConnections, InUse: s.InUse, Waits: s.WaitCount, Waited: s.WaitDuration}
}

// Merges is false: the server copies the rows of all parts into a table and sorts it.
func (d *database) Merges() bool { return false }

// Read sends the statements one after the other, each in a transaction of its own.
func (d *database) Read(ctx context.Context, statements ...*sqlstore.Statement) error {
	pool := d.db()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return errLost{err}
	}
	if err = d.send(ctx, conn, statements); d.demoted(pool, err) {
		drop(conn)
		return err
	}
	conn.Close()
	return err
}

// demoted reports whether a server rejected a write because it is read-only, as a former primary is
// after a switchover. It then replaces the pool of the connection: other connections of the pool
// may lead to the same server, and reads there may be outdated. Connections in use are closed when
// they are returned.
func (d *database) demoted(pool *sql.DB, err error) bool {
	if server, is := errors.AsType[*driver.MySQLError](err); !is || !readOnly(server) {
		return false
	}
	next := d.open()
	if !d.pool.CompareAndSwap(pool, next) { // another connection of the pool was quicker
		pool = next
	}
	pool.Close()
	return true
}

// readOnly reports whether an error says that the server, the session or the tables are read-only.
func readOnly(server *driver.MySQLError) bool {
	return server.Number == 1290 || server.Number == 1792 || server.Number == 1836
}

func (d *database) Begin(ctx context.Context) (sqlstore.Tx, error) {
	pool := d.db()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, errLost{err}
	}
	if _, err := conn.ExecContext(ctx, "START TRANSACTION"); err != nil {
		drop(conn)
		return nil, errLost{err}
	}
	return &transaction{d: d, pool: pool, conn: conn}, nil
}

// Define runs a statement that defines something.
func (d *database) Define(ctx context.Context, text string) error {
	_, err := d.slow.ExecContext(ctx, types.Replace(text))
	return err
}

// Unblock does nothing: the server runs no partly received statement, and ends transactions whose
// client is silent.
func (d *database) Unblock(context.Context) error { return nil }

// Alone calls f while it holds a named lock of the server.
func (d *database) Alone(ctx context.Context, f func() error) error {
	conn, err := d.slow.Conn(ctx)
	if err != nil {
		return err
	}
	defer drop(conn) // frees the lock
	// The server ends a session that is idle for wait_timeout, and with it the lock. This session
	// is idle while f runs.
	if _, err := conn.ExecContext(ctx, "SET SESSION wait_timeout = 86400"); err != nil {
		return err
	}
	var got sql.NullInt64
	const wait = 600 // seconds
	if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK(CONCAT('bellman ', LEFT(DATABASE(), 50)), ?)", wait).Scan(&got); err != nil {
		return err
	}
	if got.Int64 != 1 {
		return fmt.Errorf("another process has been migrating the schema for %d s: see SHOW PROCESSLIST", wait)
	}
	return f()
}

// drop closes a connection instead of returning it to the pool.
func drop(conn *sql.Conn) {
	conn.Raw(func(any) error { return sqldriver.ErrBadConn })
	conn.Close()
}

// Kind classifies an error.
func (d *database) Kind(err error) sqlstore.Kind {
	var lost errLost
	var server *driver.MySQLError
	switch {
	case errors.As(err, &lost), errors.Is(err, sqldriver.ErrBadConn), errors.Is(err, driver.ErrInvalidConn):
		return sqlstore.Lost // also if the server says why, as when it has no connection left
	case errors.As(err, &server):
	default:
		return sqlstore.Other
	}
	switch server.Number {
	case 1213, 1020, 3101, 9007, 8022: // deadlock, MariaDB's changed row, MySQL's Group Replication, TiDB's write conflict and "retry the transaction"
		return sqlstore.Retry
	case 1205:
		return sqlstore.Blocked
	case 1690:
		return sqlstore.Overflow
	case 1062:
		return sqlstore.Duplicate
	case 1050, 1060, 1061: // table, column, index
		return sqlstore.Exists
	case 1021, 1114: // disk, table
		return sqlstore.Full
	case 1047, 1053, 1152, 1158, 1159, 1160, 1161, 1184, 1927, 4031: // node left the cluster, shutdown, aborted, killed
		return sqlstore.Lost
	}
	if readOnly(server) { // another connection may lead to the new primary
		return sqlstore.Lost
	}
	return sqlstore.Other
}

// A transaction holds a connection until it ends.
type transaction struct {
	d    *database
	pool *sql.DB // of conn
	conn *sql.Conn
	gone bool // its server is read-only
}

func (t *transaction) Send(ctx context.Context, statements ...*sqlstore.Statement) error {
	err := t.d.send(ctx, t.conn, statements)
	t.gone = t.gone || t.d.demoted(t.pool, err)
	return err
}

func (t *transaction) Commit(ctx context.Context, statements ...*sqlstore.Statement) error {
	if err := t.Send(ctx, statements...); err != nil {
		t.Rollback()
		return err
	}
	_, err := t.conn.ExecContext(ctx, "COMMIT")
	if err == nil {
		t.conn.Close()
		return nil
	}
	drop(t.conn)
	t.d.demoted(t.pool, err)
	if _, is := errors.AsType[*driver.MySQLError](err); !is {
		return errLost{err}
	}
	return err
}

// patience is the longest time for a rollback. After that, its connection is closed.
const patience = time.Second

func (t *transaction) Rollback() {
	if t.gone {
		drop(t.conn) // the server then rolls back
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := t.conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		drop(t.conn)
		return
	}
	t.conn.Close()
}

// A session sends statements: *sql.Conn, or a caller's *sql.Tx.
type session interface {
	ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
}

func (d *database) send(ctx context.Context, conn session, statements []*sqlstore.Statement) error {
	for _, s := range statements {
		if err := d.run(ctx, conn, s); err != nil {
			return &sqlstore.Failed{Statement: s, Err: err}
		}
		if s.Want != 0 && s.Affected != s.Want {
			return &sqlstore.Failed{Statement: s, Err: sqlstore.ErrRaced}
		}
	}
	return nil
}

func (d *database) run(ctx context.Context, conn session, s *sqlstore.Statement) error {
	if s.Insert != nil {
		s.Affected = 0
		for text, args := range d.inserts(s.Insert) {
			result, err := conn.ExecContext(ctx, text, args...)
			if err != nil {
				return mark(ctx, err)
			}
			n, err := result.RowsAffected()
			if err != nil {
				return err
			}
			s.Affected += n
		}
		return nil
	}
	text, args := render(s)
	if s.Each == nil {
		result, err := conn.ExecContext(ctx, text, args...)
		if err != nil {
			return mark(ctx, err)
		}
		s.Affected, err = result.RowsAffected()
		return err
	}
	rows, err := conn.QueryContext(ctx, text, args...)
	if err != nil {
		return mark(ctx, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := s.Each(row{rows}); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return mark(ctx, err)
	}
	return nil
}

// mark marks an error that is not the server's answer as a lost connection: the driver closes a
// connection whose reply it did not get.
func mark(ctx context.Context, err error) error {
	if _, is := errors.AsType[*driver.MySQLError](err); is || errors.Is(err, driver.ErrPktTooLarge) {
		return err
	}
	if ctx.Err() != nil {
		return errLost{errors.Join(ctx.Err(), err)}
	}
	return errLost{err}
}

// A row scans ids from 16 bytes.
type row struct{ rows *sql.Rows }

func (r row) Scan(dest ...any) error {
	for i := range dest {
		if id, is := dest[i].(*bellman.ID); is {
			dest[i] = (*idScanner)(id)
		}
	}
	return r.rows.Scan(dest...)
}

type idScanner bellman.ID

func (id *idScanner) Scan(value any) error {
	b, is := value.([]byte)
	if !is || len(b) != len(id) {
		return fmt.Errorf("an id of %v: want 16 bytes", value)
	}
	copy(id[:], b)
	return nil
}
