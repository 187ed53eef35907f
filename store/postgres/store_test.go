package postgres

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/storetest"
)

// address is the server that the tests use. Each test creates its own database there.
func address() string {
	if a := os.Getenv("BELLMAN_TEST_POSTGRES"); a != "" {
		return a
	}
	return "postgres://postgres@127.0.0.1:5432/postgres?sslmode=disable"
}

// patient is how long a test waits for a condition. It suits a slow and busy machine.
const patient = 5 * time.Minute

// newDatabase creates a database that is dropped when the test ends, and returns its address.
// Without a server the test is skipped, unless the environment names a server.
func newDatabase(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	conn, err := pgx.Connect(ctx, address())
	if err != nil {
		if os.Getenv("BELLMAN_TEST_POSTGRES") != "" {
			t.Fatal(err) // the environment asks for these tests
		}
		t.Skipf("no PostgreSQL at %s (set BELLMAN_TEST_POSTGRES to another): %v", redacted(address()), err)
	}
	defer conn.Close(ctx)
	id := bellman.NewID()
	name := fmt.Sprintf("bellman_test_%x", id[:])
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patient)
		defer cancel()
		conn, err := pgx.Connect(ctx, address())
		if err != nil {
			t.Errorf("drop database %s: %v", name, err)
			return
		}
		defer conn.Close(ctx)
		if _, err := conn.Exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("drop database %s: %v", name, err)
		}
	})
	u, err := url.Parse(address())
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

func redacted(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Redacted()
	}
	return "the given address"
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
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	for _, table := range []string{"task", "alias", "live", "ended", "attempt", "depth", "count", "order", "node", "doc", "audit"} {
		if _, err := conn.Exec(ctx, "DELETE FROM bellman_"+table); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Exec(ctx, "UPDATE bellman_shard SET owner = ''"); err != nil {
		t.Fatal(err)
	}
}
