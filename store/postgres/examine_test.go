//go:build unix

package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/eventually"
	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
	"github.com/bellmanhq/bellman/store"
)

// ownServer starts a PostgreSQL with bad settings and returns its address. Without initdb the test
// is skipped.
func ownServer(t *testing.T, settings ...string) string {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	initdb, _ := exec.LookPath("initdb")
	if found = append(found, initdb); err != nil || slices.Max(found) == "" {
		t.Skip("no PostgreSQL server on this machine")
	}
	bin := filepath.Dir(slices.Max(found))
	own := sqltest.NewOwn(t, "postgres")
	data := filepath.Join(own.Dir, "data")
	if out, err := own.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	args := []string{"-D", data, "-p", own.Port, "-k", own.Dir, "-c", "listen_addresses=127.0.0.1", "-c", "shared_buffers=16MB"}
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	own.Start(t, syscall.SIGQUIT, filepath.Join(bin, "postgres"), args...)
	address := "postgres://postgres@127.0.0.1:" + own.Port + "/postgres?sslmode=disable"
	eventually.True(t, "the server answers", func() bool {
		conn, err := pgx.Connect(t.Context(), address)
		if err == nil {
			conn.Close(t.Context())
		}
		return err == nil
	})
	return address
}

// TestExamine makes each condition that hurts, and sees it found with who and what to do.
func TestExamine(t *testing.T) {
	ctx := t.Context()
	address := ownServer(t, "fsync=off", "full_page_writes=off", "autovacuum=off", "max_prepared_transactions=5", "max_connections=40")
	as := func(user string) string {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.User(user)
		return u.String()
	}
	connectAs := func(user, application string) *pgx.Conn {
		t.Helper()
		conn, err := pgx.Connect(ctx, as(user)+"&application_name="+application)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close(context.Background()) })
		return conn
	}
	do := func(conn *pgx.Conn, text string) {
		t.Helper()
		if _, err := conn.Exec(ctx, text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	// look looks with limits at which everything counts.
	look := func(user string, o Options) map[string]store.Finding {
		t.Helper()
		d, err := connect(ctx, as(user), o)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		e := newExaminer(d)
		e.transaction, e.lock, e.dead = 0, 0, 5000
		list, err := e.all(ctx)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]store.Finding{}
		for _, f := range list {
			found[f.Name] = f
		}
		return found
	}
	// examine looks again if the trial commits took longer than Examine gives them, as they may on a
	// busy machine.
	examine := func(user string, o Options) (found map[string]store.Finding) {
		t.Helper()
		eventually.True(t, "the trial commits end in their time", func() bool {
			found = look(user, o)
			return !strings.Contains(found["fence"].What+found["writes"].What, context.DeadlineExceeded.Error())
		})
		return found
	}
	want := func(found map[string]store.Finding, name string, level store.Level, what, do string) {
		t.Helper()
		f, is := found[name]
		if !is || f.Level != level || !strings.Contains(f.What, what) || !strings.Contains(f.Do, do) {
			t.Errorf("%s = %+v; want level %s, %q, %q; all: %v", name, f, level, what, do, found)
		}
	}

	admin := connectAs("postgres", "admin")
	want(examine("postgres", Options{}), "tables", store.Error, "bellman_schema", "bellman migrate")
	if err := Migrate(ctx, address, Options{}); err != nil {
		t.Fatal(err)
	}
	found := examine("postgres", Options{})
	want(found, "fsync", store.Error, "fsync is off", "fsync = on")
	want(found, "full_page_writes", store.Error, "full_page_writes is off", "full_page_writes = on")
	want(found, "autovacuum", store.Warning, "autovacuum is off", "autovacuum = on")
	if len(found) != 3 {
		t.Errorf("%d findings %v; want the three settings", len(found), found)
	}

	do(admin, "ALTER ROLE postgres SET synchronous_commit = off; CREATE ROLE reader LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader; CREATE ROLE plain LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO plain; CREATE ROLE limited LOGIN SUPERUSER CONNECTION LIMIT 4")
	found = examine("postgres", Options{Connections: 2})
	want(found, "synchronous_commit", store.Warning, "synchronous_commit is off", "synchronous_commit = on")
	want(found, "pool", store.Warning, "2 connections", "connections")
	found = examine("reader", Options{})
	want(found, "hidden_sessions", store.Warning, "reader", "GRANT pg_read_all_stats TO reader")
	want(found, "writes", store.Error, "permission denied", "SELECT, INSERT, UPDATE and DELETE")
	for range 3 {
		connectAs("limited", "crowd")
	}
	want(examine("limited", Options{}), "connections", store.Warning, "4 of at most 4 connections of the user", "raise that limit")

	idle := connectAs("postgres", "report")
	do(idle, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
	want(examine("postgres", Options{}), "old_transaction", store.Warning, fmt.Sprintf("pid %d, user postgres, application \"report\", from 127.0.0.1, idle in transaction", idle.PgConn().PID()),
		fmt.Sprintf("pg_terminate_backend(%d)", idle.PgConn().PID()))
	do(idle, "COMMIT; BEGIN; LOCK TABLE bellman_audit")
	for _, user := range []string{"postgres", "plain"} {
		found = look(user, Options{})
		want(found, "lock", store.Error, fmt.Sprintf("pid %d, ", idle.PgConn().PID()), fmt.Sprintf("pg_terminate_backend(%d)", idle.PgConn().PID()))
		want(found, "writes", store.Error, "failed", "another session holds a lock")
	}
	waiting := connectAs("postgres", "waits")
	waited := make(chan error, 1)
	go func() {
		_, err := waiting.Exec(ctx, "SELECT count(*) FROM bellman_audit")
		waited <- err
	}()
	waitForLocked(t, address)
	want(look("postgres", Options{}), "lock", store.Error, fmt.Sprintf("pid %d, ", idle.PgConn().PID()), fmt.Sprintf("pg_terminate_backend(%d)", idle.PgConn().PID()))
	do(idle, "COMMIT")
	if err := <-waited; err != nil {
		t.Fatal(err)
	}

	do(admin, "CREATE TABLE paid (id INTEGER); BEGIN; INSERT INTO paid VALUES (1); PREPARE TRANSACTION 'half'; SELECT pg_create_physical_replication_slot('forgotten', true)")
	do(admin, "INSERT INTO bellman_audit SELECT i, '00000000-0000-7000-8000-000000000000', '', '', '', '' FROM generate_series(1, 10000) i; DELETE FROM bellman_audit")
	eventually.True(t, "the server counts the dead rows", func() bool {
		found = examine("postgres", Options{})
		return found["dead_rows"].What != ""
	})
	// The commits that were tried added some.
	want(found, "dead_rows", store.Warning, "bellman_audit has 1", "VACUUM bellman_audit")
	want(found, "prepared_transaction", store.Warning, `transaction "half" of user postgres`, "ROLLBACK PREPARED 'half'")
	want(found, "replication_slot", store.Warning, `replication slot "forgotten" has no consumer`, "pg_drop_replication_slot('forgotten')")

	d, err := connect(ctx, address, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	e := newExaminer(d)
	e.xids = 1
	list, err := e.tables(ctx)
	if err != nil || len(list) == 0 || list[0].Name != "wraparound" || list[0].Level != store.Error {
		t.Errorf("tables() = %v, %v; want wraparound", list, err)
	}
}

// TestCancelledCommit cancels a COMMIT that waits for a synchronous standby, as an operator does
// who sees it hang. The server answers that it has committed, although the promotion of a standby
// would lose the transaction.
func TestCancelledCommit(t *testing.T) {
	ctx := t.Context()
	address := ownServer(t, "synchronous_standby_names=nobody")
	if err := Migrate(ctx, address+"&synchronous_commit=local", Options{}); err != nil {
		t.Fatal(err)
	}
	s := openTest(t, address, Options{})
	admin, err := pgx.Connect(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(context.WithoutCancel(ctx))
	committed := make(chan error, 1)
	go func() { committed <- s.Commit(ctx, sqltest.Adds(1, 1, time.Now())) }()
	eventually.True(t, "a COMMIT waits for the standby", func() (waits bool) {
		if err := admin.QueryRow(ctx, "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'").Scan(&waits); err != nil {
			t.Fatal(err)
		}
		return waits
	})
	e := newExaminer(s.d)
	e.transaction = 0
	if found, err := e.transactions(ctx); err != nil || len(found) != 1 || !strings.Contains(found[0].What, awaitsStandby) || !strings.Contains(found[0].Do, "do not end the session") {
		t.Errorf("findings %+v, %v; want one that says what the COMMIT waits for, and not to end it", found, err)
	}
	if _, err := admin.Exec(ctx, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"); err != nil {
		t.Fatal(err)
	}
	if err := <-committed; !errors.Is(err, bellman.ErrUnknown) {
		t.Errorf("Commit() = %v; want ErrUnknown", err)
	}
}
