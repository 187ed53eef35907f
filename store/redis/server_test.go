package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/eventually"
	"github.com/bellmanhq/bellman/internal/freeport"
	"github.com/bellmanhq/bellman/store"
)

// patient is how long a test waits for a condition. It suits a slow and busy machine.
const patient = 5 * time.Minute

// A server is a Redis process started by a test.
type server struct {
	address string
	args    []string
	dir     string
	process *exec.Cmd
	ended   chan struct{}
}

// start starts a server in its own directory. settings override those that a store needs. Without
// redis-server the test is skipped.
func start(t testing.TB, settings ...string) *server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("no redis-server on this machine: make test installs it")
	}
	s := &server{address: freeport.Address(t)}
	_, port, _ := net.SplitHostPort(s.address)
	dir := t.TempDir()
	s.dir = dir
	s.args = append([]string{"--bind", "127.0.0.1", "--port", port, "--dir", dir, "--save", "", "--appendonly", "yes", "--appendfsync", "always",
		"--logfile", filepath.Join(dir, "log")}, settings...)
	t.Cleanup(s.kill)
	s.launch(t)
	return s
}

// launch runs the server and waits until it answers.
func (s *server) launch(t testing.TB) {
	t.Helper()
	s.begin(t)
	s.until(t, "answers", func(c *client.Client) bool { return c.Ping(context.Background()).Err() == nil })
}

func (s *server) begin(t testing.TB) {
	t.Helper()
	cmd := exec.Command("redis-server", s.args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	s.process, s.ended = cmd, ended
	go func() {
		cmd.Wait()
		close(ended)
	}()
}

// kill ends the server like a crash.
func (s *server) kill() {
	if s.process == nil {
		return
	}
	s.process.Process.Signal(os.Kill)
	<-s.ended
	s.process = nil
}

// ask returns a connection to the server, without a store.
func (s *server) ask(t testing.TB) *client.Client {
	hush()
	c := client.NewClient(&client.Options{Addr: s.address, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true, ReadTimeout: patient})
	t.Cleanup(func() { c.Close() })
	return c
}

// until waits until a condition of the server holds.
func (s *server) until(t testing.TB, what string, holds func(*client.Client) bool) {
	t.Helper()
	c := s.ask(t)
	eventually.True(t, "the server at "+s.address+" "+what, func() bool { return holds(c) })
}

// do runs one command.
func (s *server) do(t testing.TB, args ...any) {
	t.Helper()
	if err := s.ask(t).Do(context.Background(), args...).Err(); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
}

// TestRefuses opens stores on servers that would lose tasks.
func TestRefuses(t *testing.T) {
	t.Parallel()
	s := start(t)
	tests := []struct {
		set, to string
		address string // %s stands for the server
		want    string // empty: Open succeeds
	}{
		{"appendfsync", "always", "redis://%s", ""},
		{"appendfsync", "everysec", "redis://%s", "set appendfsync always"},
		{"appendfsync", "no", "redis://%s", "set appendfsync always"},
		{"no-appendfsync-on-rewrite", "yes", "redis://%s", "set no-appendfsync-on-rewrite no"},
		{"no-appendfsync-on-rewrite", "yes", "redis://%s?durability=none", ""},
		{"appendonly", "no", "redis://%s", "keeps nothing on disk (appendonly no)"},
		{"appendonly", "no", "redis://%s?durability=none", ""},
		{"maxmemory-policy", "allkeys-lru", "redis://%s", "maxmemory-policy noeviction"},
		{"maxmemory-policy", "volatile-ttl", "redis://%s?durability=none", "maxmemory-policy noeviction"},
		{"maxmemory-policy", "noeviction", "redis+cluster://%s", "is not part of a Cluster"},
		{"maxmemory-policy", "noeviction", "redis://%s?replicas=1", "0 replicas have it, and 1 must"},
	}
	for _, tt := range tests {
		for _, usual := range [][2]string{{"appendonly", "yes"}, {"appendfsync", "always"}, {"no-appendfsync-on-rewrite", "no"}, {"maxmemory-policy", "noeviction"}} {
			s.do(t, "CONFIG", "SET", usual[0], usual[1])
		}
		s.written(t)
		s.do(t, "CONFIG", "SET", tt.set, tt.to)
		address := fmt.Sprintf(tt.address, s.address)
		if strings.Contains(address, "replicas") {
			s.do(t, "FLUSHALL")
		}
		if seen, _ := read(t.Context(), s.ask(t)); tt.to == "everysec" && seen.number >= 702 {
			continue // there each answer waits for the disk
		}
		got, err := Open(t.Context(), address, Options{})
		if err == nil {
			got.Close()
		}
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Open(%s) with %s %s = %v; want %q", tt.address, tt.set, tt.to, err, tt.want)
		}
	}
}

// written waits until the server's append-only file is complete.
func (s *server) written(t testing.TB) {
	t.Helper()
	s.until(t, "completed its append-only file", func(c *client.Client) bool {
		info, _ := c.Info(context.Background(), "persistence").Result()
		return strings.Contains(info, "aof_rewrite_in_progress:0")
	})
}

// Each new connection is checked like the first one. Another server may be behind the address by
// then, or its settings may have changed.
func TestRefusesNewConnections(t *testing.T) {
	server := start(t)
	s := openTest(t, "redis://"+server.address, Options{})
	server.do(t, "CONFIG", "SET", "no-appendfsync-on-rewrite", "yes")
	server.do(t, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
	err := s.Commit(t.Context(), adding())
	if err == nil || !strings.Contains(err.Error(), "no-appendfsync-on-rewrite") {
		t.Errorf("Commit() over a new connection, with no-appendfsync-on-rewrite yes = %v; want an error that names the setting", err)
	}
	server.do(t, "CONFIG", "SET", "no-appendfsync-on-rewrite", "no")
	if err := s.Commit(t.Context(), adding()); err != nil {
		t.Errorf("Commit() after no-appendfsync-on-rewrite no = %v", err)
	}
}

// If append-only is switched on while a server has data, the server writes its first file in the
// background. A crash before the file is complete loses everything.
func TestFirstRewrite(t *testing.T) {
	server := start(t, "--appendonly", "no")
	server.do(t, "EVAL", "for i = 1, 1000 do redis.call('SET', 'k' .. i, 'v') end return 1", 0)
	server.do(t, "CONFIG", "SET", "rdb-key-save-delay", "100000") // µs for each key: longer than any test
	server.do(t, "CONFIG", "SET", "appendonly", "yes")
	_, err := Open(t.Context(), "redis://"+server.address, Options{})
	if !errors.Is(err, bellman.ErrUnreachable) || !strings.Contains(err.Error(), "aof_rewrite_in_progress:0") {
		t.Errorf("Open() while the first append-only file is written = %v; want ErrUnreachable with the cause", err)
	}
	openTest(t, "redis://"+server.address+"?durability=none", Options{})
	server.do(t, "CONFIG", "SET", "appendonly", "no") // ends the process that writes the file
	server.do(t, "CONFIG", "SET", "rdb-key-save-delay", "0")
	server.do(t, "CONFIG", "SET", "appendonly", "yes")
	server.written(t)
	openTest(t, "redis://"+server.address, Options{})
}

// The first rewrite of a file that was on from the start looks the same in INFO. It puts nothing at
// risk, so an open store goes on.
func TestFirstRewriteOfAWholeFile(t *testing.T) {
	server := start(t)
	s := openTest(t, "redis://"+server.address, Options{})
	server.do(t, "EVAL", "for i = 1, 1000 do redis.call('SET', 'k' .. i, 'v') end return 1", 0)
	server.do(t, "CONFIG", "SET", "rdb-key-save-delay", "100000")
	server.do(t, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes") // before the child process gets copies of its connections
	server.do(t, "BGREWRITEAOF")
	for range 3 {
		if err := s.Commit(t.Context(), adding()); err != nil && !errors.Is(err, bellman.ErrUnknown) { // ErrUnknown: the connection was killed
			t.Errorf("Commit() over a new connection during a rewrite = %v", err)
		}
	}
	server.do(t, "CONFIG", "SET", "appendonly", "no")
}

// TestTooOld reads the version of an old server.
func TestTooOld(t *testing.T) {
	tests := []struct {
		seen settings
		want waits
		says string
	}{
		{settings{aof: true, fsync: "always", number: 700}, waits{}, ""},
		{settings{aof: true, fsync: "everysec", number: 702}, waits{local: 1}, ""},
		{settings{aof: true, fsync: "everysec", number: 700, version: "7.0.15"}, waits{}, "Redis 7.0.15 writes to disk once a second"},
		{settings{aof: true, number: 800}, waits{}, "CONFIG GET appendfsync is forbidden"},
	}
	for _, tt := range tests {
		got, err := tt.seen.waits(Address{})
		if got != tt.want && err == nil || (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("a server that reports %+v waits for %+v, %v; want %+v, %q", tt.seen, got, err, tt.want, tt.says)
		}
	}
	old := said("redis_version:6.2.14\r\nredis_mode:standalone\r\nrole:master\r\naof_enabled:1\r\nmaxmemory_policy:noeviction\r\n")
	if err := (&Store{}).fits(t.Context(), old, Address{Kind: Single}, false); err == nil || !strings.Contains(err.Error(), "Redis 6.2.14 is too old: want 7.0") {
		t.Errorf("fits(6.2.14) = %v; want an error that it is too old", err)
	}
}

// said is a server with one fixed answer, and appendfsync always.
type said string

func (s said) Info(ctx context.Context, _ ...string) *client.StringCmd {
	c := client.NewStringCmd(ctx)
	c.SetVal(string(s))
	return c
}

func (s said) ConfigGet(ctx context.Context, name string) *client.MapStringStringCmd {
	return configured(ctx, name, "always")
}

func (s said) BgRewriteAOF(ctx context.Context) *client.StatusCmd {
	return client.NewStatusCmd(ctx)
}

// everysec is a server with one fixed answer, and appendfsync everysec.
type everysec struct{ said }

func (e everysec) ConfigGet(ctx context.Context, name string) *client.MapStringStringCmd {
	return configured(ctx, name, "everysec")
}

func configured(ctx context.Context, name, value string) *client.MapStringStringCmd {
	c := client.NewMapStringStringCmd(ctx)
	c.SetVal(map[string]string{name: value})
	return c
}

// A server is set to everysec while the store is open, or a fail-over leads to such a server. From
// the next connection on each write waits for the disk.
func TestEverysecLater(t *testing.T) {
	s := &Store{}
	info := said("redis_version:7.2.5\r\nredis_mode:standalone\r\nrole:master\r\naof_enabled:1\r\naof_base_size:9\r\naof_current_size:9\r\nrun_id:1\r\nmaxmemory_policy:noeviction\r\n")
	for _, tt := range []struct {
		server asker
		want   waits
	}{{info, waits{}}, {everysec{info}, waits{local: 1}}} {
		if err := s.fits(t.Context(), tt.server, Address{Kind: Single}, false); err != nil {
			t.Fatal(err)
		}
		if got := s.waiting(); got != tt.want {
			t.Errorf("after a connection to a %T a write waits for %+v; want %+v", tt.server, got, tt.want)
		}
	}
}

// A refusal is an error that a server answers.
type refusal string

func (r refusal) Error() string { return string(r) }
func (refusal) RedisError()     {}

// rewriter is a server that answers to BGREWRITEAOF.
type rewriter struct {
	said
	answer error
	asked  int
}

func (r *rewriter) BgRewriteAOF(ctx context.Context) *client.StatusCmd {
	r.asked++
	c := client.NewStatusCmd(ctx)
	c.SetErr(r.answer)
	return c
}

// TestRewriteAfterStart connects to servers in each state of the rewrite that a start needs.
func TestRewriteAfterStart(t *testing.T) {
	const started = "redis_version:7.2.5\r\nredis_mode:standalone\r\nrole:master\r\naof_enabled:1\r\nrun_id:1\r\naof_base_size:9\r\n"
	tests := []struct {
		name   string
		info   string
		answer error
		asked  int
		used   bool
	}{
		{"without a file", "aof_base_size:0\r\naof_current_size:99", nil, 0, true},
		{"empty", "aof_current_size:9", nil, 0, true},
		{"just started", "aof_current_size:99", nil, 1, false},
		{"another node has asked", "aof_current_size:99", refusal("ERR Background append only file rewriting already in progress"), 1, false},
		{"rewriting", "aof_current_size:99\r\naof_rewrites:1\r\naof_rewrite_in_progress:1", nil, 0, false},
		{"waits for a snapshot", "aof_current_size:99\r\naof_rewrite_scheduled:1", nil, 0, false},
		{"rewritten", "aof_current_size:99\r\naof_rewrites:1", nil, 0, true},
		{"rewriting once more", "aof_current_size:99\r\naof_rewrites:2\r\naof_rewrite_in_progress:1", nil, 0, true},
		{"failed", "aof_current_size:99\r\naof_rewrites:1\r\naof_last_bgrewrite_status:err", nil, 0, true},
		{"forbidden", "aof_current_size:99", refusal("NOPERM this user has no permissions to run the 'bgrewriteaof' command"), 1, true},
		{"unreachable", "aof_current_size:99", io.EOF, 1, false},
		{"in use for long", "aof_current_size:99\r\nuptime_in_seconds:300", nil, 1, true},
	}
	for _, tt := range tests {
		server := &rewriter{said: said(started + tt.info + "\r\n"), answer: tt.answer}
		s := &Store{log: slog.New(slog.DiscardHandler)}
		err := s.fits(t.Context(), server, Address{Kind: Single}, false)
		if (err == nil) != tt.used || server.asked != tt.asked {
			t.Errorf("%s: fits() = %v after %d BGREWRITEAOF; want used: %v, after %d", tt.name, err, server.asked, tt.used, tt.asked)
		}
	}
}

// TestExistingTaskIsWritten adds a task that exists already. The script that finds it must write
// something, because from Redis 7.2 on only then WAIT and WAITAOF wait for the write that added the
// task.
func TestExistingTaskIsWritten(t *testing.T) {
	server := start(t)
	s := openTest(t, "redis://"+server.address, Options{})
	changes := func() (n int) {
		t.Helper()
		text, err := server.ask(t).Info(t.Context(), "persistence").Result()
		if err != nil {
			t.Fatal(err)
		}
		if n, err = strconv.Atoi(infoOf(text)["rdb_changes_since_last_save"]); err != nil {
			t.Fatal(err)
		}
		return n
	}
	first := adding()
	first.Adds[0].Task.SetAlias("alias")
	if err := s.Commit(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	key, alias := adding(), adding()
	key.Adds[0].Task.Key, key.Adds[0].Digest = first.Adds[0].Task.Key, first.Adds[0].Digest
	alias.Adds[0].Task.SetAlias("alias")
	for name, b := range map[string]*store.Batch{"id": first, "key": key, "alias": alias} {
		before := changes()
		if err := s.Commit(t.Context(), b); err != nil || b.Adds[0].Existing != first.Adds[0].Task.ID {
			t.Errorf("Commit() of the same %s: %v, Existing = %v; want %v", name, err, b.Adds[0].Existing, first.Adds[0].Task.ID)
		}
		if changes() == before {
			t.Errorf("Commit() of the same %s wrote nothing; want a write, because otherwise the answer waits for no replica", name)
		}
	}
}

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
