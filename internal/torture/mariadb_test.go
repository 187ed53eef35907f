package torture

import (
	"context"
	"database/sql"
	"net"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	_ "github.com/go-sql-driver/mysql" // registers the driver

	"github.com/bellmanhq/bellman/internal/freeport"
)

// mysqlURL returns the URL of the store in the database at an address.
func mysqlURL(address string) string { return "mysql://root@" + address + "/bellman" }

func mysqlWires() wire { return &mysqlWire{} }

// A mariadb is a private MariaDB server.
type mariadb struct {
	machine
	dir string
	id  *syscall.Credential
}

// newMariaDB prepares a server with additional settings, without starting it. Without MariaDB the
// test is skipped.
func newMariaDB(t testing.TB, name string, more ...string) *mariadb {
	t.Helper()
	install, daemon := program("mariadb-install-db"), program("mariadbd", "/usr/sbin", "/usr/local/sbin")
	if install == "" || daemon == "" {
		t.Skip("no MariaDB server on this machine: make torture installs it")
	}
	dir := directory(t, "mysql")
	s := &mariadb{dir: dir, id: credential(t, "mysql")}
	data := filepath.Join(dir, "data")
	s.name, s.address = name, freeport.Address(t)
	s.command = func() *exec.Cmd {
		_, port, _ := net.SplitHostPort(s.address)
		// The server also needs its own directory for temporary tables. At its start a server
		// deletes everything that it finds there, in /tmp also the tables of other servers.
		args := []string{"--no-defaults", "--tmpdir=" + dir, "--datadir=" + data, "--socket=" + filepath.Join(dir, "socket"), "--pid-file=" + filepath.Join(dir, "pid"),
			"--port=" + port, "--bind-address=127.0.0.1", "--innodb-buffer-pool-size=128M", "--innodb-log-file-size=48M", "--max-connections=100"}
		return command(s.id, dir, daemon, append(args, more...)...)
	}
	s.ping = func(ctx context.Context) error { return s.exec(ctx, "SELECT 1") }
	must(t, command(s.id, dir, install, "--no-defaults", "--tmpdir="+dir, "--datadir="+data, "--auth-root-authentication-method=normal"))
	t.Cleanup(func() { s.remove(syscall.SIGKILL) })
	return s
}

// open connects to the server without choosing a database.
func (s *mariadb) open() (*sql.DB, error) { return sql.Open("mysql", "root@tcp("+s.address+")/") }

// exec runs one statement.
func (s *mariadb) exec(ctx context.Context, text string) error {
	db, err := s.open()
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, text)
	return err
}

// create creates the database of the store.
func (s *mariadb) create(t testing.TB) {
	t.Helper()
	if err := s.exec(t.Context(), "CREATE DATABASE bellman"); err != nil {
		t.Fatal(err)
	}
}
