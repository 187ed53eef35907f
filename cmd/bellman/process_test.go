package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
)

// binary is the program under test: the one at BELLMAN_TEST_PROGRAM, or built once.
var binary string

// patient is how long a test waits for a condition. It suits a slow and busy machine.
const patient = 5 * time.Minute

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "bellman-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		if binary = os.Getenv("BELLMAN_TEST_PROGRAM"); binary != "" {
			return m.Run()
		}
		binary = filepath.Join(dir, "bellman")
		build := exec.Command("go", "build", "-buildvcs=false", "-o", binary, ".")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
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

// A result is what a finished command left.
type result struct {
	status      int
	out, errors string
}

// run runs the program to its end.
func run(t testing.TB, args ...string) result { return runIn(t, "", nil, "", args...) }

func runIn(t testing.TB, dir string, env []string, input string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = dir
	cmd.Env = environment(env...)
	cmd.Stdin = strings.NewReader(input)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("bellman %q: %v, %v\n%s", args, err, ctx.Err(), &errs)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// must runs the program and returns its output. The exit status must be 0.
func must(t testing.TB, args ...string) string {
	t.Helper()
	r := run(t, args...)
	if r.status != 0 {
		t.Fatalf("bellman %q: exit status %d\n%s", args, r.status, r.errors)
	}
	return r.out
}

// A process is the program running as a server.
type process struct {
	t      testing.TB
	cmd    *exec.Cmd
	url    string
	hello  string // the line that it printed at its start
	out    output
	log    output
	exited chan struct{} // closed when the process has ended
}

// serveStore starts a server on a store, and waits until it listens.
func serveStore(t testing.TB, dir string, args ...string) *process {
	t.Helper()
	return start(t, nil, append([]string{"--store", "pebble:" + dir}, args...)...)
}

// start starts a server on a free port, and waits until it listens.
func start(t testing.TB, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, exited: make(chan struct{})}
	p.cmd = exec.Command(binary, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	p.cmd.Env = environment(append([]string{"BELLMAN_EGRESS_ALLOW_PRIVATE=true", "BELLMAN_STOP_TIMEOUT=5m"}, env...)...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.cmd.Wait() // the status is in ProcessState
		close(p.exited)
	}()
	t.Cleanup(func() { p.kill() })
	p.hello = p.await(&p.out, " listens on ")
	_, rest, _ := strings.Cut(p.hello, " listens on ")
	p.url, _, _ = strings.Cut(rest, ",")
	return p
}

// await waits for a line that contains text, and returns it.
func (p *process) await(o *output, text string) string {
	p.t.Helper()
	timeout := time.NewTimer(patient)
	defer timeout.Stop()
	for {
		line, changed := o.find(text)
		if line != "" {
			return line
		}
		select {
		case <-changed:
		case <-p.exited:
			if line, _ := o.find(text); line != "" {
				return line
			}
			p.t.Fatalf("the server ended before it printed %q:\n%s", text, p.log.String())
		case <-timeout.C:
			p.t.Fatalf("no line has %q after %s:\n%s", text, patient, p.log.String())
		}
	}
}

// signal sends a signal to the server.
func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// freeze stops the program and waits until none of its threads runs. On a busy machine some threads
// go on for a while after the signal.
func (p *process) freeze() {
	p.t.Helper()
	p.signal(syscall.SIGSTOP)
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(p.cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			p.t.Fatalf("wait until the program stands still: %v", err)
		case !status.Stopped():
			p.t.Fatalf("the program ended instead of stopping: status %#x", int(status))
		default:
			return
		}
	}
}

// end waits for the end of the process, and returns its exit status.
func (p *process) end(within time.Duration) int {
	p.t.Helper()
	timeout := time.NewTimer(within)
	defer timeout.Stop()
	select {
	case <-p.exited:
		return p.cmd.ProcessState.ExitCode()
	case <-timeout.C:
		p.t.Fatalf("the server still runs after %s:\n%s", within, p.log.String())
		return -1
	}
}

// stop ends the server in an orderly way.
func (p *process) stop() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	if status := p.end(patient); status != 0 {
		p.t.Fatalf("a stop ended with status %d:\n%s", status, p.log.String())
	}
}

// kill ends the server like a crash.
func (p *process) kill() {
	p.cmd.Process.Kill() // it may have ended already
	<-p.exited
}

func (p *process) client() *client.Client {
	p.t.Helper()
	c, err := client.New(client.Options{Server: p.url})
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

// An output collects what a process writes.
type output struct {
	mu      sync.Mutex
	text    strings.Builder
	changed chan struct{}
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.changed != nil {
		close(o.changed)
		o.changed = nil
	}
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// find returns the first whole line that contains text. Otherwise it returns a channel that is
// closed when there is more output.
func (o *output) find(text string) (line string, changed <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for line := range strings.Lines(o.text.String()) {
		if strings.HasSuffix(line, "\n") && strings.Contains(line, text) {
			return strings.TrimSpace(line), nil
		}
	}
	if o.changed == nil {
		o.changed = make(chan struct{})
	}
	return "", o.changed
}

// receive starts an HTTP receiver on loopback.
func receive(t testing.TB, h http.HandlerFunc) (url string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// exported parses NDJSON of tasks.
func exported(t testing.TB, text string) []client.TaskDetail {
	t.Helper()
	var tasks []client.TaskDetail
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	for d.More() {
		var task client.TaskDetail
		if err := d.Decode(&task); err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, task)
	}
	return tasks
}
