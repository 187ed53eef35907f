package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/store"
)

// An examiner inspects a database. It reports values above these limits.
type examiner struct {
	d *database

	transaction time.Duration // age of a transaction that keeps old rows
	lock        time.Duration // wait for a lock of bellman's tables
	dead        int64         // dead rows of a table, if they are also a multiple of its live rows
	log         int64         // bytes of the log that the server keeps for a slot with a consumer
	xids        int64         // age of a table's oldest rows, in transactions
	used        float64       // part of the connections that is in use
}

const (
	deadPerLive    = 5
	fewConnections = 4
)

func newExaminer(d *database) examiner {
	return examiner{d, time.Minute, time.Second, 100_000, 1 << 30, 1_000_000_000, 0.8}
}

// Examine finds what hurts a store in the database of url: what a start would reject, sessions that
// keep old rows or hold locks, settings that lose data, tables with dead rows, and connections. It
// changes nothing. The error says why the database cannot be examined; findings until then are
// returned too.
func Examine(ctx context.Context, url string, o Options) ([]store.Finding, error) {
	d, err := connect(ctx, url, o)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", explained(err, o))
	}
	defer d.Close()
	found, err := newExaminer(d).all(ctx)
	if err != nil {
		return found, fmt.Errorf("postgres: %w", explained(err, o))
	}
	return found, nil
}

func (e examiner) all(ctx context.Context) (found []store.Finding, err error) {
	for _, look := range []func(context.Context) ([]store.Finding, error){
		e.settings, e.hidden, e.transactions, e.prepared, e.slots, e.locks, e.tables, e.connections,
	} {
		more, err := look(ctx)
		if err != nil {
			return found, err
		}
		found = append(found, more...)
	}
	return append(found, sqlstore.Examine(ctx, e.d)...), nil
}

// list reads rows, each as one finding.
func list[T any](ctx context.Context, d *database, describe func(T) store.Finding, text string, args ...any) (found []store.Finding, err error) {
	rows, err := d.pool.Query(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	got, err := pgx.CollectRows(rows, pgx.RowToStructByPos[T])
	for _, row := range got {
		found = append(found, describe(row))
	}
	return found, err
}

// settings looks at settings that lose data, or let tables grow.
func (e examiner) settings(ctx context.Context) ([]store.Finding, error) {
	// A session of the store changes synchronous_commit; reset_val is what other sessions of the
	// user have.
	type setting struct{ Name, Value string }
	return list(ctx, e.d, func(s setting) store.Finding {
		f := store.Finding{Name: s.Name, Level: store.Error}
		switch s.Name {
		case "fsync":
			f.What = "fsync is off: a crash of the server's machine loses or destroys what was accepted"
			f.Do = "set fsync = on in postgresql.conf, and reload"
		case "full_page_writes":
			f.What = "full_page_writes is off: a crash of the server's machine may destroy pages"
			f.Do = "set full_page_writes = on in postgresql.conf, and reload"
		case "synchronous_commit":
			f.Level = store.Warning
			f.What = fmt.Sprintf("synchronous_commit is %s for this user: bellman's own commits are durable, but tasks that AddTx adds in your transactions may be lost in a crash", s.Value)
			f.Do = "set synchronous_commit = on for the user and the database, or in those transactions"
		default: // autovacuum, track_counts
			f.Level = store.Warning
			f.What = s.Name + " is off: nothing removes old rows, and tables grow without end"
			f.Do = "set " + s.Name + " = on in postgresql.conf, and reload"
		}
		return f
	}, `SELECT name, reset_val FROM pg_settings WHERE reset_val = 'off' AND name IN ('fsync', 'full_page_writes', 'synchronous_commit', 'autovacuum', 'track_counts') ORDER BY name`)
}

// hidden reports that the user cannot see what sessions of other users do. Their locks of whole
// tables, and those for which bellman waits, are found all the same: pg_locks is open to everybody.
func (e examiner) hidden(ctx context.Context) ([]store.Finding, error) {
	return list(ctx, e.d, func(s struct{ User string }) store.Finding {
		return store.Finding{Name: "hidden_sessions", Level: store.Warning,
			What: fmt.Sprintf("the user %s does not see since when other users' transactions are open: old ones are not found, and locks without their age and client", s.User),
			Do:   "GRANT pg_read_all_stats TO " + s.User}
	}, `SELECT current_user::text WHERE NOT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')`)
}

// A session is any connection to the server, of bellman or another client.
type session struct {
	PID                              int32
	User, Application, Client, State string
	Seconds                          float64
}

func (s session) String() string {
	text := fmt.Sprintf("pid %d, user %s", s.PID, s.User)
	if s.Application != "" {
		text += fmt.Sprintf(", application %q", s.Application)
	}
	if s.Client != "" {
		text += ", from " + s.Client
	}
	return text + ", " + s.State
}

const sessionColumns = `a.pid, coalesce(a.usename::text, ''), a.application_name, coalesce(host(a.client_addr), ''),
	CASE WHEN a.wait_event = 'SyncRep' THEN '` + awaitsStandby + `' ELSE coalesce(a.state, 'state unknown') END`

const awaitsStandby = "waiting for a synchronous standby"

// ending says how to end a session. The COMMIT of a session that waits for a standby would count,
// but not be on the standby.
func (s session) ending() string {
	if s.State == awaitsStandby {
		return "start the standby that synchronous_standby_names wants, or change that setting; do not end the session"
	}
	return fmt.Sprintf("end it: SELECT pg_terminate_backend(%d)", s.PID)
}

// transactions finds open transactions that keep old rows of this database.
func (e examiner) transactions(ctx context.Context) ([]store.Finding, error) {
	return list(ctx, e.d, func(s session) store.Finding {
		f := store.Finding{Name: "old_transaction", Level: store.Warning,
			What: fmt.Sprintf("a transaction has been open for %s (%s): the server keeps all rows that were deleted or changed since", ago(s.Seconds), s),
			Do:   s.ending()}
		switch {
		case s.Application == "pg_dump":
			f.Do = "wait for its end; dump from a standby next time"
		case s.State != awaitsStandby:
			f.Do += "; to prevent it, set idle_in_transaction_session_timeout for that user"
		}
		return f
	}, `SELECT `+sessionColumns+`, extract(epoch from clock_timestamp() - a.xact_start)::float8 FROM pg_stat_activity a
		WHERE a.datname = current_database() AND a.backend_type = 'client backend' AND a.pid <> pg_backend_pid() AND (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL)
		AND clock_timestamp() - a.xact_start > $1 * interval '1 second' ORDER BY a.xact_start LIMIT 3`, e.transaction.Seconds())
}

// prepared finds transactions that were prepared for a two-phase commit and not ended.
func (e examiner) prepared(ctx context.Context) ([]store.Finding, error) {
	type transaction struct {
		Name, Owner string
		Seconds     float64
	}
	return list(ctx, e.d, func(p transaction) store.Finding {
		return store.Finding{Name: "prepared_transaction", Level: store.Warning,
			What: fmt.Sprintf("transaction %q of user %s was prepared %s ago and not ended: the server keeps all rows that were deleted or changed since, and its locks", p.Name, p.Owner, ago(p.Seconds)),
			Do:   fmt.Sprintf("ask its owner; then ROLLBACK PREPARED '%s', or COMMIT PREPARED", strings.ReplaceAll(p.Name, "'", "''"))}
	}, `SELECT gid, owner::text, extract(epoch from clock_timestamp() - prepared)::float8 FROM pg_prepared_xacts
		WHERE database = current_database() AND clock_timestamp() - prepared > $1 * interval '1 second' ORDER BY prepared LIMIT 3`, e.transaction.Seconds())
}

// slots finds replication slots without a consumer, or whose consumer is far behind.
func (e examiner) slots(ctx context.Context) ([]store.Finding, error) {
	type slot struct {
		Name         string
		Active, Rows bool
		Bytes        int64
	}
	return list(ctx, e.d, func(s slot) store.Finding {
		f := store.Finding{Name: "replication_slot", Level: store.Warning}
		who := "has no consumer"
		if s.Active {
			who = "has a consumer that is far behind"
		}
		keeps := fmt.Sprintf("the server keeps %d MiB of its log", s.Bytes>>20)
		if s.Rows {
			keeps += ", and old rows"
		}
		f.What = fmt.Sprintf("replication slot %q %s: %s for it", s.Name, who, keeps)
		f.Do = fmt.Sprintf("start its consumer, or SELECT pg_drop_replication_slot('%s')", s.Name)
		return f
	}, `SELECT slot_name::text, active, xmin IS NOT NULL, coalesce(pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END, restart_lsn), 0)::int8 AS bytes
		FROM pg_replication_slots WHERE NOT temporary
		AND (NOT active OR pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END, restart_lsn) > $1) ORDER BY bytes DESC LIMIT 3`, e.log)
}

// locks finds sessions that hold a lock for which others wait at bellman's tables, or a lock on a
// whole table, for which the next commit waits. The server does not show every user since when a
// session has had a lock.
func (e examiner) locks(ctx context.Context) ([]store.Finding, error) {
	return list(ctx, e.d, func(s session) store.Finding {
		return store.Finding{Name: "lock", Level: store.Error,
			What: fmt.Sprintf("a session has held a lock on bellman's tables for at least %s (%s): commits wait for it", ago(s.Seconds), s),
			Do:   s.ending()}
	}, `WITH ours AS (
			SELECT l.pid, l.granted AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock') AS whole FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
			WHERE l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND c.relname LIKE 'bellman\_%' AND l.pid <> pg_backend_pid()
		), held AS (
			SELECT b.pid, extract(epoch from clock_timestamp() - q.query_start)::float8 AS seconds FROM pg_stat_activity q, unnest(pg_blocking_pids(q.pid)) b (pid)
			WHERE q.wait_event_type = 'Lock' AND q.pid IN (SELECT pid FROM ours) AND clock_timestamp() - q.query_start > $1 * interval '1 second'
			UNION ALL SELECT a.pid, coalesce(extract(epoch from clock_timestamp() - a.xact_start), 0)::float8 FROM pg_stat_activity a
			WHERE a.usename IS NOT NULL AND a.pid IN (SELECT pid FROM ours WHERE whole) AND (a.xact_start IS NULL OR clock_timestamp() - a.xact_start > $1 * interval '1 second')
		)
		SELECT `+sessionColumns+`, w.seconds FROM (SELECT pid, max(seconds) AS seconds FROM held GROUP BY pid) w JOIN pg_stat_activity a ON a.pid = w.pid ORDER BY w.seconds DESC LIMIT 3`, e.lock.Seconds())
}

// tables finds tables with many dead rows, and tables that were not frozen for long.
func (e examiner) tables(ctx context.Context) ([]store.Finding, error) {
	type table struct {
		Name       string
		Live, Dead int64
		Bytes      int64
		Vacuumed   *time.Time
		Age        int64
	}
	return list(ctx, e.d, func(t table) store.Finding {
		if t.Age > e.xids {
			return store.Finding{Name: "wraparound", Level: store.Error,
				What: fmt.Sprintf("%s has rows that are %d million transactions old: at 2,000 million the server accepts no writes", t.Name, t.Age/1_000_000),
				Do:   "end what keeps old rows (see the other findings), then VACUUM " + t.Name}
		}
		last := "never"
		if t.Vacuumed != nil {
			last = "last " + ago(time.Since(*t.Vacuumed).Seconds()) + " ago"
		}
		return store.Finding{Name: "dead_rows", Level: store.Warning,
			What: fmt.Sprintf("%s has %d dead rows and %d live ones, in %d MiB; it was vacuumed %s", t.Name, t.Dead, t.Live, t.Bytes>>20, last),
			Do:   "end what keeps old rows (see the other findings), then VACUUM " + t.Name}
	}, `SELECT s.relname::text, s.n_live_tup, s.n_dead_tup, pg_total_relation_size(s.relid), greatest(s.last_vacuum, s.last_autovacuum), age(c.relfrozenxid)::int8
		FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid WHERE s.relname LIKE 'bellman\_%'
		AND (s.n_dead_tup > $1 AND s.n_dead_tup > $2 * s.n_live_tup OR age(c.relfrozenxid) > $3) ORDER BY s.n_dead_tup DESC LIMIT 5`, e.dead, int64(deadPerLive), e.xids)
}

// connections compares what the server, the database and the user may have with what is used.
func (e examiner) connections(ctx context.Context) ([]store.Finding, error) {
	type limit struct {
		What       string
		Most, Used int64
	}
	found, err := list(ctx, e.d, func(l limit) store.Finding {
		return store.Finding{Name: "connections", Level: store.Warning, What: fmt.Sprintf("%d of at most %d connections %s are in use", l.Used, l.Most, l.What),
			Do: "raise that limit, or lower connections in the address of each node: a start that gets none fails with 53300"}
	}, `SELECT what, most, used FROM (
			SELECT 'to the server (max_connections)' AS what, current_setting('max_connections')::int8 - current_setting('superuser_reserved_connections')::int8 AS most,
				(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS used
			UNION ALL SELECT 'to the database (its connection limit)', datconnlimit, (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database())
				FROM pg_database WHERE datname = current_database() AND datconnlimit >= 0
			UNION ALL SELECT 'of the user (its connection limit)', rolconnlimit, (SELECT count(*) FROM pg_stat_activity WHERE usename = current_user)
				FROM pg_roles WHERE rolname = current_user AND rolconnlimit >= 0
		) l WHERE used > $1::float8 * most`, e.used)
	if n := e.d.pool.Config().MaxConns; n < fewConnections {
		found = append(found, sqlstore.FewConnections(int(n)))
	}
	return found, err
}

// ago is a duration for people.
func ago(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}
