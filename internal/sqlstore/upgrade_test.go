package sqlstore_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/bellmanhq/bellman/store/mysql"
)

// TestOpenByMany opens an empty database from many processes at once, with eight shards. The first
// one creates the tables, and the others wait.
func TestOpenByMany(t *testing.T) { each(t, testOpenByMany) }

func testOpenByMany(t *testing.T, kind database) {
	url := kind.empty(t)
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			s, err := kind.open(context.Background(), url, mysql.Options{Connections: 2, Shards: 8})
			if err != nil {
				t.Errorf("Open() = %v", err)
				return
			}
			if state, err := s.State(context.Background(), ""); err != nil || len(state.Shards) != 8 {
				t.Errorf("%d shards, %v; want 8", len(state.Shards), err)
			}
			if err := s.Close(); err != nil {
				t.Errorf("Close() = %v", err)
			}
		})
	}
	group.Wait()
	if err := kind.migrate(context.Background(), url, mysql.Options{}); err != nil { // the second time there is nothing to do
		t.Errorf("Migrate() = %v", err)
	}
}

// TestMigrateGoesOn creates the tables after an earlier attempt was interrupted. An Open that may
// not change the schema fails. A later Open with eight shards keeps the existing 64.
func TestMigrateGoesOn(t *testing.T) { each(t, testMigrateGoesOn) }

func testMigrateGoesOn(t *testing.T, kind database) {
	url := kind.empty(t)
	d := kind.with(t, url, mysql.Options{}).Driver()
	for _, text := range []string{"DELETE FROM bellman_schema", "DROP TABLE bellman_audit"} {
		must(t, d.Define(context.Background(), text))
	}
	if s, err := kind.open(t.Context(), url, mysql.Options{NoMigrate: true}); err == nil || !strings.Contains(err.Error(), "migrate") {
		t.Errorf("Open() = %v, %v; want an error until the schema is migrated", s, err)
	}
	if state, err := kind.with(t, url, mysql.Options{Shards: 8}).State(context.Background(), ""); err != nil || len(state.Shards) != 64 {
		t.Errorf("%d shards, %v; want the existing 64", len(state.Shards), err)
	}
}
