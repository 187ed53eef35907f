package torture

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/eventually"
	"github.com/bellmanhq/bellman/internal/freeport"
)

// A backup is a way to copy a store and to make another store from the copy, with the commands of
// docs/backup.md.
type backup struct {
	store   string
	save    func(t *testing.T, from *node) // is called under load
	restore func(t *testing.T) (store string)
}

// A door is a merchant that rejects everything until it is opened.
type door struct {
	open atomic.Bool
	mu   sync.Mutex
	from map[int]int // number of requests, by the node that sent them
}

func (d *door) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	d.mu.Lock()
	d.from[sender(in)]++
	d.mu.Unlock()
	if !d.open.Load() {
		out.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	io.WriteString(out, "success")
}

func (d *door) heard(node int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.from[node]
}

// run saves a store while tasks are created and end, kills its server, and goes on from the copy.
// Nothing that was accepted before the copy is missing. Each schedule continues where it was. A
// server without the queue attempts nothing.
func (b backup) run(t *testing.T) {
	merchant, shut := receive(t), &door{from: map[int]int{}}
	refusing := httptest.NewServer(shut)
	t.Cleanup(refusing.Close)
	old := newNode(t, 0, b.store)
	old.start(t)
	awaitReady(t, old)
	load := create(t, 2, merchant.url, []*node{old}, dice(t))

	const of = 15 // number of tasks of each kind
	tasks := func(name string) (all []client.CreateTask) {
		for n := range of {
			for kind, task := range []client.CreateTask{
				{URL: merchant.url, JSON: fmt.Appendf(nil, `{"n":%d}`, 16*n)},                         // accepted at once
				{URL: merchant.url, JSON: fmt.Appendf(nil, `{"n":%d}`, 16*n), Delay: "2h"},            // waits
				{URL: merchant.url, JSON: fmt.Appendf(nil, `{"n":%d}`, 16*n+1), Schedule: "0s, 3h"},   // rejected once, and waits
				{URL: refusing.URL, JSON: fmt.Appendf(nil, `{"n":%d}`, 16*n), Schedule: "0s, 200ms*"}, // rejected again and again
			} {
				task.Queue, task.Key, task.MerchantNo = "default", fmt.Sprintf("%s/%d/%d", name, kind, n), "M1"
				all = append(all, task)
			}
		}
		return all
	}
	known := tasks("known")
	before := map[string]client.TaskDetail{} // by key
	results, err := unhurried(t, old).CreateBatch(t.Context(), known)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if r.Error != nil {
			t.Fatal(r.Error)
		}
		key := known[i].Key
		eventually.True(t, "attempted: "+key, func() bool {
			task := show(t, old, r.Task.ID)
			before[key] = task
			switch i % 4 {
			case 0:
				return task.State == "succeeded"
			case 1:
				return true
			}
			return task.Attempts > 0
		})
	}

	began := time.Now()
	b.save(t, old)
	late := tasks("late")
	if _, err := unhurried(t, old).CreateBatch(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	ledger := load.finish(t)
	old.kill()
	store := b.restore(t)

	look := newNode(t, 1, store)
	look.file = filepath.Join(t.TempDir(), "drill.yaml")
	if err := os.WriteFile(look.file, []byte("queues: {drill: {}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	look.start(t)
	awaitReady(t, look)
	for i, task := range known {
		was := before[task.Key]
		is := show(t, look, was.ID)
		switch {
		case is.Key != was.Key, i%4 != 3 && (is.State != was.State || is.Attempts != was.Attempts), is.Attempts < was.Attempts:
			t.Errorf("task %s is %s after %d attempts; want %s and %d", was.Key, is.State, is.Attempts, was.State, was.Attempts)
		case i%4 == 1 || i%4 == 2:
			if is.Due == nil || was.Due == nil || !is.Due.Equal(was.Due.Time) {
				t.Errorf("task %s is due at %v, want %v", was.Key, is.Due, was.Due)
			}
		}
	}
	stray := regexp.MustCompile(`(?m)^bellman_tasks_stray\S* [1-9]`)
	eventually.True(t, "said: tasks wait in a queue that is not configured", func() bool { return stray.MatchString(figures(t, look)) })
	look.stop(t)
	if n := shut.heard(1); n > 0 {
		t.Errorf("a server without their queue attempted tasks %d times", n)
	}

	shut.open.Store(true)
	next := newNode(t, 2, store)
	next.start(t)
	awaitReady(t, next)
	eventually.True(t, "over: all but those that wait for hours", func() bool {
		queues, err := next.client.Queues(t.Context())
		return err == nil && len(queues.Queues) == 1 && queues.Queues[0].Depth.Pending == 2*of
	})
	for _, again := range []struct {
		tasks  []client.CreateTask
		status int
	}{{known, http.StatusOK}, {late, http.StatusCreated}} {
		results, err := unhurried(t, next).CreateBatch(t.Context(), again.tasks)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range results {
			if r.Status != again.status {
				t.Errorf("second create of %s: status %d; want %d", again.tasks[i].Key, r.Status, again.status)
			}
		}
	}
	next.stop(t)
	left := kept(t, store)
	n := 0
	for id, r := range ledger {
		if r.at.Before(began) {
			n++
			if left[id].State != "succeeded" {
				t.Errorf("task %s, accepted %v before the copy was begun, is %q", r.key, began.Sub(r.at), left[id].State)
			}
		}
	}
	for _, was := range before {
		if len(left[was.ID].AttemptLog) < len(was.AttemptLog) {
			t.Errorf("task %s has %d attempts in its log, want at least %d", was.Key, len(left[was.ID].AttemptLog), len(was.AttemptLog))
		}
	}
	t.Logf("%d tasks of the load were accepted before the copy, %d in all", n, len(ledger))
	for _, node := range []*node{old, look, next} {
		for _, e := range node.ended() {
			t.Errorf("node %d ended by itself: %s", node.number, e.said)
		}
	}
}

func awaitReady(t testing.TB, n *node) {
	t.Helper()
	eventually.True(t, "ready: "+n.store, func() bool { return n.ready(t) })
}

// unhurried returns a client that waits for the node as long as it takes.
func unhurried(t testing.TB, n *node) *client.Client {
	t.Helper()
	c, err := client.New(client.Options{Server: "http://" + n.address, HTTP: &http.Client{Timeout: patient}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func show(t testing.TB, n *node, id string) client.TaskDetail {
	t.Helper()
	task, err := unhurried(t, n).Task(t.Context(), client.ByID(id))
	if err != nil {
		t.Fatalf("task %s: %v", id, err)
	}
	return *task
}

// figures returns a node's metrics.
func figures(t testing.TB, n *node) string {
	t.Helper()
	resp, err := http.Get("http://" + n.address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// tool returns the path of one of a database's programs. Without it the test is skipped.
func tool(t testing.TB, name string, places ...string) string {
	t.Helper()
	path := program(name, places...)
	if path == "" {
		t.Skipf("no %s on this machine: make torture installs it", name)
	}
	return path
}

// piped runs a program with its input from a file, or its output into one.
func piped(t testing.TB, cmd *exec.Cmd, in, out string) {
	t.Helper()
	var said strings.Builder
	cmd.Stderr = &said
	for _, f := range []struct {
		name string
		to   func(*os.File)
		how  int
	}{{in, func(f *os.File) { cmd.Stdin = f }, os.O_RDONLY}, {out, func(f *os.File) { cmd.Stdout = f }, os.O_WRONLY | os.O_CREATE | os.O_EXCL}} {
		if f.name == "" {
			continue
		}
		file, err := os.OpenFile(f.name, f.how, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		f.to(file)
	}
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, &said)
	}
}

func hostAndPort(t testing.TB, address string) (host, port string) {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return host, port
}

func TestRestoreEmbedded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	saved, other := filepath.Join(dir, "saved"), filepath.Join(dir, "other")
	backup{
		store: "pebble:" + filepath.Join(dir, "data"),
		save: func(t *testing.T, from *node) {
			if err := unhurried(t, from).Backup(t.Context(), saved, client.Because{Reason: "each night"}); err != nil {
				t.Fatal(err)
			}
		},
		restore: func(t *testing.T) string {
			if err := os.CopyFS(other, os.DirFS(saved)); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(copyOf(t, 0), "check", "--store", "pebble:"+other).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "all agree") {
				t.Fatalf("check: %v\n%s", err, out)
			}
			return "pebble:" + other
		},
	}.run(t)
}

func TestRestorePostgresDump(t *testing.T) {
	t.Parallel()
	dump, restore := tool(t, "pg_dump", "/usr/lib/postgresql/*/bin"), tool(t, "pg_restore", "/usr/lib/postgresql/*/bin")
	s := newPostgres(t, "postgres")
	s.start(t)
	file := filepath.Join(t.TempDir(), "bellman.dump")
	backup{
		store: postgresURL(s.address),
		save: func(t *testing.T, _ *node) {
			must(t, exec.Command(dump, "--format=custom", "--file="+file, postgresURL(s.address)))
		},
		restore: func(t *testing.T) string {
			s.immediately()
			other := newPostgres(t, "postgres-other")
			other.start(t)
			must(t, exec.Command(restore, "--exit-on-error", "--no-owner", "--dbname="+postgresURL(other.address), file))
			return postgresURL(other.address)
		},
	}.run(t)
}

func TestRestorePostgresBase(t *testing.T) {
	t.Parallel()
	s := newPostgres(t, "postgres")
	s.start(t)
	other := locatePostgres(t, "postgres-other")
	backup{
		store: postgresURL(s.address),
		save: func(t *testing.T, _ *node) {
			host, port := hostAndPort(t, s.address)
			must(t, other.run("pg_basebackup", "-D", other.data, "-X", "stream", "-c", "fast", "--no-sync", "-U", "postgres", "-h", host, "-p", port))
		},
		restore: func(t *testing.T) string {
			s.immediately()
			other.start(t)
			return postgresURL(other.address)
		},
	}.run(t)
}

func TestRestoreMariaDB(t *testing.T) {
	t.Parallel()
	dump, load := tool(t, "mariadb-dump"), tool(t, "mariadb")
	s := newMariaDB(t, "mariadb")
	s.start(t)
	s.create(t)
	file := filepath.Join(t.TempDir(), "bellman.sql")
	at := func(s *mariadb, more ...string) []string {
		host, port := hostAndPort(t, s.address)
		return append([]string{"--no-defaults", "--host=" + host, "--port=" + port, "--user=root"}, more...)
	}
	backup{
		store: mysqlURL(s.address),
		save: func(t *testing.T, _ *node) {
			piped(t, exec.Command(dump, at(s, "--single-transaction", "--hex-blob", "bellman")...), "", file)
		},
		restore: func(t *testing.T) string {
			s.crash(syscall.SIGKILL)
			other := newMariaDB(t, "mariadb-other")
			other.start(t)
			other.create(t)
			piped(t, exec.Command(load, at(other, "bellman")...), file, "")
			return mysqlURL(other.address)
		},
	}.run(t)
}

func TestRestoreRedis(t *testing.T) {
	t.Parallel()
	server, cli := tool(t, "redis-server", "/usr/sbin"), tool(t, "redis-cli")
	s := newRedis(t)
	s.start(t)
	file := filepath.Join(t.TempDir(), "bellman.rdb")
	backup{
		store: redisURL(s.address),
		save: func(t *testing.T, _ *node) {
			_, port := hostAndPort(t, s.address)
			must(t, exec.Command(cli, "-p", port, "--rdb", file))
		},
		restore: func(t *testing.T) string {
			s.crash(syscall.SIGKILL)
			dir, id := directory(t, "nobody"), credential(t, "nobody")
			text, err := os.ReadFile(file)
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, "dump.rdb"), text, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			other := &machine{name: "redis-other", address: freeport.Address(t)}
			_, port := hostAndPort(t, other.address)
			other.command = func() *exec.Cmd {
				return command(id, dir, server, "--bind", "127.0.0.1", "--port", port, "--dir", dir, "--save", "", "--appendonly", "no", "--appendfsync", "always")
			}
			ask := func(args ...string) string {
				out, err := exec.Command(cli, append([]string{"-p", port}, args...)...).Output()
				if err != nil {
					return ""
				}
				return string(out)
			}
			other.ping = func(context.Context) error {
				if said := ask("PING"); !strings.Contains(said, "PONG") {
					return fmt.Errorf("the answer is %q", said)
				}
				return nil
			}
			t.Cleanup(func() { other.remove(syscall.SIGKILL) })
			other.start(t)
			if said := ask("CONFIG", "SET", "appendonly", "yes"); !strings.Contains(said, "OK") {
				t.Fatalf("CONFIG SET appendonly yes: %q", said)
			}
			eventually.True(t, "written: the append-only file", func() bool {
				said := ask("INFO", "persistence")
				return strings.Contains(said, "aof_rewrite_in_progress:0") && strings.Contains(said, "aof_rewrite_scheduled:0") && strings.Contains(said, "aof_last_bgrewrite_status:ok")
			})
			return redisURL(other.address)
		},
	}.run(t)
}
