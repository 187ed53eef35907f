package torture

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A process is a started program with its output.
type process struct {
	cmd    *exec.Cmd
	said   output
	exited chan struct{} // closed when the process has ended
}

// start starts a program; env is its whole environment.
func start(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, exited: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &p.said, &p.said
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		cmd.Wait() // the status is in ProcessState
		close(p.exited)
	}()
	return p, nil
}

// environment returns the environment of the tests without the variables that configure bellman,
// plus more.
func environment(more ...string) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "BELLMAN_") {
			env = append(env, v)
		}
	}
	return append(env, more...)
}

// signal sends a signal; the process may have ended already.
func (p *process) signal(s syscall.Signal) { p.cmd.Process.Signal(s) }

// kill ends the process like a crash, even if it was stopped by a signal.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.exited
}

// ended reports whether the process has ended.
func (p *process) ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// end waits for the end of the process, and returns the exit status.
func (p *process) end(t testing.TB, within time.Duration) int {
	t.Helper()
	timeout := time.NewTimer(within)
	defer timeout.Stop()
	select {
	case <-p.exited:
		return p.cmd.ProcessState.ExitCode()
	case <-timeout.C:
		t.Fatalf("%s still runs after %s:\n%s", p.cmd.Path, within, p.said.tail(40))
		return -1
	}
}

// An output collects what a process writes.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// tail returns the last n lines.
func (o *output) tail(n int) string {
	lines := strings.SplitAfter(o.String(), "\n")
	return strings.Join(lines[max(len(lines)-n-1, 0):], "")
}
