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

// TestMigrateTogether creates the tables by many who do not wait for one another, as
// on the members of a Galera cluster: a lock by name is one member's alone.
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

// together is a database at which nobody is alone.
type together struct{ sqlstore.Driver }

func (together) Alone(_ context.Context, f func() error) error { return f() }

// TestSession looks at what each session is told, whatever the server's defaults are.
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

// TestLostReply lets the server take longer than an answer may take: the store
// must not wait for ever.
func TestLostReply(t *testing.T) {
	ctx := context.Background()
	d, err := connect(ctx, newDatabase(t), Options{Answer: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	err = d.Read(ctx, &sqlstore.Statement{Name: "sleep", Text: "SELECT SLEEP(20)", Each: func(sqlstore.Row) error { return nil }})
	if kind := d.Kind(err); kind != sqlstore.Lost {
		t.Errorf("Read() = %v, of kind %d; want the connection lost, and no answer waited for", err, kind)
	}
}

// TestInserts looks at how rows are spread over packets.
func TestInserts(t *testing.T) {
	body := func(n int) []byte { return make([]byte, n) }
	in := &sqlstore.Insert{Into: "t", Columns: []sqlstore.Column{{Name: "a", Values: [][]byte{body(10), body(900), body(10), nil, body(5000), body(10)}}}}
	d := &database{packet: 1000}
	var rows []int
	for text, args := range d.inserts(in) {
		if got := strings.Count(text, "(?)"); got != len(args) {
			t.Errorf("%q has %d rows and %d values", text, got, len(args))
		}
		rows = append(rows, len(args))
	}
	if want := []int{4, 1, 1}; !slices.Equal(rows, want) {
		t.Errorf("rows of each statement: %v, want %v", rows, want)
	}
}
