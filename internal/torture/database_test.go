package torture

import (
	"context"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/eventually"
)

// A machine is one private database server. It can be killed, and started again in the same
// directory and at the same address.
type machine struct {
	name    string
	address string
	command func() *exec.Cmd
	ping    func(ctx context.Context) error // returns nil if the server answers

	mu      sync.Mutex
	process *process
}

// start starts the server and waits until it answers. The server may fail to start because the
// remains of an earlier process are in its way. Then it is started again.
func (s *machine) start(t testing.TB) {
	t.Helper()
	s.launch(t)
	if !eventually.Within(eventually.Limit, func() bool {
		if s.current().ended() {
			t.Logf("%s ended at its start:\n%s", s.name, s.current().said.tail(5))
			s.launch(t)
		}
		return s.answers()
	}) {
		t.Fatalf("%s does not answer after %s:\n%s", s.name, patient, s.current().said.tail(30))
	}
}

// launch starts the server without waiting.
func (s *machine) launch(t testing.TB) {
	t.Helper()
	p, err := start(s.command())
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process = p
}

func (s *machine) answers() bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return s.ping(ctx) == nil
}

func (s *machine) current() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process
}

// crash ends the server without giving it time to clean up.
func (s *machine) crash(sig syscall.Signal) {
	p := s.current()
	p.signal(sig)
	<-p.exited
}

// remove ends the server if it runs, with a signal that leaves no child processes.
func (s *machine) remove(sig syscall.Signal) {
	p := s.current()
	if p == nil || p.ended() {
		return
	}
	p.signal(sig)
	if !eventually.Within(10*time.Second, p.ended) {
		p.kill()
	}
}

// directory creates a directory. A database server refuses to run as root, so owner owns the
// directory if this process may change that.
func directory(t testing.TB, owner string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "bellman-torture-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if id := credential(t, owner); id != nil {
		if err := os.Chown(dir, int(id.Uid), int(id.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// credential returns the credential of a user, or nil if this process cannot switch users.
func credential(t testing.TB, name string) *syscall.Credential {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		t.Skipf("no user %s to run a database as: %v", name, err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// command returns a command that runs as a user, in a directory of that user.
func command(id *syscall.Credential, dir, path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir)
	if id != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: id}
	}
	return cmd
}

// must runs a command to its end, which must be successful.
func must(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
}

// program finds a program by name: in the last place that matches one of the patterns, or in the
// path. It returns an empty text if there is none.
func program(name string, places ...string) string {
	for _, pattern := range places {
		if found := glob(pattern + "/" + name); found != "" {
			return found
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}
