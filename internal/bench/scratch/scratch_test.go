package scratch

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/server"
	"github.com/bellmanhq/bellman/store"
)

// servers are the servers of the tests of postgres and mysql.
var servers = []struct{ name, variable, url string }{
	{"postgres", "BELLMAN_TEST_POSTGRES", "postgres://postgres@127.0.0.1:5432/postgres?sslmode=disable"},
	{"mysql", "BELLMAN_TEST_MYSQL", "mysql://root@127.0.0.1:3306/mysql"},
}

// each runs a test in a new database on each available server.
func each(t *testing.T, f func(t *testing.T, d *Database)) {
	for _, s := range servers {
		t.Run(s.name, func(t *testing.T) {
			url := s.url
			if given := os.Getenv(s.variable); given != "" {
				url = given
			}
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
			defer cancel()
			server, err := Connect(ctx, url)
			if err != nil {
				if os.Getenv(s.variable) != "" {
					t.Fatal(err) // the environment asks for these tests
				}
				t.Skipf("no server (set %s to one): %v", s.variable, err)
			}
			defer server.Close()
			d := server.Database(Name())
			if err := d.Create(ctx); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := d.Drop(context.Background()); err != nil {
					t.Error(err)
				}
			}()
			f(t, d)
		})
	}
}

// opened opens the store in a database.
func opened(t *testing.T, d *Database) store.Store {
	t.Helper()
	s, err := server.OpenStore(t.Context(), d.URL, server.StoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// bellman can read a filled store: every task through every index, and the counters agree.
func TestFill(t *testing.T) {
	each(t, func(t *testing.T, d *Database) {
		const tasks = 1234
		ctx := t.Context()
		s := opened(t, d)
		due := time.Now().Add(24 * time.Hour).Truncate(time.Millisecond).UTC()
		first := &bellman.Task{ID: bellman.NewID(), Queue: "default", Key: "first", MerchantNo: "M", OrderNo: "1", URL: "http://127.0.0.1/notify",
			Body: []byte(`{"a":1}`), Status: bellman.Status{Version: 1, Began: due, Due: due, VisibleAt: due, Updated: due}}
		if err := s.Commit(ctx, &store.Batch{Adds: []store.Add{{Task: first}}}); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := d.Fill(ctx, tasks, due, time.Minute); err != nil {
			t.Fatal(err)
		}
		s = opened(t, d)
		defer s.Close()

		depths, err := s.Depths(ctx)
		if err != nil || len(depths) != 1 || depths[0].Pending != tasks+1 {
			t.Errorf("Depths = %+v, %v; want %d pending", depths, err, tasks+1)
		}
		state, err := s.State(ctx, "")
		if err != nil {
			t.Fatal(err)
		}
		var all []uint16
		for _, shard := range state.Shards {
			all = append(all, shard.Shard)
		}
		entries, err := s.Due(ctx, all, store.Position{}, due.Add(time.Hour).UnixMilli(), tasks+10, nil)
		if err != nil || len(entries) != tasks+1 {
			t.Fatalf("Due = %d entries, %v; want %d", len(entries), err, tasks+1)
		}
		loaded, err := s.Load(ctx, entries)
		if err != nil {
			t.Fatal(err)
		}
		for i, task := range loaded {
			switch {
			case task == nil:
				t.Fatalf("task %s is in the due index, but cannot be loaded", entries[i].ID)
			case string(task.Body) != string(first.Body), task.Due.Before(due), !task.Due.Before(due.Add(time.Minute)), task.State != bellman.Pending:
				t.Fatalf("task = %+v; want one like the first, due within a minute from %v", task, due)
			}
			if id, err := store.Lookup(ctx, s, "default", task.Key); err != nil || id != task.ID {
				t.Fatalf("Lookup(%q) = %v, %v; want %v", task.Key, id, err, task.ID)
			}
		}
		list, _, err := s.List(ctx, store.Filter{OrderNo: "000000000777"}, bellman.ID{}, 10)
		if err != nil || len(list) != 1 || list[0].Key != "M3063/000000000777/paid" && !strings.HasSuffix(list[0].Key, "/000000000777/paid") {
			t.Errorf("List of an order = %v, %v; want its one task", list, err)
		}
		if list, _, err = s.List(ctx, store.Filter{MerchantNo: "M0007"}, bellman.ID{}, 10); err != nil || len(list) == 0 {
			t.Errorf("List of a merchant = %v, %v; want its tasks", list, err)
		}
		if age := time.Since(list[0].ID.Time()); age < -time.Second || age > time.Hour {
			t.Errorf("a task's id has a creation time %v ago; want just now", age)
		}
		if err := d.Fill(ctx, 1, due, time.Minute); err == nil {
			t.Error("Fill of a store with more than one task: no error")
		}
	})
}

// bellman can read a store that is filled with ended tasks, and deletes the oldest of them first.
func TestFillEnded(t *testing.T) {
	each(t, func(t *testing.T, d *Database) {
		const tasks, over = 1234, 100 * time.Hour
		ctx := t.Context()
		s := opened(t, d)
		now := time.Now().Truncate(time.Millisecond).UTC()
		first := &bellman.Task{ID: bellman.NewID(), Queue: "default", Key: "first", MerchantNo: "M", OrderNo: "1", URL: "http://127.0.0.1/notify",
			Body: []byte(`{"a":1}`), Status: bellman.Status{Version: 1, Began: now, Due: now, VisibleAt: now, Updated: now}}
		if err := s.Commit(ctx, &store.Batch{Adds: []store.Add{{Task: first}}}); err != nil {
			t.Fatal(err)
		}
		if err := d.FillEnded(ctx, tasks, over); err == nil {
			t.Error("FillEnded of a store whose task waits: no error")
		}
		ended := first.Status
		ended.Version, ended.State, ended.Finished = 2, bellman.Succeeded, now
		b := &store.Batch{Changes: []store.Change{{ID: first.ID, Version: 1, To: ended}}}
		if err := s.Commit(ctx, b); err != nil || b.Changes[0].Err != nil {
			t.Fatal(err, b.Changes[0].Err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := d.FillEnded(ctx, tasks, over); err != nil {
			t.Fatal(err)
		}
		s = opened(t, d)
		defer s.Close()
		depths := func() (succeeded int64) {
			t.Helper()
			depths, err := s.Depths(ctx)
			if err != nil || len(depths) != 1 || depths[0].Pending != 0 {
				t.Fatalf("Depths = %+v, %v; want none pending", depths, err)
			}
			return depths[0].Succeeded
		}
		if n := depths(); n != tasks+1 {
			t.Errorf("%d succeeded, want %d", n, tasks+1)
		}
		list, _, err := s.List(ctx, store.Filter{MerchantNo: "M0007", State: new(bellman.Succeeded)}, bellman.ID{}, 10)
		if err != nil || len(list) == 0 || string(list[0].Body) != string(first.Body) || list[0].Finished.Sub(list[0].ID.Time()).Abs() > time.Second {
			t.Errorf("List of a merchant = %+v, %v; want its tasks, which ended when they were created", list, err)
		}
		if n, err := s.Prune(ctx, bellman.Succeeded, now.Add(-over/2), 10*tasks); err != nil || n < tasks/2-1 || n > tasks/2+1 {
			t.Errorf("Prune of what ended in the first half of the time = %d, %v; want half of %d", n, err, tasks)
		}
		if n := depths(); n < tasks/2 || n > tasks/2+3 {
			t.Errorf("%d succeeded after that, want %d", n, tasks/2)
		}
	})
}

// A transaction that is held is there until its end, and its end says if the server ended it
// before.
func TestHold(t *testing.T) {
	each(t, func(t *testing.T, d *Database) {
		ctx := t.Context()
		if _, err := d.Hold(ctx); err == nil {
			t.Error("a transaction that reads tasks began although there are none")
		}
		s, err := server.OpenStore(ctx, d.URL, server.StoreOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil { // its tables stay
			t.Fatal(err)
		}
		end, err := d.Hold(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := end(); err != nil {
			t.Errorf("the end of a transaction: %v", err)
		}
		if end, err = d.Hold(ctx); err != nil {
			t.Fatal(err)
		}
		find, kill := `SELECT pid FROM pg_stat_activity WHERE state = 'idle in transaction' AND datname = $1`, "SELECT pg_terminate_backend(%d)"
		if d.server.Kind() != config.Postgres {
			find, kill = `SELECT id FROM information_schema.processlist WHERE command = 'Sleep' AND db = ?`, "KILL %d"
		}
		var id int
		if err := d.server.admin.QueryRowContext(ctx, find, d.name).Scan(&id); err != nil {
			t.Fatal(err)
		}
		if _, err := d.server.admin.ExecContext(ctx, fmt.Sprintf(kill, id)); err != nil {
			t.Fatal(err)
		}
		if err := end(); err == nil {
			t.Error("the server ended the transaction before, and nobody says so")
		}
	})
}

func TestConnectRefuses(t *testing.T) {
	for _, url := range []string{"pebble:x", "", "postgres://127.0.0.1:5432", "oracle://a/b"} {
		if s, err := Connect(t.Context(), url); err == nil {
			s.Close()
			t.Errorf("Connect(%q) = no error", url)
		}
	}
	_, err := Connect(t.Context(), "postgres://who:secret@127.0.0.1:1/none?connect_timeout=2")
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("Connect = %v; want an error without the password", err)
	}
}
