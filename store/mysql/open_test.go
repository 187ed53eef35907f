package mysql

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
	"github.com/bellmanhq/bellman/store"
)

// TestMigrateTogether creates the tables from many processes that do not wait for each other. This
// happens on a Galera cluster, where a named lock holds on one member only.
func TestMigrateTogether(t *testing.T) {
	for range 5 {
		url := newDatabase(t)
		var group sync.WaitGroup
		for range 4 {
			d, err := connect(t.Context(), url, Options{Connections: 2})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { d.Close() })
			group.Go(func() {
				if err := sqlstore.Migrate(t.Context(), together{d}, 8); err != nil {
					t.Errorf("Migrate() = %v", err)
				}
			})
		}
		group.Wait()
		s := openTest(t, url, Options{})
		if state, err := s.State(t.Context(), ""); err != nil || len(state.Shards) != 8 {
			t.Errorf("%d shards, %v; want 8", len(state.Shards), err)
		}
	}
}

// together is a database without working named locks.
type together struct{ sqlstore.Driver }

func (together) Alone(_ context.Context, f func() error) error { return f() }

// newDatabaseWith creates a database. It returns an address whose sessions have a variable set, and
// sessions without it.
func newDatabaseWith(t *testing.T, name, value string) (address string, other *sql.DB) {
	u, err := url.Parse(newDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	other = raw(t, u.String())
	query := u.Query()
	query.Set(name, value)
	u.RawQuery = query.Encode()
	return u.String(), other
}

// TestAloneWhileIdle holds the lock of a migration for longer than the server lets a session be
// idle.
func TestAloneWhileIdle(t *testing.T) {
	ctx := t.Context()
	address, other := newDatabaseWith(t, "wait_timeout", "1")
	err := connectTest(t, address).Alone(ctx, func() error {
		idle, err := other.Conn(ctx) // the server ends it after the session of the lock
		if err != nil {
			return err
		}
		defer drop(idle)
		var session int64
		_, err = idle.ExecContext(ctx, "SET SESSION wait_timeout = 3")
		if err = errors.Join(err, idle.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&session)); err != nil {
			return err
		}
		for end, there := time.Now().Add(5*time.Minute), 1; there > 0; time.Sleep(10 * time.Millisecond) {
			err := other.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.processlist WHERE id = ?", session).Scan(&there)
			if err != nil || time.Now().After(end) {
				return fmt.Errorf("the server does not end an idle session: %w", err)
			}
		}
		var holder sql.NullInt64
		err = other.QueryRowContext(ctx, "SELECT IS_USED_LOCK(CONCAT('bellman ', LEFT(DATABASE(), 50)))").Scan(&holder)
		if !holder.Valid {
			err = errors.Join(err, errors.New("the lock of the migration is free"))
		}
		return err
	})
	if err != nil {
		t.Errorf("Alone() = %v", err)
	}
}

// TestSession checks the settings of each session, whatever the server's defaults are.
func TestSession(t *testing.T) {
	d := connectTest(t, newDatabase(t))
	want := map[string]string{"innodb_lock_wait_timeout": "3", "lock_wait_timeout": "3", "time_zone": "+00:00",
		"sql_mode": "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"}
	if d.server.mariaDB() {
		want["tx_isolation"], want["idle_transaction_timeout"], want["max_statement_time"] = "READ-COMMITTED", "3", "0"
		u, err := url.Parse(newDatabase(t))
		if err != nil {
			t.Fatal(err)
		}
		u.RawQuery = url.Values{"max_statement_time": {"5"}}.Encode()
		d = connectTest(t, u.String())
	}
	for name, value := range want {
		var have string
		if err := d.db().QueryRow("SELECT @@SESSION." + name).Scan(&have); err != nil || have != value {
			t.Errorf("%s = %q, %v; want %q", name, have, err, value)
		}
	}
}

// TestLockedTable commits while another session has locked the whole table. The error must say so,
// and not that the server cannot be reached.
func TestLockedTable(t *testing.T) {
	ctx := t.Context()
	database := newDatabase(t)
	s := openTest(t, database, Options{Stopped: time.Second})
	other, err := connectTest(t, database).db().Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.ExecContext(ctx, "LOCK TABLES bellman_task WRITE"); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(ctx, sqltest.Adds(1, 1, time.Now())); !errors.Is(err, bellman.ErrLocked) {
		t.Errorf("Commit() while the table is locked = %v; want ErrLocked", err)
	}
	if _, err := other.ExecContext(ctx, "UNLOCK TABLES"); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(ctx, sqltest.Adds(1, 1, time.Now())); err != nil {
		t.Errorf("Commit() afterwards = %v", err)
	}
}

// TestDefaultsOfServers uses sessions whose settings a server can have as its defaults.
func TestDefaultsOfServers(t *testing.T) {
	for name, value := range map[string]string{"autocommit": "0", "sql_safe_updates": "1", "sql_select_limit": "10", "character_set_client": "gbk", "charset": "gbk"} {
		t.Run(name+"="+value, func(t *testing.T) {
			ctx := t.Context()
			u, err := url.Parse(newDatabase(t))
			if err != nil {
				t.Fatal(err)
			}
			database := u.String()
			query := u.Query()
			query.Set(name, value)
			u.RawQuery = query.Encode()
			s := openTest(t, u.String(), Options{})
			sqltest.Everything(t, s.Store)

			if err := errors.Join(s.Join(ctx, store.Node{Name: "n"}, time.Hour), s.Beat(ctx, "n")); err != nil {
				t.Fatal(err)
			}
			var beats int
			if err := raw(t, database).QueryRowContext(ctx, "SELECT beats FROM bellman_node WHERE name = 'n'").Scan(&beats); err != nil || beats != 1 {
				t.Errorf("other sessions see %d heartbeats, %v; want 1", beats, err)
			}

			body := []byte("\xbf' \xbf\\ \xbf\x00 \xbf\"") // in gbk a backslash behind \xbf is a part of that character
			task := sqltest.Task(1, time.Now())
			task.Body = body
			if err := s.Commit(ctx, &store.Batch{Adds: []store.Add{{Task: task}}}); err != nil {
				t.Fatal(err)
			}
			if got, err := s.Task(ctx, task.ID); err != nil || !bytes.Equal(got.Body, body) {
				t.Errorf("Task() = %+v, %v; want the body %q", got, err, body)
			}
		})
	}
}

// TestClaimWaits claims a shard while a commit holds its row, on a server with
// innodb_snapshot_isolation, which MariaDB from 11.6 on has by default. The server rejects the
// claim when the commit is over, because the row has changed since.
func TestClaimWaits(t *testing.T) {
	ctx := t.Context()
	address, other := newDatabaseWith(t, "innodb_snapshot_isolation", "1")
	s, err := Open(ctx, address, Options{})
	if _, is := errors.AsType[*store.AddressError](err); is {
		t.Skip("this server has no innodb_snapshot_isolation")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Join(ctx, store.Node{Name: "n"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	tx, err := other.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "UPDATE bellman_shard SET fence = fence + 1 WHERE shard = 0"); err != nil {
		t.Fatal(err)
	}
	claimed := make(chan error, 1)
	go func() {
		_, err := s.Claim(ctx, "n", 0, 0)
		claimed <- err
	}()
	// The server fills innodb_trx anew only if nobody has read it for 100 ms.
	for end, waiting := time.Now().Add(5*time.Minute), 0; waiting == 0; time.Sleep(250 * time.Millisecond) {
		err := other.QueryRowContext(ctx, `SELECT COUNT(*) FROM information_schema.innodb_trx t JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
			WHERE t.trx_state = 'LOCK WAIT' AND p.db = DATABASE()`).Scan(&waiting)
		if err != nil || time.Now().After(end) {
			t.Fatalf("the claim does not wait for the row: %v", err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-claimed; err != nil {
		t.Errorf("Claim() = %v", err)
	}
}

// TestNoConnectionLeft needs a connection while the server gives the user no more. The call fails
// as if the server could not be reached, and another can succeed as soon as a connection is free.
func TestNoConnectionLeft(t *testing.T) {
	ctx := t.Context()
	u, err := url.Parse(newDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := Migrate(ctx, u.String(), Options{}); err != nil { // it needs more connections
		t.Fatal(err)
	}
	id := bellman.NewID()
	user := fmt.Sprintf("bellman_%x", id[:8])
	admin := raw(t, u.String())
	if _, err := admin.ExecContext(ctx, fmt.Sprintf("CREATE USER %s WITH MAX_USER_CONNECTIONS 2; GRANT ALL ON %s.* TO %[1]s", user, u.Path[1:])); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { admin.ExecContext(context.WithoutCancel(ctx), "DROP USER "+user) })
	u.User = url.User(user)
	d := connectTest(t, u.String())
	s, err := sqlstore.New(ctx, d)
	if err != nil {
		t.Fatal(err)
	}
	var held []*sql.Conn
	for len(held) < 2 {
		if conn, err := d.db().Conn(ctx); err == nil { // the server may still count one that was closed
			held = append(held, conn)
		}
	}
	if _, err := s.Task(ctx, bellman.NewID()); !errors.Is(err, bellman.ErrUnreachable) {
		t.Errorf("Task() without a connection = %v; want ErrUnreachable", err)
	}
	if err := s.Commit(ctx, sqltest.Adds(1, 1, time.Now())); !errors.Is(err, bellman.ErrUnreachable) || errors.Is(err, bellman.ErrUnknown) {
		t.Errorf("Commit() without a connection = %v; want ErrUnreachable", err)
	}
	for _, conn := range held {
		conn.Close()
	}
	if err := s.Commit(ctx, sqltest.Adds(1, 1, time.Now())); err != nil {
		t.Errorf("Commit() with a connection = %v", err)
	}
}

// TestLostReply makes the server answer later than the time limit of an answer. The store must not
// wait forever.
func TestLostReply(t *testing.T) {
	ctx := context.Background()
	d, err := connect(ctx, newDatabase(t), Options{Answer: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	err = d.Read(ctx, &sqlstore.Statement{Name: "sleep", Text: "SELECT SLEEP(20)", Each: func(sqlstore.Row) error { return nil }})
	if kind := d.Kind(err); kind != sqlstore.Lost {
		t.Errorf("Read() = %v, of kind %d; want a lost connection at the time limit", err, kind)
	}
}

// TestInserts checks how rows are divided into packets.
func TestInserts(t *testing.T) {
	body := func(n int) []byte { return make([]byte, n) }
	in := &sqlstore.Insert{Into: "t", Columns: []sqlstore.Column{{Name: "a", Values: [][]byte{body(10), body(900), body(10), nil, body(5000), body(10)}}}}
	d := &database{packet: 1000}
	var rows []int
	for text, args := range d.inserts(in) {
		if got := strings.Count(text, "(?)"); got != len(args) {
			t.Errorf("%q has %d rows and %d values; want the same numbers", text, got, len(args))
		}
		rows = append(rows, len(args))
	}
	if want := []int{4, 1, 1}; !slices.Equal(rows, want) {
		t.Errorf("rows of each statement: %v, want %v", rows, want)
	}
}
