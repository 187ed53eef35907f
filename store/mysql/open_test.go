package mysql

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/sqlstore"
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

// TestSession checks the settings of each session, whatever the server's defaults are.
func TestSession(t *testing.T) {
	d := connectTest(t, newDatabase(t))
	want := map[string]string{"innodb_lock_wait_timeout": "3", "time_zone": "+00:00",
		"sql_mode": "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"}
	if d.server.mariaDB() {
		want["tx_isolation"], want["idle_transaction_timeout"] = "READ-COMMITTED", "3"
	}
	for name, value := range want {
		var have string
		if err := d.db().QueryRow("SELECT @@SESSION." + name).Scan(&have); err != nil || have != value {
			t.Errorf("%s = %q, %v; want %q", name, have, err, value)
		}
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
