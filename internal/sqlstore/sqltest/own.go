//go:build unix

package sqltest

import (
	"net"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
	"testing"

	"github.com/bellmanhq/bellman/internal/freeport"
)

// An Own is a place for a database server that a test starts for itself.
type Own struct {
	Dir  string // of the server's user
	Port string // a free one of 127.0.0.1
	as   *syscall.SysProcAttr
}

// NewOwn makes a place for a server that runs as a user of the machine, because no database server
// runs as root. The directory is deleted when the test is over. Without the user the test is
// skipped.
func NewOwn(t *testing.T, name string) Own {
	t.Helper()
	dir, err := os.MkdirTemp("", "bellman-"+name) // t.TempDir is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	o := Own{Dir: dir, as: &syscall.SysProcAttr{}}
	if os.Getuid() == 0 {
		u, err := user.Lookup(name)
		if err != nil {
			t.Skipf("no user %s on this machine", name)
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
		o.as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	if _, o.Port, err = net.SplitHostPort(freeport.Address(t)); err != nil {
		t.Fatal(err)
	}
	return o
}

// Command returns a command of the server's user in its directory.
func (o Own) Command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.SysProcAttr = o.Dir, o.as
	return cmd
}

// Start starts a server, which gets a signal when the test is over.
func (o Own) Start(t *testing.T, stop os.Signal, program string, args ...string) {
	t.Helper()
	server := o.Command(program, args...)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Signal(stop)
		server.Wait()
	})
}
