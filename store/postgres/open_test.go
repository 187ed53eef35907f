package postgres

import (
	"context"
	"testing"

	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
	"github.com/bellmanhq/bellman/store"
)

func TestOpenByMany(t *testing.T) {
	url := newDatabase(t)
	sqltest.OpenByMany(t, func() (store.Store, error) {
		return Open(context.Background(), url, Options{Connections: 2, Shards: 8})
	})
	if err := Migrate(context.Background(), url, Options{}); err != nil { // again: nothing to do
		t.Errorf("Migrate() = %v", err)
	}
}

func TestMigrateGoesOn(t *testing.T) {
	url := newDatabase(t)
	sqltest.GoesOn(t, connectTest(t, url), func() store.Store { return openTest(t, url, Options{Shards: 8}) })
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

func TestMigrateFromTheFirst(t *testing.T) {
	url := newDatabase(t)
	sqltest.FromFirst(t, connectTest(t, url), "DROP INDEX bellman_ended_finished",
		func() (store.Store, error) { return Open(context.Background(), url, Options{NoMigrate: true}) },
		func() sqlstore.Driver { return connectWith(t, url, Options{Stopped: sqltest.Stopped}) })
}

func TestMigrateFromTheSecond(t *testing.T) {
	sqltest.FromSecond(t, connectTest(t, newDatabase(t)), "ALTER TABLE bellman_ended DROP COLUMN attempt")
}
