package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/storetest"
)

// address is the server that the tests use. Each test creates its own database there.
func address() string {
	if a := os.Getenv("BELLMAN_TEST_MYSQL"); a != "" {
		return a
	}
	return "mysql://root@127.0.0.1:3306/mysql"
}

// raw opens an address without the settings of the store.
func raw(t testing.TB, address string) *sql.DB {
	t.Helper()
	config, err := parseURL(address)
	if err != nil {
		t.Fatal(err)
	}
	config.MultiStatements = true
	connector, err := driver.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { db.Close() })
	return db
}

// newDatabase creates a database that is dropped when the test ends, and returns its address.
// Without a server the test is skipped, unless the environment names a server.
func newDatabase(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	u, err := url.Parse(address())
	if err != nil {
		t.Fatal(err)
	}
	db := raw(t, address())
	if err := db.PingContext(ctx); err != nil {
		if os.Getenv("BELLMAN_TEST_MYSQL") != "" {
			t.Fatal(err) // the environment asks for these tests
		}
		t.Skipf("no MySQL or MariaDB at %s (set BELLMAN_TEST_MYSQL to another): %v", u.Redacted(), err)
	}
	id := bellman.NewID()
	name := fmt.Sprintf("bellman_test_%x", id[:])
	if _, err := db.ExecContext(ctx, "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := db.Exec("DROP DATABASE " + name); err != nil {
			t.Errorf("drop database %s: %v", name, err)
		}
	})
	u.Path = "/" + name
	return u.String()
}

// openTest opens a store that is closed when the test ends.
func openTest(t testing.TB, url string, o Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return s
}

func TestStore(t *testing.T) {
	url := newDatabase(t)
	storetest.Run(t, func(t *testing.T) store.Store {
		s := openTest(t, url, Options{Connections: 4})
		empty(t, url)
		return s
	})
}

// empty deletes everything that earlier tests left in the database.
func empty(t testing.TB, url string) {
	t.Helper()
	db := raw(t, url)
	for _, table := range []string{"task", "alias", "live", "ended", "attempt", "depth", "count", "order", "node", "doc", "audit"} {
		if _, err := db.Exec("DELETE FROM bellman_" + table); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Exec("UPDATE bellman_shard SET owner = ''"); err != nil {
		t.Fatal(err)
	}
}
