package torture

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/bellmanhq/bellman/internal/freeport"
)

// postgresURL returns the URL of the store in the database at an address.
func postgresURL(address string) string {
	return "postgres://postgres@" + address + "/postgres?sslmode=disable"
}

func postgresWires() wire { return &postgresWire{} }

// glob returns the last path that matches a pattern.
func glob(pattern string) string {
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		return ""
	}
	return slices.Max(found)
}

// A postgres is a private PostgreSQL server.
type postgres struct {
	machine
	bin, data string
	id        *syscall.Credential
}

// newPostgres prepares a server with an empty database, without starting it. Without PostgreSQL the
// test is skipped.
func newPostgres(t testing.TB, name string) *postgres {
	t.Helper()
	s := locatePostgres(t, name)
	must(t, s.run("initdb", "-D", s.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"))
	return s
}

// locatePostgres returns a server without data.
func locatePostgres(t testing.TB, name string) *postgres {
	t.Helper()
	initdb := program("initdb", "/usr/lib/postgresql/*/bin")
	if initdb == "" {
		t.Skip("no PostgreSQL server on this machine: make torture installs it")
	}
	dir := directory(t, "postgres")
	s := &postgres{bin: filepath.Dir(initdb), data: filepath.Join(dir, "data"), id: credential(t, "postgres")}
	s.name, s.address = name, freeport.Address(t)
	s.command = func() *exec.Cmd {
		_, port, _ := net.SplitHostPort(s.address)
		return s.run("postgres", "-D", s.data, "-p", port, "-k", dir, "-c", "listen_addresses=127.0.0.1",
			"-c", "max_connections=100", "-c", "shared_buffers=128MB", "-c", "wal_sender_timeout=5s")
	}
	s.ping = func(ctx context.Context) error {
		_, err := s.ask(ctx, "SELECT 1")
		return err
	}
	t.Cleanup(func() { s.remove(syscall.SIGQUIT) })
	return s
}

// run runs one of the server's programs.
func (s *postgres) run(name string, args ...string) *exec.Cmd {
	return command(s.id, filepath.Dir(s.data), filepath.Join(s.bin, name), args...)
}

// immediately ends the server like pg_ctl stop -m immediate.
func (s *postgres) immediately() { s.crash(syscall.SIGQUIT) }

// ask runs one statement and returns the first value of its first row.
func (s *postgres) ask(ctx context.Context, text string) (value string, err error) {
	conn, err := pgx.Connect(ctx, postgresURL(s.address))
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	results, err := conn.PgConn().Exec(ctx, text).ReadAll()
	if err != nil {
		return "", fmt.Errorf("%s: %w", text, err)
	}
	if last := results[len(results)-1]; len(last.Rows) > 0 {
		value = string(last.Rows[0][0])
	}
	return value, nil
}
