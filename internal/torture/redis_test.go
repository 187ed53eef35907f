package torture

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"github.com/bellmanhq/bellman/internal/freeport"
)

func redisURL(address string) string { return "redis://" + address }

// newRedis prepares a private Redis that writes to disk before it answers, without starting it.
// Without Redis the test is skipped.
func newRedis(t testing.TB) *machine {
	t.Helper()
	path := program("redis-server", "/usr/sbin")
	if path == "" {
		t.Skip("no Redis server on this machine: make torture installs it")
	}
	dir := directory(t, "nobody")
	id := credential(t, "nobody")
	s := &machine{name: "redis", address: freeport.Address(t)}
	s.command = func() *exec.Cmd {
		_, port, _ := net.SplitHostPort(s.address)
		return command(id, dir, path, "--bind", "127.0.0.1", "--port", port, "--dir", dir, "--save", "", "--appendonly", "yes", "--appendfsync", "always")
	}
	s.ping = func(ctx context.Context) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.address)
		if err != nil {
			return err
		}
		defer conn.Close()
		deadline, _ := ctx.Deadline()
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
		var pong [7]byte // or an error that it is still loading
		if _, err = conn.Write([]byte("PING\r\n")); err == nil {
			_, err = io.ReadFull(conn, pong[:])
		}
		if err == nil && string(pong[:]) != "+PONG\r\n" {
			err = fmt.Errorf("the answer to PING is %q", pong)
		}
		return err
	}
	t.Cleanup(func() { s.remove(syscall.SIGKILL) })
	return s
}

// TestRedis tortures nodes on one Redis, which is killed too.
func TestRedis(t *testing.T) {
	t.Parallel()
	s := newRedis(t)
	s.start(t)
	c := newCluster(t, backend{everyOne(s.address), redisURL, redisWires(t)})
	run(t, c, append(c.usual(), c.outage("kill -9 of the database", func() { s.crash(syscall.SIGKILL) }, func() { s.start(t) })))
}

func redisWires(t testing.TB) func() wire {
	commits := redisCommits(t)
	return func() wire { return &redisWire{commits: commits} }
}

// redisCommits returns the hashes by which Redis knows the scripts that commit.
func redisCommits(t testing.TB) map[string]bool {
	t.Helper()
	var text []byte
	for _, name := range []string{"rows", "commit"} {
		part, err := os.ReadFile(fmt.Sprintf("../../store/redis/lua/%s.lua", name))
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, part...)
	}
	names := map[string]bool{}
	for _, flags := range []string{"#!lua\n", "#!lua flags=allow-oom\n"} {
		sum := sha1.Sum(append([]byte(flags), text...))
		names[hex.EncodeToString(sum[:])] = true
	}
	return names
}

// redisWire follows the protocol of Redis: a command is the number of its texts, then the length
// and the content of each. A commit is one of several scripts, called by its hash.
type redisWire struct {
	commits map[string]bool
	rest    []byte
}

func (w *redisWire) sent(piece []byte) (commit bool) {
	w.rest = append(w.rest, piece...)
	for {
		texts, size := redisCommand(w.rest)
		if size == 0 {
			return commit
		}
		w.rest = w.rest[size:]
		commit = commit || len(texts) > 1 && w.commits[texts[1]]
	}
}

// answered accepts everything, because the server sends nothing unasked.
func (w *redisWire) answered(piece []byte) bool { return len(piece) > 0 }

// redisCommand parses the first command. It returns two of its texts and its size; size 0: the
// command is not complete yet.
func redisCommand(b []byte) (texts []string, size int) {
	number := func(kind byte) int {
		end := bytes.Index(b[size:], []byte("\r\n"))
		if end < 1 || b[size] != kind {
			return -1
		}
		n, err := strconv.Atoi(string(b[size+1 : size+end]))
		if err != nil {
			return -1
		}
		size += end + 2
		return n
	}
	for range max(number('*'), 0) {
		n := number('$')
		if n < 0 || len(b) < size+n+2 {
			return nil, 0
		}
		if len(texts) < 2 {
			texts = append(texts, string(b[size:size+n]))
		}
		size += n + 2
	}
	return texts, size
}

// TestRedisWire recognizes a commit at its last byte, and no other script.
func TestRedisWire(t *testing.T) {
	const text = "*1\r\n$4\r\nPING\r\n*3\r\n$7\r\nevalsha\r\n$3\r\nabc\r\n$1\r\n1\r\n*2\r\n$7\r\nevalsha\r\n$3\r\nabd\r\n"
	w := &redisWire{commits: map[string]bool{"abc": true}}
	var at []int
	for i := range len(text) {
		if w.sent([]byte(text[i : i+1])) {
			at = append(at, i)
		}
	}
	want := bytes.Index([]byte(text), []byte("*2\r\n$7")) - 1
	if len(at) != 1 || at[0] != want {
		t.Errorf("commits end at %v, want %d", at, want)
	}
	if len(redisCommits(t)) != 2 {
		t.Error("want two scripts that commit")
	}
}
