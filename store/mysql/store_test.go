package mysql

import (
	"context"
	"database/sql"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"github.com/bellmanhq/bellman/internal/bench/scratch/scratchtest"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
	"github.com/bellmanhq/bellman/store/storetest"
)

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
func newDatabase(t testing.TB) string { return scratchtest.New(t, "mysql").URL }

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
	d := scratchtest.New(t, "mysql")
	storetest.Run(t, func(t *testing.T) store.Store {
		s := openTest(t, d.URL, Options{Connections: 4})
		scratchtest.Empty(t, d)
		return s
	})
}

func TestLikeMemory(t *testing.T) {
	d := scratchtest.New(t, "mysql")
	storetest.Like(t, 3, 60, func(t *testing.T) (store.Store, store.Store) {
		s := openTest(t, d.URL, Options{Connections: 4})
		scratchtest.Empty(t, d)
		return s, memory.New()
	})
}
