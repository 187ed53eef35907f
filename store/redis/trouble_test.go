package redis

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/eventually"
	"github.com/bellmanhq/bellman/internal/freeport"
	"github.com/bellmanhq/bellman/internal/keytest"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/storetest"
)

// version returns the server's version, 702 for 7.2.
func (s *server) version(t testing.TB) int {
	t.Helper()
	seen, err := read(t.Context(), s.ask(t))
	if err != nil {
		t.Fatal(err)
	}
	return seen.number
}

// adding returns a batch that adds one new task.
func adding() *store.Batch {
	t := waiting(1, time.Now())
	t.Key = t.ID.String()
	return &store.Batch{Adds: []store.Add{{Task: t, Digest: t.Digest()}}}
}

// TestStoreThatWaits runs storetest with a WAITAOF after each write.
func TestStoreThatWaits(t *testing.T) {
	server := start(t)
	if v := server.version(t); v < 702 {
		t.Skipf("this Redis is %d.%d: WAITAOF came with 7.2", v/100, v%100)
	}
	n := 0
	storetest.Run(t, func(t *testing.T) store.Store {
		n++
		s := openTest(t, fmt.Sprintf("redis://%s?prefix=w%d", server.address, n), Options{Connections: 4})
		s.wait = waits{local: 1} // as with everysec, but without its delay of a second
		return s
	})
}

// A restarted server that still reads its file reports that it has no file. Open must not take it
// for a server that loses tasks.
func TestLoading(t *testing.T) {
	t.Parallel()
	server := start(t)
	openTest(t, "redis://"+server.address, Options{})
	server.do(t, "EVAL", "for i = 1, 300000 do redis.call('SET', 'k' .. i, 'v') end return 1", 0) // data to read at the restart
	server.kill()
	server.args = append(server.args, "--key-load-delay", "500") // µs a command: two and a half minutes in all, unless the delay is removed
	server.begin(t)
	server.until(t, "loads", func(c *client.Client) bool {
		info, _ := c.Info(t.Context(), "persistence").Result()
		return strings.Contains(info, "loading:1")
	})
	_, err := Open(t.Context(), "redis://"+server.address, Options{})
	if !errors.Is(err, bellman.ErrUnreachable) || !strings.Contains(err.Error(), "still reads what it kept") {
		t.Errorf("Open() of a loading server = %v; want an error that it is loading", err)
	}
	server.do(t, "CONFIG", "SET", "key-load-delay", 0)
	server.until(t, "answers", func(c *client.Client) bool { return c.Ping(t.Context()).Err() == nil })
	eventually.True(t, "the store is opened", func() bool {
		s, err := Open(t.Context(), "redis://"+server.address, Options{})
		if err != nil && !errors.Is(err, bellman.ErrUnreachable) {
			t.Fatal(err)
		}
		return err == nil && s.Close() == nil
	})
}

// The error names what is wrong with an address, not only the symptom that the client saw.
func TestAdvice(t *testing.T) {
	t.Parallel()
	primary, other := start(t), start(t)
	watch := sentinel(t, primary.address, 1, time.Hour) // the replica is to stay one
	host, port, _ := net.SplitHostPort(primary.address)
	other.do(t, "REPLICAOF", host, port)
	other.until(t, "follows", func(c *client.Client) bool {
		info, _ := c.Info(t.Context(), "replication").Result()
		return strings.Contains(info, "master_link_status:up")
	})
	strange, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer strange.Close()
	go func() {
		for {
			conn, err := strange.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	for address, want := range map[string]string{
		"redis+sentinel://" + watch + "/nobody":         `no primary named "nobody"`,
		"redis+sentinel://" + primary.address + "/main": "is no Sentinel",
		"redis://" + primary.address + "/99":            "ends with database 99",
		"redis://" + other.address:                      "is a replica that takes no writes",
		"redis://" + strange.Addr().String():            "is it Redis, and without TLS",
		"rediss://" + primary.address:                   "redis:// is without it",
	} {
		s, err := Open(t.Context(), address, Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open(%s) = %v, %v; want %q", address, s, err, want)
		}
	}
}

// A server that writes to disk once a second keeps everything that was answered after a crash. If
// it no longer writes a file, the store does not confirm a commit.
func TestEverysec(t *testing.T) {
	server := start(t, "--appendfsync", "everysec")
	if v := server.version(t); v < 702 {
		t.Skipf("this Redis is %d.%d: WAITAOF came with 7.2", v/100, v%100)
	}
	var log bytes.Buffer
	s := openTest(t, "redis://"+server.address, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if want := (waits{local: 1}); s.waiting() != want {
		t.Fatalf("a write with appendfsync everysec waits for %+v; want %+v", s.waiting(), want)
	}
	if !strings.Contains(log.String(), "each answer waits for the disk") {
		t.Errorf("log %s; want it to say what each answer waits for", log.String())
	}
	var kept []bellman.ID
	for range 3 {
		b := adding()
		if err := s.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		kept = append(kept, b.Adds[0].Task.ID)
	}
	server.kill()
	server.launch(t)
	for _, id := range kept {
		if _, err := s.Task(t.Context(), id); err != nil {
			t.Errorf("Task(%v) after a crash of Redis = %v; want the task, because its commit was answered", id, err)
		}
	}
	server.do(t, "CONFIG", "SET", "appendonly", "no")
	if err := s.Commit(t.Context(), adding()); !errors.Is(err, bellman.ErrUnknown) {
		t.Errorf("Commit() after the file was switched off = %v; want ErrUnknown", err)
	}
}

// A server runs out of its permitted memory. The store rejects new tasks and still records outcomes
// of existing ones. Nothing is lost when there is room again.
func TestFull(t *testing.T) {
	server := start(t)
	s := openTest(t, "redis://"+server.address, Options{})
	first := adding()
	if err := s.Commit(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	task := first.Adds[0].Task
	server.do(t, "CONFIG", "SET", "maxmemory", "1") // one byte
	refused := adding()
	err := s.Commit(t.Context(), refused)
	if why := refused.Adds[0].Err; err != nil || !errors.Is(why, bellman.ErrFull) || !strings.Contains(why.Error(), "maxmemory") {
		t.Errorf("Commit() of a new task = %v, %v; want ErrFull of the task, and maxmemory as the cause", err, why)
	}
	whole := adding()
	whole.Docs = []store.Doc{{Kind: "k", Name: "n", Value: []byte("1"), Was: []byte{}}}
	if err := s.Commit(t.Context(), whole); !errors.Is(err, bellman.ErrFull) {
		t.Errorf("Commit() of a new task and a document with a Was = %v; want ErrFull", err)
	}
	if _, err := s.Task(t.Context(), refused.Adds[0].Task.ID); !errors.Is(err, bellman.ErrNotFound) {
		t.Errorf("Task() of a rejected task = %v; want ErrNotFound", err)
	}
	now := time.Now()
	over := &store.Batch{Changes: []store.Change{{ID: task.ID, Version: 1, Of: task, Attempt: &bellman.Attempt{Number: 1, Due: now, Started: now},
		To: bellman.Status{State: bellman.Succeeded, Attempts: 1, Finished: now}}}}
	if err := s.Commit(t.Context(), over); err != nil || over.Changes[0].Err != nil {
		t.Errorf("Commit() of an outcome = %v, %v; want it recorded", err, over.Changes[0].Err)
	}
	if err := s.Join(t.Context(), store.Node{Name: "n"}, time.Minute); err != nil {
		t.Errorf("Join() = %v; want success, so that the node stays alive", err)
	}
	server.do(t, "CONFIG", "SET", "maxmemory", "0")
	if err := s.Commit(t.Context(), refused); err != nil {
		t.Errorf("second Commit() with room = %v", err)
	}
	if got, err := s.Task(t.Context(), task.ID); err != nil || got.State != bellman.Succeeded {
		t.Errorf("Task() = %+v, %v; want it succeeded", got, err)
	}
}

// TestForbidden opens a store as users without some of the permissions.
func TestForbidden(t *testing.T) {
	server := start(t)
	for name, rules := range map[string]string{"config": "-config", "scripts": "-evalsha -eval", "info": "-info", "keys": "resetkeys ~other:*"} {
		args := []any{"ACL", "SETUSER", name, "on", ">secret", "~*", "&*", "+@all"}
		for rule := range strings.FieldsSeq(rules) {
			args = append(args, rule)
		}
		server.do(t, args...)
	}
	tests := []struct {
		user, query string
		want        []string // none: Open succeeds
	}{
		{"config", "", []string{"Redis does not say when it writes to disk (CONFIG GET appendfsync is forbidden)", "durability=none"}},
		{"config", "?durability=none", nil},
		{"info", "", []string{"NOPERM", "'info'"}},
		{"scripts", "", []string{"NOPERM", "'evalsha'"}},
		{"keys", "", []string{"NOPERM", "key"}},
		{"nobody", "", []string{"WRONGPASS"}},
	}
	for _, tt := range tests {
		s, err := Open(t.Context(), "redis://"+tt.user+":secret@"+server.address+tt.query, Options{})
		if err == nil {
			err = s.Commit(t.Context(), adding())
			s.Close()
		}
		if (err == nil) != (tt.want == nil) {
			t.Errorf("Open() as %s%s = %v; want %q", tt.user, tt.query, err, tt.want)
			continue
		}
		for _, want := range tt.want {
			if !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(want)) {
				t.Errorf("Open() as %s%s = %v; want an error with %q", tt.user, tt.query, err, want)
			}
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("Open() as %s%s = %v; want an error without the password", tt.user, tt.query, err)
		}
	}
}

// TestTLS opens a store on a server whose certificate is from a private authority.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	ca, other := newAuthority(t, dir, "ca"), newAuthority(t, dir, "other")
	ca.sign(t, dir, "server")
	address := freeport.Address(t)
	_, port, _ := net.SplitHostPort(address)
	start(t, "--tls-port", port, "--tls-cert-file", filepath.Join(dir, "server.crt"), "--tls-key-file", filepath.Join(dir, "server.key"),
		"--tls-ca-cert-file", ca.file, "--tls-auth-clients", "no")
	tests := []struct{ address, want string }{
		{"rediss://" + address + "?ca=" + ca.file, ""},
		{"rediss://" + address, "certificate signed by unknown authority"},
		{"rediss://" + address + "?ca=" + other.file, "certificate signed by unknown authority"},
		{"rediss://localhost:" + port + "?ca=" + ca.file, "certificate is not valid for any names"},
		{"rediss://" + address + "/0?ca=" + ca.file + "&prefix=p", ""},
		{"rediss://" + address + "?ca=", "parameter ca= names no file"},
		{"redis://" + address, "EOF"},
	}
	for _, tt := range tests {
		ctx, cancel := context.WithTimeout(t.Context(), patient)
		s, err := Open(ctx, tt.address, Options{})
		if err == nil {
			err = s.Commit(ctx, adding())
			s.Close()
		}
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Open(%s) = %v; want %q", tt.address, err, tt.want)
		}
		cancel()
	}
	if s, err := Open(t.Context(), "rediss://"+address+"?ca="+filepath.Join(dir, "server.key"), Options{}); err == nil || !strings.Contains(err.Error(), "has no certificate") {
		if err == nil {
			s.Close()
		}
		t.Errorf("Open() with a key file as ca = %v; want an error that it has no certificate", err)
	}
}

// An authority signs certificates.
type authority struct {
	file string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, dir, name string) *authority {
	t.Helper()
	a := &authority{file: filepath.Join(dir, name+".crt"), key: newKey(t)}
	a.cert = &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.write(t, a.file, a.cert, a.key)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// sign creates a certificate for 127.0.0.1 and its key, both as files.
func (a *authority) sign(t *testing.T, dir, name string) {
	t.Helper()
	key := newKey(t)
	a.write(t, filepath.Join(dir, name+".crt"), &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature}, key)
	write(t, filepath.Join(dir, name+".key"), keytest.PrivatePEM(key))
}

func (a *authority) write(t *testing.T, file string, cert *x509.Certificate, key *ecdsa.PrivateKey) {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, cert, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, keytest.PEM("CERTIFICATE", der))
}
