package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
)

// TestMoveAmongStores moves one store from kind to kind and back. Its export stays the same, byte
// for byte.
func TestMoveAmongStores(t *testing.T) {
	merchants := &witness{seen: map[string][]sight{}, more: make(chan struct{}, 1)}
	address := merchants.listen(t)
	dir := t.TempDir()
	from := "pebble:" + filepath.Join(dir, "first")
	old := start(t, nil, "--store", from)
	const heard, waiting = 30, 40
	create := func(api *client.Client, from, to int) {
		t.Helper()
		var batch []client.CreateTask
		for n := from; n < to; n++ {
			batch = append(batch, client.CreateTask{Queue: "default", Key: fmt.Sprint(n), URL: address, MerchantNo: "M1",
				JSON: json.RawMessage(fmt.Sprintf(`{"n":%d}`, 8*n))})
		}
		results, err := api.CreateBatch(t.Context(), batch)
		if err != nil || len(results) != len(batch) {
			t.Fatalf("%d results, %v", len(results), err)
		}
	}
	api := old.client()
	create(api, 0, heard)
	merchants.await(t, heard)
	if err := api.PauseQueue(t.Context(), "default", client.Because{Reason: "moving"}); err != nil {
		t.Fatal(err)
	}
	create(api, heard, heard+waiting)
	old.stop()
	before := must(t, "export", "--store", from)
	if n := strings.Count(before, "\n"); n != heard+waiting {
		t.Fatalf("%d tasks are exported; want %d", n, heard+waiting)
	}

	moves := 0
	for _, kind := range []struct {
		name   string
		target func(*testing.T) string // skips its test if there is no server
	}{
		{"postgres", emptyPostgres}, {"mysql", emptyMySQL}, {"postgres", emptyPostgres}, {"redis", emptyRedis},
		{"mysql", emptyMySQL}, {"redis", emptyRedis}, {"postgres", emptyPostgres},
		{"pebble", func(*testing.T) string { return "pebble:" + filepath.Join(dir, "last") }},
	} {
		to, there := reached(t, kind.name, kind.target)
		if !there {
			continue
		}
		if dry := must(t, "move", "--from", from, "--to", to, "--dry-run"); !strings.Contains(dry, ": nothing yet, it would be made\n") {
			t.Errorf("the dry run to %s printed %s", kind.name, dry)
		}
		m := moving(t, from, to)
		if m.end(patient) != 0 {
			t.Fatalf("move to %s: %s", kind.name, m.log.String())
		}
		if after := must(t, "export", "--store", to); after != before {
			t.Errorf("the export after the move to %[2]s has %[1]d bytes, and %[3]d before; want the same bytes", len(after), kind.name, len(before))
		}
		if r := run(t, "move", "--from", from, "--to", "pebble:"+filepath.Join(dir, "other")); r.status != 1 || !strings.Contains(r.errors, "they go on there") {
			t.Errorf("a second move out of the old store: status %d, %q; want an error", r.status, r.errors)
		}
		from = to
		moves++
	}
	if moves < 1 {
		t.Fatal("no other kind of store has a server, so the test shows nothing")
	}
	if out := must(t, "check", "--store", from); !strings.Contains(out, "all agree") {
		t.Errorf("check printed %q", out)
	}
	next := start(t, nil, "--store", from)
	api = next.client()
	create(api, 0, heard) // with the same keys, so these are not new
	if err := api.ResumeQueue(t.Context(), "default", client.Because{}); err != nil {
		t.Fatal(err)
	}
	merchants.await(t, heard+waiting)
	next.stop()
	seen := merchants.look()
	for id, sights := range seen {
		if len(sights) != 1 {
			t.Errorf("task %s was delivered %d times; want once", id, len(sights))
		}
	}
	if len(seen) != heard+waiting {
		t.Errorf("%d tasks were delivered; want %d", len(seen), heard+waiting)
	}
}

// TestMoveBesideServer moves a database while its server runs. The command says that the server has
// to stop, waits for this, and moves the tasks that were added meanwhile.
func TestMoveBesideServer(t *testing.T) {
	from, to := emptyPostgres(t), "pebble:"+filepath.Join(t.TempDir(), "data")
	old := start(t, nil, "--store", from)
	api := old.client()
	add := func(n int) {
		t.Helper()
		if _, _, err := api.Create(t.Context(), client.CreateTask{Queue: "default", Key: fmt.Sprint(n), URL: "https://merchant.example/", Delay: "1h", Body: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 20 {
		add(n)
	}
	m := moving(t, from, to)
	if said := m.await(&m.log, "waiting: stop the servers of "); !strings.Contains(said, "now; still there: ") {
		t.Errorf("the move printed %q", said)
	}
	add(20) // the server goes on until it is stopped
	if r := run(t, "serve", "--listen", "127.0.0.1:0", "--store", from); r.status != 1 || !strings.Contains(r.errors, "being moved to") {
		t.Errorf("another server on the source: status %d, %q; want an error", r.status, r.errors)
	}
	old.stop()
	if m.end(patient) != 0 {
		t.Fatalf("move: %s", m.log.String())
	}
	if n := strings.Count(must(t, "export", "--store", to), "\n"); n != 21 {
		t.Errorf("%d tasks are in the target; want 21", n)
	}
	for _, back := range [][]string{{"move", "--from", to, "--to", from, "--dry-run"}, {"move", "--from", to, "--to", from}} {
		if r := run(t, back...); r.status != 1 || !strings.Contains(r.errors, "the target is not empty") {
			t.Errorf("%q, back into a store that is not empty: status %d, %q; want an error", back, r.status, r.errors)
		}
	}
}

// reached creates a target that is deleted when the test ends. Without a server of its kind, a
// subtest with the name of the kind is skipped.
func reached(t *testing.T, kind string, target func(*testing.T) string) (to string, there bool) {
	t.Helper()
	t.Run(kind, func(t *testing.T) {
		target(t)
		there = true
	})
	if !there {
		return "", false
	}
	return target(t), true
}

// emptyMySQL returns the URL of a new database for one test.
func emptyMySQL(t *testing.T) string {
	address, named := os.LookupEnv("BELLMAN_TEST_MYSQL")
	if !named {
		address = "mysql://root@127.0.0.1:3306/mysql"
	}
	id := bellman.NewID()
	name := fmt.Sprintf("bellman_test_%x", id[:])
	if err := execMySQL(address, "CREATE DATABASE "+name); err != nil {
		if named {
			t.Fatal(err)
		}
		t.Skipf("no server (set BELLMAN_TEST_MYSQL to one): %v", err)
	}
	t.Cleanup(func() {
		if err := execMySQL(address, "DROP DATABASE "+name); err != nil {
			t.Error(err)
		}
	})
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

// emptyRedis returns the URL of a store in Redis with a prefix for one test.
func emptyRedis(t *testing.T) string {
	address, named := os.LookupEnv("BELLMAN_TEST_REDIS")
	if !named {
		address = "redis://127.0.0.1:6379/0"
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	bare := *u
	bare.RawQuery = ""
	o, err := goredis.ParseURL(bare.String())
	if err != nil {
		t.Fatal(err)
	}
	c := goredis.NewClient(o)
	if err := c.Ping(t.Context()).Err(); err != nil {
		c.Close()
		if named {
			t.Fatal(err)
		}
		t.Skipf("no server (set BELLMAN_TEST_REDIS to one): %v", err)
	}
	id := bellman.NewID()
	prefix := fmt.Sprintf("test-%x", id[:])
	t.Cleanup(func() {
		defer c.Close()
		keys := c.Scan(context.Background(), 0, "{"+prefix+"}*", 1000).Iterator()
		for keys.Next(context.Background()) {
			if err := c.Del(context.Background(), keys.Val()).Err(); err != nil {
				t.Error(err)
			}
		}
		if err := keys.Err(); err != nil {
			t.Error(err)
		}
	})
	query := u.Query()
	query.Set("prefix", prefix)
	query.Set("durability", "none")
	u.RawQuery = query.Encode()
	return u.String()
}
