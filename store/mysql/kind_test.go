package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/bellmanhq/bellman/internal/sqlstore"
)

func TestKind(t *testing.T) {
	d := &database{}
	for number, want := range map[uint16]sqlstore.Kind{
		1213: sqlstore.Retry, 1020: sqlstore.Retry, 3101: sqlstore.Retry, 9007: sqlstore.Retry, 8022: sqlstore.Retry, 1205: sqlstore.Blocked, 1690: sqlstore.Overflow, 1062: sqlstore.Duplicate,
		1050: sqlstore.Exists, 1060: sqlstore.Exists, 1061: sqlstore.Exists, 1021: sqlstore.Full, 1047: sqlstore.Lost, 1290: sqlstore.Lost, 1792: sqlstore.Lost, 1836: sqlstore.Lost, 1927: sqlstore.Lost,
		1064: sqlstore.Other, 1142: sqlstore.Other, 1048: sqlstore.Other,
	} {
		if got := d.Kind(&sqlstore.Failed{Statement: &sqlstore.Statement{}, Err: &driver.MySQLError{Number: number}}); got != want {
			t.Errorf("Kind(%d) = %d, want %d", number, got, want)
		}
	}
	if got := d.Kind(errLost{driver.ErrInvalidConn}); got != sqlstore.Lost {
		t.Errorf("Kind() of a lost connection = %d, want %d", got, sqlstore.Lost)
	}
}

// TestClock reads the database's clock in sessions with other time zones, and in an hour that
// occurs twice at the end of summer time.
func TestClock(t *testing.T) {
	ctx := context.Background()
	d := connectTest(t, newDatabase(t))
	text, _ := render(&sqlstore.Statement{Text: "SELECT {now}"})
	conn, err := d.db().Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer drop(conn)                                        // so that no other test gets this session's time zone
	twice := time.Date(2026, 10, 25, 1, 30, 0, 0, time.UTC) // 2:30 in Berlin, for the second time
	for _, zone := range []string{"+00:00", "+05:30", "-11:00", "Europe/Berlin"} {
		if _, err := conn.ExecContext(ctx, "SET time_zone = '"+zone+"'"); err != nil {
			t.Logf("%s: %v", zone, err) // the server may not know the names of time zones
			continue
		}
		for _, at := range []time.Time{{}, twice} {
			set := "SET timestamp = DEFAULT"
			if !at.IsZero() {
				set = fmt.Sprintf("SET timestamp = %d", at.Unix())
			}
			if _, err := conn.ExecContext(ctx, set); err != nil {
				t.Fatal(err)
			}
			want := at
			if at.IsZero() {
				want = time.Now()
			}
			var ms int64
			if err := conn.QueryRowContext(ctx, text).Scan(&ms); err != nil {
				t.Fatal(err)
			}
			if got := time.UnixMilli(ms); got.Sub(want).Abs() > 5*time.Second {
				t.Errorf("%s, %s: the clock says %v, want %v", zone, set, got.UTC(), want.UTC())
			}
		}
	}
}

// TestReadOnlyInUse keeps a connection to the old primary busy while another one finds out that the
// primary is read-only. The busy connection is not used again, because it may read old data.
func TestReadOnlyInUse(t *testing.T) {
	d := connectTest(t, newDatabase(t))
	id := func(conn *sql.Conn) (id int) {
		t.Helper()
		if err := conn.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
			t.Fatal(err)
		}
		return id
	}
	take := func() *sql.Conn {
		t.Helper()
		conn, err := d.db().Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	busy := take()
	old := id(busy)
	if !d.demoted(d.db(), &driver.MySQLError{Number: 1290}) {
		t.Fatal("the write to a read-only server succeeded; want an error")
	}
	busy.Close()
	for range d.db().Stats().MaxOpenConnections {
		conn := take()
		defer conn.Close()
		if id(conn) == old {
			t.Fatal("a connection to the old primary is used again; want a new one")
		}
	}
}
