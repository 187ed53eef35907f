package postgres

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
)

// TestOpenByMany opens an empty database from many processes at once: the first
// one creates the tables, the others wait.
func TestOpenByMany(t *testing.T) {
	url := newDatabase(t)
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			s, err := Open(context.Background(), url, Options{Connections: 2, Shards: 8})
			if err != nil {
				t.Errorf("Open() = %v", err)
				return
			}
			if shards, err := s.Shards(context.Background()); err != nil || len(shards) != 8 {
				t.Errorf("%d shards, %v; want 8", len(shards), err)
			}
			if err := s.Close(); err != nil {
				t.Errorf("Close() = %v", err)
			}
		})
	}
	group.Wait()
	if err := Migrate(context.Background(), url, Options{}); err != nil { // again: nothing to do
		t.Errorf("Migrate() = %v", err)
	}
}

// TestMigrateGoesOn creates the tables where it was interrupted before.
func TestMigrateGoesOn(t *testing.T) {
	url := newDatabase(t)
	d := connectTest(t, url)
	for _, text := range []string{"DELETE FROM bellman_schema", "DROP TABLE bellman_audit"} {
		if err := d.Define(context.Background(), text); err != nil {
			t.Fatal(err)
		}
	}
	s := openTest(t, url, Options{})
	if shards, err := s.Shards(context.Background()); err != nil || len(shards) != 64 {
		t.Errorf("%d shards, %v; want the 64 there were", len(shards), err)
	}
}

// TestSession looks at what each session is told, whatever the server's defaults are.
func TestSession(t *testing.T) {
	d := connectTest(t, newDatabase(t))
	want := map[string]string{"transaction_isolation": "read committed", "synchronous_commit": "on", "jit": "off",
		"idle_in_transaction_session_timeout": "3s", "lock_timeout": "3s", "application_name": "bellman"}
	for name, value := range want {
		var have string
		if err := d.pool.QueryRow(context.Background(), "SELECT current_setting($1)", name).Scan(&have); err != nil || have != value {
			t.Errorf("%s = %q, %v; want %q", name, have, err, value)
		}
	}
}

// TestMigrateFromTheFirst opens a database as the first version made it.
func TestMigrateFromTheFirst(t *testing.T) {
	url := newDatabase(t)
	d := connectTest(t, url)
	for _, text := range []string{"DELETE FROM bellman_schema WHERE version > 1", "ALTER TABLE bellman_schema DROP COLUMN shards",
		"ALTER TABLE bellman_ended DROP COLUMN attempt", "DROP INDEX bellman_ended_finished", "DROP TABLE bellman_count"} {
		if err := d.Define(context.Background(), text); err != nil {
			t.Fatal(err)
		}
	}
	if s, err := Open(context.Background(), url, Options{NoMigrate: true}); err == nil || !strings.Contains(err.Error(), "migrate") {
		t.Errorf("Open() = %v, %v; want it refused until it is migrated", s, err)
	}
	sqltest.PruneAside(t, connectTest(t, url))
}

func TestMigrateFromTheSecond(t *testing.T) {
	sqltest.FromSecond(t, connectTest(t, newDatabase(t)), "ALTER TABLE bellman_ended DROP COLUMN attempt")
}
