package main

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/bench/scratch/scratchtest"
	"github.com/bellmanhq/bellman/internal/eventually"
)

// TestMove moves an embedded store to PostgreSQL. The command is killed on the way and started
// again, and then a server runs on the target. The merchant gets each notification once.
func TestMove(t *testing.T) {
	t.Parallel()
	target := scratchtest.New(t, "postgres").URL
	dir := filepath.Join(t.TempDir(), "data")
	merchants := &witness{seen: map[string][]sight{}, more: make(chan struct{}, 1)}
	address := merchants.listen(t)
	old := serveStore(t, dir)
	api := old.client()
	const heard, waiting = 300, 5000
	create := func(from, to int) {
		t.Helper()
		for ; from < to; from += 500 {
			var batch []client.CreateTask
			for n := from; n < min(from+500, to); n++ {
				batch = append(batch, client.CreateTask{Queue: "default", Key: fmt.Sprint(n), URL: address, MerchantNo: "M1", Timeout: "5m",
					Success: "success_text", JSON: json.RawMessage(fmt.Sprintf(`{"n":%d}`, 8*n))})
			}
			results, err := api.CreateBatch(t.Context(), batch)
			if err != nil || len(results) != len(batch) {
				t.Fatalf("%d results, %v", len(results), err)
			}
		}
	}
	create(0, heard)
	merchants.await(t, heard)
	if err := api.PauseQueue(t.Context(), "default", client.Because{Reason: "moving"}); err != nil {
		t.Fatal(err)
	}
	create(heard, heard+waiting)
	from := "pebble:" + dir
	if r := run(t, "move", "--from", from, "--to", target); r.status != 1 || !strings.Contains(r.errors, "stop") && !strings.Contains(r.errors, "another process") {
		t.Fatalf("a move while the server has the directory open: status %d\n%s", r.status, r.errors)
	}
	old.stop()
	before := must(t, "export", "--store", from)
	if n := strings.Count(before, "\n"); n != heard+waiting {
		t.Fatalf("%d tasks are exported; want %d", n, heard+waiting)
	}
	if dry := must(t, "move", "--from", from, "--to", target, "--dry-run"); !strings.Contains(dry, "5,000 tasks wait, 300 have ended; 2 documents, 1 audit records") {
		t.Errorf("the dry run printed %s", dry)
	}

	// On a busy machine a move may be over before the test can kill it: then there is another.
	spare := os.DirFS(copyOf(t, os.DirFS(dir)))
	for try := 1; ; try++ {
		killed := moving(t, from, target)
		killed.await(&killed.log, "moving: ")
		killed.kill()
		if !killed.cmd.ProcessState.Success() {
			break
		}
		if try == 10 {
			t.Fatal("every move had finished before it was killed, so the test shows nothing")
		}
		from, target = "pebble:"+copyOf(t, spare), scratchtest.New(t, "postgres").URL
	}
	for _, store := range []string{from, target} {
		if r := run(t, "serve", "--listen", "127.0.0.1:0", "--store", store); r.status != 1 || !strings.Contains(r.errors, "being moved") {
			t.Errorf("a server on %s during the move: status %d; want 1\n%s", store, r.status, r.errors)
		}
	}
	if out := must(t, "move", "--from", from, "--to", target); !strings.Contains(out, "5,000 tasks wait, 300 have ended") {
		t.Errorf("the move printed %q", out)
	}
	if after := must(t, "export", "--store", target); after != before {
		t.Errorf("the export after the move has %d bytes, and %d before; want the same bytes", len(after), len(before))
	}
	if r := run(t, "serve", "--listen", "127.0.0.1:0", "--store", from); r.status != 2 || !strings.Contains(r.errors, "were moved to postgres://") {
		t.Errorf("a server on the old store: status %d; want 2\n%s", r.status, r.errors)
	}
	if out := must(t, "move", "--from", from, "--to", target); !strings.Contains(out, "0 tasks written") {
		t.Errorf("the same move again printed %q", out)
	}

	next := start(t, nil, "--store", target)
	api = next.client()
	queues, err := api.Queues(t.Context())
	if err != nil || len(queues.Queues) != 1 || queues.Queues[0].Paused == nil {
		t.Fatalf("queues %+v, %v; want one that is paused", queues, err)
	}
	create(0, heard) // with the same keys, so these are not new
	if err := api.ResumeQueue(t.Context(), "default", client.Because{}); err != nil {
		t.Fatal(err)
	}
	merchants.await(t, heard+waiting)
	next.stop()
	for id, sights := range merchants.look() {
		if len(sights) != 1 {
			t.Errorf("task %s was delivered %d times; want once", id, len(sights))
		}
	}
	if n := len(merchants.look()); n != heard+waiting {
		t.Errorf("%d tasks were delivered; want %d", n, heard+waiting)
	}
}

// A payout is requested, and the server is killed before the answer. After a move the gateway is
// queried first: the request is not sent again without a query.
func TestMoveAfterCrash(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var asked []string // since the last kill
	seen := func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(asked)
	}
	gateway := receive(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		mu.Lock()
		asked = append(asked, r.Method)
		mu.Unlock()
		if r.Method == http.MethodPost {
			<-r.Context().Done() // the answer never comes
			return
		}
		io.WriteString(w, `{"state":"arrived","no":"1-R1"}`)
	})
	dir := t.TempDir()
	settings := filepath.Join(dir, "bellman.yaml")
	write(t, settings, fmt.Sprintf(`
queues:
  tell: {url: "http://127.0.0.1:1/"}
  payouts:
    kind: poll
    query: {url: "%s/{ref_no}"}
    request: {method: POST, url: "%[1]s/", body: '{"no": "{ref_no}"}'}
    states: {done: json.state == "arrived", failed: json.state == "lost", waiting: json.state == "busy"}
    about: json.no
    schedule: "0s, 1h*"
    then: tell
`, gateway))
	from, to := filepath.Join(dir, "old"), filepath.Join(dir, "new")
	old := serveStore(t, from, "--config", settings)
	if _, _, err := old.client().Create(t.Context(), client.CreateTask{Queue: "payouts", MerchantNo: "M1", OrderNo: "1", RefNo: "1-R1"}); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "requested", func() bool { return slices.Equal(seen(), []string{"POST"}) })
	old.kill()
	mu.Lock()
	asked = nil
	mu.Unlock()
	must(t, "move", "--from", "pebble:"+from, "--to", "pebble:"+to)
	next := serveStore(t, to, "--config", settings)
	eventually.True(t, "asked after the move", func() bool { return len(seen()) > 0 })
	next.stop()
	if got := seen(); !slices.Equal(got, []string{"GET"}) {
		t.Errorf("after the move the gateway got %q; want a query, and no second request", got)
	}
}

// copyOf copies a directory into a new one.
func copyOf(t *testing.T, of fs.FS) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(dir, of); err != nil {
		t.Fatal(err)
	}
	return dir
}

// moving starts a move as a process that can be killed.
func moving(t *testing.T, from, to string) *process {
	p := &process{t: t, exited: make(chan struct{})}
	p.cmd = exec.Command(binary, "move", "--from", from, "--to", to)
	p.cmd.Env = environment()
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.cmd.Wait() // the status is in ProcessState
		close(p.exited)
	}()
	t.Cleanup(p.kill)
	return p
}
