package postgres

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sqlstore"
)

// TestBinary makes the server return its arguments: numbers at their bounds, bytes that are NULL,
// empty or not text, and lists of them.
func TestBinary(t *testing.T) {
	ctx := context.Background()
	d := connectDriver(t, newDatabase(t))
	id := bellman.NewID()
	var back struct {
		small, whole, big, none int64
		id                      bellman.ID
		null, empty, bytes      []byte
		text                    string
	}
	one := &sqlstore.Statement{Name: "values", Args: []any{int64(-1 << 15), int64(1<<31 - 1), int64(-1 << 63), id, []byte{}, []byte{0, 255, '\''}, "é"},
		Text: `SELECT ?::smallint, ?::integer, ?::bigint, ?::uuid, NULL::bytea, ?::bytea, ?::bytea, ?::text`,
		Each: func(r sqlstore.Row) error {
			return r.Scan(&back.small, &back.whole, &back.big, &back.id, &back.null, &back.empty, &back.bytes, &back.text)
		}}
	var rows []string
	lists := &sqlstore.Statement{Name: "lists", Args: []any{[]bellman.ID{id, {}}, []int64{-1, 1 << 62}, [][]byte{nil, {}}},
		Text: `SELECT unnest(??), unnest(??), unnest(??)`,
		Each: func(r sqlstore.Row) error {
			var id bellman.ID
			var n int64
			var b []byte
			err := r.Scan(&id, &n, &b)
			rows = append(rows, fmt.Sprintf("%x %d %t %d", id[:], n, b == nil, len(b)))
			return err
		}}
	none := &sqlstore.Statement{Name: "an empty list", Args: []any{[]int64{}}, Text: `SELECT COUNT(*) FROM unnest(??)`,
		Each: func(r sqlstore.Row) error { return r.Scan(&back.none) }}
	if err := d.Read(ctx, one, lists, none); err != nil {
		t.Fatal(err)
	}
	if back.small != -1<<15 || back.whole != 1<<31-1 || back.big != -1<<63 || back.none != 0 || back.id != id ||
		back.null != nil || back.empty == nil || len(back.empty) != 0 || !bytes.Equal(back.bytes, []byte{0, 255, '\''}) || back.text != "é" {
		t.Errorf("values came back as %+v; want them as sent", back)
	}
	if want := []string{fmt.Sprintf("%x -1 true 0", id[:]), strings.Repeat("0", 32) + " 4611686018427387904 false 0"}; !slices.Equal(rows, want) {
		t.Errorf("lists came back as %q, want %q", rows, want)
	}
	for text, arg := range map[string]any{`SELECT ?::smallint`: int64(1 << 15), `SELECT ?::integer`: int64(1 << 31), `SELECT ?::uuid`: []byte("no id")} {
		err := d.Read(ctx, &sqlstore.Statement{Name: "wrong", Text: text, Args: []any{arg}, Each: func(sqlstore.Row) error { return nil }})
		if err == nil || !strings.Contains(err.Error(), "wrong: ") || d.Kind(err) != sqlstore.Other {
			t.Errorf("%s of %v = %v, of kind %d; want an error that names the statement, and no retry", text, arg, err, d.Kind(err))
		}
	}
	if err := d.Read(ctx, none); err != nil {
		t.Errorf("the next read on the connection after a wrong argument: %v", err)
	}
	if err := d.Read(ctx, &sqlstore.Statement{Name: "null", Text: `SELECT NULL::bigint`, Each: func(r sqlstore.Row) error { return r.Scan(&back.big) }}); err == nil {
		t.Error("NULL was scanned into a number; want an error")
	}
}

// TestPlansGone removes the plans of a connection, and changes their tables. Statements that fail
// for this are retried with new plans.
func TestPlansGone(t *testing.T) {
	ctx := context.Background()
	s, err := Open(ctx, newDatabase(t), Options{Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Depths(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Attempts(ctx, bellman.NewID(), 0, 1); err != nil {
		t.Fatal(err)
	}
	for _, conn := range s.d.pool.AcquireAllIdle(ctx) {
		if _, err := conn.Conn().PgConn().Exec(ctx, "DEALLOCATE ALL").ReadAll(); err != nil {
			t.Fatal(err)
		}
		conn.Release()
	}
	if _, err := s.Depths(ctx); err != nil {
		t.Errorf("Depths() after the plans were removed: %v", err)
	}
	if _, err := s.Attempts(ctx, bellman.NewID(), 0, 1); err != nil { // prepared again: the connections are new
		t.Fatal(err)
	}
	if _, err := s.d.pool.Exec(ctx, "ALTER TABLE bellman_attempt ALTER COLUMN number TYPE integer"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Attempts(ctx, bellman.NewID(), 0, 1); err != nil {
		t.Errorf("Attempts() after a column was replaced: %v", err)
	}
}

// TestSessionsExchanged sends a connection's statement to the session of another connection, as a
// pooler does that begins to share sessions. The server must not run the statement that has this
// name in the other session. A statement that was never prepared shows that a session was reset: no
// connection may then be used without its settings.
func TestSessionsExchanged(t *testing.T) {
	ctx := context.Background()
	d := connectDriver(t, newDatabase(t))
	var conns [2]*pgx.Conn
	var asks [2]*sqlstore.Statement
	got := int64(-1)
	for i := range conns {
		conn, err := d.acquire(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Release()
		conns[i] = conn.Conn()
		asks[i] = &sqlstore.Statement{Name: "ask", Text: fmt.Sprintf("SELECT %d::bigint", i), Each: func(r sqlstore.Row) error { return r.Scan(&got) }}
		if err := send(ctx, conns[i], asks[i:i+1], plain); err != nil || got != int64(i) {
			t.Fatalf("statement %d = %d, %v", i, got, err)
		}
	}
	conns[0].PgConn().CustomData()[plansKey] = plansOf(conns[1].PgConn())
	got = -1
	err := send(ctx, conns[0], asks[1:], plain)
	if got != -1 || d.Kind(err) != sqlstore.Retry || !strings.Contains(err.Error(), noPooler) {
		t.Errorf("the other connection's statement answers %d, %v; want no answer, and an error that names poolers and is retried", got, err)
	}
	if err := send(ctx, conns[0], asks[1:], plain); err != nil || got != 1 {
		t.Errorf("the statement answers %d, %v when it is prepared again; want 1", got, err)
	}
}

// TestSessionReset resets the sessions of all connections. The settings must be set again.
func TestSessionReset(t *testing.T) {
	ctx := context.Background()
	s, err := Open(ctx, newDatabase(t), Options{Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	conns := s.d.pool.AcquireAllIdle(ctx)
	for i := range conns { // each prepares the statement while the others are in use
		conns[i].Release()
		if _, err := s.Depths(ctx); err != nil {
			t.Fatal(err)
		}
		conns[i] = s.d.pool.AcquireAllIdle(ctx)[0]
	}
	for _, conn := range conns {
		if _, err := conn.Conn().PgConn().Exec(ctx, "DISCARD ALL").ReadAll(); err != nil {
			t.Fatal(err)
		}
	}
	for _, conn := range conns {
		conn.Release()
		if _, err := s.Depths(ctx); err != nil {
			t.Errorf("Depths() after the session was reset: %v", err)
		}
	}
	for _, conn := range s.d.pool.AcquireAllIdle(ctx) {
		var timeout string
		if err := conn.QueryRow(ctx, "SELECT current_setting('lock_timeout')").Scan(&timeout); err != nil || timeout != "3s" {
			t.Errorf("a connection has lock_timeout %q, %v; want 3s", timeout, err)
		}
		conn.Release()
	}
}

// TestManyPlans prepares more statements than a connection keeps.
func TestManyPlans(t *testing.T) {
	ctx := context.Background()
	d := connectDriver(t, newDatabase(t))
	conn, err := d.acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for i := range mostPlans + 20 {
		var got int64
		ask := &sqlstore.Statement{Name: "ask", Text: fmt.Sprintf("SELECT %d::bigint", i), Each: func(r sqlstore.Row) error { return r.Scan(&got) }}
		if err := send(ctx, conn.Conn(), []*sqlstore.Statement{ask, ask}, plain); err != nil || got != int64(i) {
			t.Fatalf("statement %d = %d, %v", i, got, err)
		}
	}
	var kept int
	if err := conn.QueryRow(ctx, "SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'bellman%'").Scan(&kept); err != nil || kept > mostPlans || kept != len(plansOf(conn.Conn().PgConn()).known) {
		t.Errorf("the server keeps %d plans (%v); want at most %d, and as many as the connection knows: %d", kept, err, mostPlans, len(plansOf(conn.Conn().PgConn()).known))
	}
}

func connectDriver(t *testing.T, url string) *database {
	t.Helper()
	d, err := connect(context.Background(), url, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func TestExecMode(t *testing.T) {
	_, err := Open(context.Background(), newDatabase(t)+"&default_query_exec_mode=exec", Options{})
	if err == nil || !strings.Contains(err.Error(), "leave it out") {
		t.Errorf("Open() = %v; want an error that says to omit default_query_exec_mode", err)
	}
}
