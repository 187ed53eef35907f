//go:build unix

package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/eventually"
	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
	"github.com/bellmanhq/bellman/store"
)

// ownServer starts a MariaDB with more settings and returns the address of a new database. Without
// mariadbd the test is skipped.
func ownServer(t *testing.T, settings ...string) string {
	t.Helper()
	find := func(name string) string {
		for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/usr/local/sbin") {
			if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return path
			}
		}
		t.Skipf("no %s on this machine", name)
		return ""
	}
	install, daemon := find("mariadb-install-db"), find("mariadbd")
	own := sqltest.NewOwn(t, "mysql")
	first := []string{"--no-defaults", "--tmpdir=" + own.Dir, "--datadir=" + filepath.Join(own.Dir, "data")}
	if out, err := own.Command(install, append(first, "--auth-root-authentication-method=normal")...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	own.Start(t, os.Kill, daemon, slices.Concat(first, []string{"--socket=" + filepath.Join(own.Dir, "socket"), "--pid-file=" + filepath.Join(own.Dir, "pid"),
		"--port=" + own.Port, "--bind-address=127.0.0.1", "--innodb-buffer-pool-size=64M"}, settings)...)
	db, err := sql.Open("mysql", "root@tcp(127.0.0.1:"+own.Port+")/")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	eventually.True(t, "the server answers", func() bool {
		_, err := db.ExecContext(t.Context(), "CREATE DATABASE bellman")
		return err == nil
	})
	return "mysql://root@127.0.0.1:" + own.Port + "/bellman"
}

// TestExamine makes each condition that hurts, and sees it found with who and what to do.
func TestExamine(t *testing.T) {
	ctx := t.Context()
	address := ownServer(t, "--innodb-flush-log-at-trx-commit=2", "--log-bin=log", "--server-id=1", "--sync-binlog=0", "--innodb-doublewrite=0", "--max-allowed-packet=1M", "--max-connections=40")
	// look looks with limits at which everything counts.
	look := func(user string, o Options, used float64) map[string]store.Finding {
		t.Helper()
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.User(user)
		d, err := connect(ctx, u.String(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		e := newExaminer(d)
		e.transaction, e.used = 0, used
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
	examine := func(user string, o Options, used float64) (found map[string]store.Finding) {
		t.Helper()
		eventually.True(t, "the trial commits end in their time", func() bool {
			found = look(user, o, used)
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

	want(examine("root", Options{}, 1), "tables", store.Error, "bellman_schema", "bellman migrate")
	if err := Migrate(ctx, address, Options{}); err != nil {
		t.Fatal(err)
	}
	var found map[string]store.Finding
	eventually.Within(eventually.Limit, func() bool { // the server's own transactions, which write statistics, come and go
		found = examine("root", Options{}, 1)
		return len(found) == 4
	})
	want(found, "innodb_flush_log_at_trx_commit", store.Error, "is 2", "= 1")
	want(found, "sync_binlog", store.Error, "is 0", "= 1")
	want(found, "innodb_doublewrite", store.Error, "is off", "= ON")
	want(found, "max_allowed_packet", store.Warning, "1024 KiB", "16777216")
	if len(found) != 4 {
		t.Errorf("%d findings %v; want the four settings", len(found), found)
	}
	found = examine("root", Options{Connections: 2}, 0)
	want(found, "connections", store.Warning, "of at most 40 connections", "raise max_connections")
	want(found, "pool", store.Warning, "2 connections", "connections")

	db := raw(t, address)
	if _, err := db.ExecContext(ctx, "CREATE USER reader@localhost; GRANT SELECT ON bellman.* TO reader@localhost"); err != nil {
		t.Fatal(err)
	}
	found = examine("reader", Options{}, 1)
	want(found, "hidden_sessions", store.Warning, "other users", "GRANT PROCESS")
	want(found, "writes", store.Error, "denied", "SELECT, INSERT, UPDATE and DELETE")

	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var id int64
	if _, err := conn.ExecContext(ctx, "START TRANSACTION WITH CONSISTENT SNAPSHOT; INSERT INTO bellman_doc (kind, name, value) VALUES ('a', 'b', '')"); err != nil {
		t.Fatal(err)
	}
	if err := conn.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&id); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(200 * time.Millisecond) { // the server makes its list anew only if nobody read it for 100 ms
		if found = examine("root", Options{}, 1); strings.Contains(found["old_transaction"].What, fmt.Sprintf("connection %d,", id)) || time.Now().After(end) {
			break
		}
	}
	want(found, "old_transaction", store.Warning, fmt.Sprintf("connection %d, user root, from ", id), fmt.Sprintf("KILL %d", id))
	if _, err := conn.ExecContext(ctx, "ROLLBACK; XA START 'half'; INSERT INTO bellman_doc (kind, name, value) VALUES ('a', 'c', ''); XA END 'half'; XA PREPARE 'half'"); err != nil {
		t.Fatal(err)
	}
	want(examine("root", Options{}, 1), "prepared_transaction", store.Warning, `"half"`, "XA ROLLBACK")

	// Old rows that a transaction keeps are counted.
	d, err := connect(ctx, address, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}()
	e := newExaminer(d)
	e.history = 0
	if list, err := e.purge(ctx); err != nil || len(list) != 1 || list[0].Name != "history" {
		t.Errorf("purge() = %v, %v; want history", list, err)
	}
}
