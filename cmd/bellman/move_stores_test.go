package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/bench/scratch/scratchtest"
)

// TestMoveAmongStores moves one store from kind to kind and back. Its export stays the same, byte
// for byte.
func TestMoveAmongStores(t *testing.T) {
	t.Parallel()
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
			batch = append(batch, client.CreateTask{Queue: "default", Key: fmt.Sprint(n), URL: address, MerchantNo: "M1", Timeout: "5m",
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
	for _, kind := range []string{"postgres", "mysql", "postgres", "redis", "mysql", "redis", "postgres", "pebble"} {
		to := "pebble:" + filepath.Join(dir, "last")
		if kind != "pebble" {
			if !reached(t, kind) {
				continue
			}
			to = scratchtest.New(t, kind).URL
		}
		if dry := must(t, "move", "--from", from, "--to", to, "--dry-run"); !strings.Contains(dry, ": nothing yet, it would be made\n") {
			t.Errorf("the dry run to %s printed %s", kind, dry)
		}
		m := moving(t, from, to)
		if m.end(patient) != 0 {
			t.Fatalf("move to %s: %s", kind, m.log.String())
		}
		if after := must(t, "export", "--store", to); after != before {
			t.Errorf("the export after the move to %[2]s has %[1]d bytes, and %[3]d before; want the same bytes", len(after), kind, len(before))
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
	t.Parallel()
	from, to := scratchtest.New(t, "postgres").URL, "pebble:"+filepath.Join(t.TempDir(), "data")
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

// reached reports whether there is a server of a kind of store. If not, a subtest with the name of
// the kind is skipped.
func reached(t *testing.T, kind string) (there bool) {
	t.Helper()
	t.Run(kind, func(t *testing.T) {
		scratchtest.Server(t, kind)
		there = true
	})
	return there
}
