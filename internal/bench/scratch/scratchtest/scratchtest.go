// Package scratchtest gives each test a database of its own, in the servers that tests use.
package scratchtest

import (
	"cmp"
	"context"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/bench/scratch"
)

// servers are the servers that tests use, by kind of store, and the variables that name others.
var servers = map[string]struct{ variable, url string }{
	"postgres": {"BELLMAN_TEST_POSTGRES", "postgres://postgres@127.0.0.1:5432/postgres?sslmode=disable"},
	"mysql":    {"BELLMAN_TEST_MYSQL", "mysql://root@127.0.0.1:3306/mysql"},
	"redis":    {"BELLMAN_TEST_REDIS", "redis://127.0.0.1:6379/0"},
}

// patience is the longest time for creating or dropping a database on a busy machine.
const patience = 5 * time.Minute

// Server connects to the server of a kind: postgres, mysql or redis. It returns the server's
// address too. Without a server the test is skipped, unless the environment names one. These tests
// do not need a durable Redis.
func Server(t testing.TB, kind string) (address string, s *scratch.Server) {
	t.Helper()
	usual := servers[kind]
	address = cmp.Or(os.Getenv(usual.variable), usual.url)
	if kind == "redis" {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		query := u.Query()
		query.Set("durability", "none")
		u.RawQuery = query.Encode()
		address = u.String()
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := scratch.Connect(ctx, address)
	if err != nil {
		if os.Getenv(usual.variable) != "" {
			t.Fatal(err) // the environment asks for this test
		}
		t.Skipf("no server (set %s to one): %v", usual.variable, err)
	}
	t.Cleanup(func() { s.Close() })
	return address, s
}

// New creates an empty database on the server of a kind. It is dropped when the test ends.
func New(t testing.TB, kind string) *scratch.Database {
	t.Helper()
	_, server := Server(t, kind)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	d := server.Database(scratch.Name())
	if err := d.Create(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := d.Drop(ctx); err != nil {
			t.Error(err)
		}
	})
	return d
}

// Empty deletes everything that a store keeps in a database.
func Empty(t testing.TB, d *scratch.Database) {
	t.Helper()
	texts := []string{"UPDATE bellman_shard SET owner = ''"}
	for _, table := range []string{"task", "alias", "live", "ended", "attempt", "depth", "count", "order", "node", "doc", "audit"} {
		texts = append(texts, "DELETE FROM bellman_"+table)
	}
	Run(t, d, texts...)
}

// Run runs statements in one session of a database.
func Run(t testing.TB, d *scratch.Database, texts ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := d.Exec(ctx, texts...); err != nil {
		t.Fatal(err)
	}
}
