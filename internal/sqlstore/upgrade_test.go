package sqlstore_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
	"github.com/bellmanhq/bellman/store"
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

// TestMigrateGoesOn creates the tables after an earlier attempt was interrupted. A later Open with
// eight shards keeps the existing 64.
func TestMigrateGoesOn(t *testing.T) { each(t, testMigrateGoesOn) }

func testMigrateGoesOn(t *testing.T, kind database) {
	url := kind.empty(t)
	d := kind.with(t, url, mysql.Options{}).Driver()
	for _, text := range []string{"DELETE FROM bellman_schema", "DROP TABLE bellman_audit"} {
		must(t, d.Define(context.Background(), text))
	}
	if state, err := kind.with(t, url, mysql.Options{Shards: 8}).State(context.Background(), ""); err != nil || len(state.Shards) != 64 {
		t.Errorf("%d shards, %v; want the existing 64", len(state.Shards), err)
	}
}

// TestMigrateFromTheFirst opens a database with the first version of the schema. If Open may not
// change the schema, it fails. Otherwise it brings the schema to the present version, and
// everything works.
func TestMigrateFromTheFirst(t *testing.T) { each(t, testMigrateFromTheFirst) }

func testMigrateFromTheFirst(t *testing.T, kind database) {
	url := kind.empty(t)
	d := kind.with(t, url, mysql.Options{}).Driver()
	for _, text := range []string{"DELETE FROM bellman_schema WHERE version > 1", "ALTER TABLE bellman_schema DROP COLUMN shards",
		"ALTER TABLE bellman_ended DROP COLUMN attempt", kind.dropIndex, "DROP TABLE bellman_count"} {
		must(t, d.Define(context.Background(), text))
	}
	if s, err := kind.open(t.Context(), url, mysql.Options{NoMigrate: true}); err == nil || !strings.Contains(err.Error(), "migrate") {
		t.Errorf("Open() = %v, %v; want an error until the schema is migrated", s, err)
	}
	pruneAside(t, kind.with(t, url, mysql.Options{Stopped: stopped}).Driver())
}

// TestMigrateFromTheSecond migrates a database with tasks from the second version of the schema to
// the present one. All attempts are in the log, also those of ended tasks.
func TestMigrateFromTheSecond(t *testing.T) { each(t, testMigrateFromTheSecond) }

func testMigrateFromTheSecond(t *testing.T, kind database) {
	d := kind.driver(t)
	ctx := context.Background()
	s, err := sqlstore.New(ctx, d)
	must(t, err)
	now := time.Now().Truncate(time.Millisecond)
	b := sqltest.Adds(0, 3, now)
	must(t, s.Commit(ctx, b))
	must(t, s.Commit(ctx, &store.Batch{Changes: sqltest.Succeed(b, now)[:2]}))
	for _, text := range []string{"ALTER TABLE bellman_ended DROP COLUMN attempt", "DROP TABLE bellman_alias", "DELETE FROM bellman_schema WHERE version > 2",
		`INSERT INTO bellman_attempt (task_id, number, cause, due, started, took_ns, result, status) SELECT id, 1, 0, 5, 6, 7, 1, 201 FROM bellman_ended`} {
		must(t, d.Define(ctx, text))
	}
	for range 2 { // the second time there is nothing to do
		must(t, sqlstore.Migrate(ctx, d, 64))
	}
	s, err = sqlstore.New(ctx, d)
	must(t, err)
	for i, a := range b.Adds {
		task, err := s.Task(ctx, a.Task.ID)
		must(t, err)
		log, err := s.Attempts(ctx, task.ID, 0, 10)
		must(t, err)
		if ended := i < 2; ended != (len(log) == 1 && log[0].Status == 201 && task.Last != nil && *task.Last == log[0]) || !ended && len(log)+int(task.Attempts) > 0 {
			t.Errorf("task %d after the upgrade: %v with last %+v and log %+v", i, task.State, task.Last, log)
		}
	}
	named := sqltest.Task(9, now)
	named.SetAlias("account/9")
	must(t, s.Commit(ctx, &store.Batch{Adds: []store.Add{{Task: named}}}))
	if id, err := store.Lookup(ctx, s, "", named.Alias()); err != nil || id != named.ID {
		t.Errorf("Lookup() of an alias after the upgrade = %v, %v; want %v", id, err, named.ID)
	}
	// The first task goes on, and ends with its second attempt.
	id := b.Adds[0].Task.ID
	move(t, s, id, 2, bellman.Status{Attempts: 1, Due: now, VisibleAt: now}, nil)
	move(t, s, id, 3, bellman.Status{State: bellman.Failed, Attempts: 2, Finished: now}, &bellman.Attempt{Number: 2, Status: 202})
	log, err := s.Attempts(ctx, id, 0, 10)
	must(t, err)
	if len(log) != 2 || log[0].Status != 201 || log[1].Status != 202 {
		t.Errorf("log %+v; want one attempt from before the upgrade and one from after it", log)
	}
}

func move(t *testing.T, s *sqlstore.Store, id bellman.ID, version uint32, to bellman.Status, a *bellman.Attempt) {
	t.Helper()
	b := &store.Batch{Changes: []store.Change{{ID: id, Version: version, To: to, Attempt: a}}}
	must(t, s.Commit(context.Background(), b))
	must(t, b.Changes[0].Err)
}
