package bench

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman/client"
)

// A process is a server under test.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	log    *tail
	addr   string
	notice string // address where it takes notices; empty: it takes none
	client *client.Client
	http   *http.Transport
	begun  time.Time
	ready  time.Duration // from its start until it was ready
	batch  int           // tasks that one request creates
	ended  bool          // or not started yet

	refused atomic.Int64 // creates that were answered with 429
}

// keptOpen is the most idle connections to a server.
const keptOpen = 128

// patience is the longest time without progress. Tests set a longer one.
var patience = 30 * time.Second

// start starts a server with default settings on a store, and waits until it is ready. A store that
// does not exist is created.
func (r *run) start(store string) *process { return r.startWith(store, "") }

// startWith starts a server with these settings, as YAML; empty: the default.
func (r *run) startWith(store, settings string) *process {
	if d := r.made[store]; d != nil {
		try(d.Create(r.ctx))
	}
	profile := ""
	if r.o.Profile != "" {
		profile = fmt.Sprintf("%s.%s.%d", r.o.Profile, r.scenario, len(r.servers)+1)
	}
	p := r.spawn(role{Store: store, Settings: settings, Profile: profile, Env: r.env})
	try(p.awaitReady(r.ctx))
	return p
}

// spawn starts a child, and waits until it says that it is ready to work. The child ends with the
// scenario at the latest.
func (r *run) spawn(as role) *process {
	p := &process{log: &tail{}, batch: r.sizes.batch, ended: true}
	r.servers = append(r.servers, p)
	try(p.launch(as))
	return p
}

func (p *process) launch(as role) (err error) {
	if p.cmd, err = childCommand(context.Background()); err != nil {
		return err
	}
	p.cmd.Stderr = p.log
	if as.Env != "" {
		p.cmd.Env = append(os.Environ(), as.Env)
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.begun = time.Now()
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("start a server: %w", err)
	}
	p.ended = false
	if err := json.NewEncoder(p.stdin).Encode(as); err != nil {
		return fmt.Errorf("start a server: %w", err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return fmt.Errorf("the server did not start: %s", cmp.Or(strings.TrimSpace(p.log.String()), err.Error()))
	}
	p.addr, p.notice, _ = strings.Cut(strings.TrimSpace(line), " ")
	p.http = &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: keptOpen,
		DialContext: (&net.Dialer{}).DialContext}
	p.client, err = client.New(client.Options{Server: "http://" + p.addr, HTTP: &http.Client{Transport: p.http}})
	return err
}

func (p *process) awaitReady(ctx context.Context) error {
	for deadline := time.Now().Add(patience); ; {
		err := p.client.Ready(ctx)
		if err == nil {
			p.ready = time.Since(p.begun)
			return nil
		}
		if ctx.Err() != nil || time.Now().After(deadline) {
			return fmt.Errorf("the server is not ready after %s: %w\n%s", patience, err, p.log)
		}
		sleepUntil(time.Now().Add(500 * time.Microsecond))
	}
}

// stop ends the server cleanly.
func (p *process) stop() error {
	if p.ended {
		return nil
	}
	p.ended = true
	p.http.CloseIdleConnections()
	p.stdin.Close()
	timer := time.AfterFunc(patience, func() { p.cmd.Process.Kill() })
	defer timer.Stop()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("the server stopped with %w\n%s", err, p.log)
	}
	return nil
}

// kill ends the server as a crash does.
func (p *process) kill() {
	if p.ended {
		return
	}
	p.ended = true
	if p.http != nil {
		p.http.CloseIdleConnections()
	}
	p.cmd.Process.Kill()
	p.cmd.Wait() // returns an error, because the process was killed
}

// pending returns the number of tasks that have not ended.
func (p *process) pending(ctx context.Context) (int64, error) {
	queues, err := p.client.Queues(ctx)
	if err != nil {
		return 0, err
	}
	var n int64
	for _, q := range queues.Queues {
		n += q.Depth.Pending
	}
	return n, nil
}

// awaitPending waits until the number of tasks that have not ended is want.
func (p *process) awaitPending(ctx context.Context, want int64) error {
	last, since := int64(-1), time.Now()
	for {
		n, err := p.pending(ctx)
		switch {
		case err != nil:
			return err
		case n == want:
			return nil
		case n != last:
			last, since = n, time.Now()
		case time.Since(since) > patience:
			return fmt.Errorf("%w in %s: %d tasks are pending, want %d", errStuck, patience, n, want)
		}
		sleepUntil(time.Now().Add(2 * time.Millisecond))
	}
}

// errStuck is the error after a time without progress.
var errStuck = errors.New("no progress")

// usage returns what the server has used so far; zeros if that is unknown.
func (p *process) usage() (cpu time.Duration, now, peak int64) {
	if !canMeasure || p.ended {
		return 0, 0, 0
	}
	cpu, err := cpuOf(p.cmd.Process.Pid)
	if err != nil {
		return 0, 0, 0
	}
	now, peak, err = memoryOf(p.cmd.Process.Pid)
	if err != nil {
		return 0, 0, 0
	}
	return cpu, now, peak
}

// A tail keeps the end of a log.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailBytes = 4 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if extra := len(t.text) - tailBytes; extra > 0 {
		t.text = t.text[extra:]
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
