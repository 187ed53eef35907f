package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/store"
)

// An examiner inspects a database. It reports values above these limits.
type examiner struct {
	d *database

	transaction time.Duration // age of a transaction that keeps old rows
	history     int64         // changes whose old rows are not purged yet
	used        float64       // part of the connections that is in use
}

const (
	fewConnections = 4
	smallPacket    = 16 << 20
)

func newExaminer(d *database) examiner { return examiner{d, time.Minute, 1_000_000, 0.8} }

// Examine finds what hurts a store in the database of url: what a start would reject, transactions
// that keep old rows, settings that lose data, and connections. It changes nothing. The error says
// why the database cannot be examined; findings until then are returned too.
func Examine(ctx context.Context, url string, o Options) ([]store.Finding, error) {
	d, err := connect(ctx, url, o)
	if err != nil {
		return nil, fmt.Errorf("mysql: %w", explained(err, o))
	}
	defer d.Close()
	found, err := newExaminer(d).all(ctx)
	if err != nil {
		return found, fmt.Errorf("mysql: %w", explained(err, o))
	}
	return found, nil
}

func (e examiner) all(ctx context.Context) (found []store.Finding, err error) {
	looks := []func(context.Context) ([]store.Finding, error){e.packet, e.connections}
	if !e.d.server.tiDB() { // TiDB has no InnoDB
		looks = append(looks, e.settings, e.transactions, e.prepared, e.purge)
	}
	for _, look := range looks {
		more, err := look(ctx)
		if err != nil {
			return found, err
		}
		found = append(found, more...)
	}
	return append(found, sqlstore.Examine(ctx, e.d)...), nil
}

// settings looks at settings that lose data.
func (e examiner) settings(ctx context.Context) (found []store.Finding, err error) {
	var flush, sync int
	var logged bool
	var doubled string
	err = e.d.db().QueryRowContext(ctx, "SELECT @@global.innodb_flush_log_at_trx_commit, @@global.sync_binlog, @@global.log_bin, @@global.innodb_doublewrite").Scan(&flush, &sync, &logged, &doubled)
	if err != nil {
		return nil, err
	}
	if flush != 1 {
		found = append(found, store.Finding{Name: "innodb_flush_log_at_trx_commit", Level: store.Error,
			What: fmt.Sprintf("innodb_flush_log_at_trx_commit is %d: a crash of the server's machine loses up to a second of accepted tasks", flush),
			Do:   "SET GLOBAL innodb_flush_log_at_trx_commit = 1, and in the server's configuration"})
	}
	if logged && sync != 1 {
		found = append(found, store.Finding{Name: "sync_binlog", Level: store.Error,
			What: fmt.Sprintf("sync_binlog is %d: a crash of the server's machine may lose commits from the log that replicas read", sync),
			Do:   "SET GLOBAL sync_binlog = 1, and in the server's configuration"})
	}
	if doubled == "0" || doubled == "OFF" {
		found = append(found, store.Finding{Name: "innodb_doublewrite", Level: store.Error,
			What: "innodb_doublewrite is off: a power cut may destroy pages", Do: "set innodb_doublewrite = ON in the server's configuration, and restart it"})
	}
	return found, nil
}

// packet checks the largest statement that the server accepts.
func (e examiner) packet(context.Context) ([]store.Finding, error) {
	if e.d.server.packet >= smallPacket {
		return nil, nil
	}
	return []store.Finding{{Name: "max_allowed_packet", Level: store.Warning,
		What: fmt.Sprintf("max_allowed_packet is %d KiB: batches take more statements, and a larger task cannot be written", e.d.server.packet>>10),
		Do:   "SET GLOBAL max_allowed_packet = 16777216 or more, and in the server's configuration"}}, nil
}

// transactions finds open transactions that keep old rows.
func (e examiner) transactions(ctx context.Context) (found []store.Finding, err error) {
	// The server writes trx_started in its own time zone.
	rows, err := e.d.db().QueryContext(ctx, `SELECT * FROM (SELECT t.trx_mysql_thread_id AS id, COALESCE(p.user, '') AS user, COALESCE(p.host, '') AS host, COALESCE(p.command, '') AS command,
			TIMESTAMPDIFF(SECOND, t.trx_started, CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', 'SYSTEM')) AS seconds
			FROM information_schema.innodb_trx t LEFT JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id) o
		WHERE seconds >= ? AND id <> CONNECTION_ID() ORDER BY seconds DESC LIMIT 3`, int64(e.transaction.Seconds()))
	if denied(err) {
		return []store.Finding{{Name: "hidden_sessions", Level: store.Warning, What: "the user does not see the transactions of other users: they are not examined",
			Do: "GRANT PROCESS ON *.* to the user"}}, nil
	}
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id, seconds int64
		var user, host, command string
		if err := rows.Scan(&id, &user, &host, &command, &seconds); err != nil {
			return nil, err
		}
		found = append(found, store.Finding{Name: "old_transaction", Level: store.Warning,
			What: fmt.Sprintf("a transaction has been open for %v (connection %d, user %s, from %s, %s): the server keeps all rows that were deleted or changed since, and its locks", time.Duration(seconds)*time.Second, id, user, host, command),
			Do:   fmt.Sprintf("end it: KILL %d", id)})
	}
	return found, rows.Err()
}

// prepared finds transactions that were prepared for a two-phase commit.
func (e examiner) prepared(ctx context.Context) (found []store.Finding, err error) {
	rows, err := e.d.db().QueryContext(ctx, "XA RECOVER")
	if denied(err) {
		return nil, nil // MySQL shows them to administrators alone
	}
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var format, global, branch int64
		var name []byte
		if err := rows.Scan(&format, &global, &branch, &name); err != nil {
			return nil, err
		}
		found = append(found, store.Finding{Name: "prepared_transaction", Level: store.Warning,
			What: fmt.Sprintf("XA transaction %q is prepared: until it ends, the server keeps all rows that were deleted or changed since, and its locks", name),
			Do:   "ask its owner, if it does not end by itself; then XA ROLLBACK or XA COMMIT of it"})
	}
	return found, rows.Err()
}

// purge checks how many old rows the server has not removed yet.
func (e examiner) purge(ctx context.Context) ([]store.Finding, error) {
	var n int64
	err := e.d.db().QueryRowContext(ctx, "SELECT count FROM information_schema.innodb_metrics WHERE name = 'trx_rseg_history_len'").Scan(&n)
	if denied(err) || errors.Is(err, sql.ErrNoRows) || err == nil && n < e.history {
		return nil, nil // transactions reports a missing right
	}
	if err != nil {
		return nil, err
	}
	return []store.Finding{{Name: "history", Level: store.Warning, What: fmt.Sprintf("old rows of %d changes are not removed yet: reads pass them", n),
		Do: "end transactions that have been open for long (see the other findings), and raise innodb_purge_threads if there are none"}}, nil
}

// connections compares what the server and the user may have with what is used.
func (e examiner) connections(ctx context.Context) (found []store.Finding, err error) {
	var most int64
	var used sql.NullInt64
	var name string
	if err := e.d.db().QueryRowContext(ctx, "SELECT @@global.max_connections").Scan(&most); err != nil {
		return nil, err
	}
	if err := e.d.db().QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Threads_connected'").Scan(&name, &used); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	if most > 0 && float64(used.Int64) > e.used*float64(most) {
		found = append(found, store.Finding{Name: "connections", Level: store.Warning, What: fmt.Sprintf("%d of at most %d connections to the server are in use", used.Int64, most),
			Do: "raise max_connections, or lower connections in the address of each node"})
	}
	if n := e.d.db().Stats().MaxOpenConnections; n < fewConnections {
		found = append(found, sqlstore.FewConnections(n))
	}
	return found, nil
}

// denied reports whether the user lacks a right.
func denied(err error) bool {
	server, is := errors.AsType[*driver.MySQLError](err)
	return is && (server.Number == 1227 || server.Number == 1142 || server.Number == 1044 || server.Number == 1401)
}
