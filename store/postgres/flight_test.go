package postgres

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

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
	if _, err := s.d.pool.Exec(ctx, "ALTER TABLE bellman_attempt ALTER COLUMN number TYPE integer"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Attempts(ctx, bellman.NewID(), 0, 1); err != nil {
		t.Errorf("Attempts() after a column was replaced: %v", err)
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
