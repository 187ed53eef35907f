package torture

import (
	"net/http"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/freeport"
)

// A node is one bellman process under a supervisor, which restarts it when it ends by itself, like
// an init system.
type node struct {
	number  int
	path    string // path of its copy of the program
	address string // where it listens, always the same
	store   string
	file    string // its configuration file; empty: none
	client  *client.Client

	mu      sync.Mutex
	process *process
	down    bool // whether it stays down
	watched sync.WaitGroup
	exits   []exit
	logs    []*output
}

// An exit is an end of a process that nobody requested.
type exit struct {
	at   time.Time
	said string
}

// newNode returns a node that does not run yet.
func newNode(t testing.TB, number int, store string) *node {
	t.Helper()
	n := &node{number: number, path: copyOf(t, number), address: freeport.Address(t), store: store, down: true}
	var err error
	if n.client, err = client.New(client.Options{Server: "http://" + n.address, HTTP: &http.Client{Timeout: answerWithin}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.kill)
	return n
}

// start starts the process.
func (n *node) start(t testing.TB) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = false
	if err := n.launch(); err != nil {
		t.Fatal(err)
	}
	n.watched.Go(n.supervise)
}

// launch starts one process; n.mu is held.
func (n *node) launch() error {
	cmd := exec.Command(n.path, "serve", "--listen", n.address, "--store", n.store)
	if n.file != "" {
		cmd.Args = append(cmd.Args, "--config", n.file)
	}
	cmd.Env = environment("BELLMAN_EGRESS_ALLOW_PRIVATE=true", "BELLMAN_NODE="+agent(n.number))
	var err error
	if n.process, err = start(cmd); err == nil {
		n.logs = append(n.logs, &n.process.said)
	}
	return err
}

// answerWithin is how long a node may take to answer before another one is asked.
const answerWithin = 1500 * time.Millisecond

// again is how long a supervisor waits before it restarts a process.
const again = 500 * time.Millisecond

// supervise restarts the process until it is to stay down.
func (n *node) supervise() {
	for {
		n.mu.Lock()
		p := n.process
		n.mu.Unlock()
		<-p.exited
		n.mu.Lock()
		if n.down {
			n.mu.Unlock()
			return
		}
		n.exits = append(n.exits, exit{time.Now(), p.said.tail(5)})
		n.mu.Unlock()
		pause := time.NewTimer(again)
		<-pause.C
		n.mu.Lock()
		if n.down || n.launch() != nil {
			n.mu.Unlock()
			return
		}
		n.mu.Unlock()
	}
}

// signal sends a signal to the process.
func (n *node) signal(s syscall.Signal) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process != nil {
		n.process.signal(s)
	}
}

// lower marks the node as down, and returns its process.
func (n *node) lower() *process {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = true
	return n.process
}

// kill ends the process like a crash.
func (n *node) kill() {
	if p := n.lower(); p != nil {
		p.kill()
	}
	n.watched.Wait()
}

// stop ends the process in an orderly way.
func (n *node) stop(t testing.TB) {
	t.Helper()
	p := n.lower()
	p.signal(syscall.SIGTERM)
	if status := p.end(t, patient); status != 0 {
		t.Errorf("node %d: a stop ended with status %d:\n%s", n.number, status, p.said.tail(20))
	}
	n.watched.Wait()
}

// ready reports whether the node says that it can start attempts.
func (n *node) ready(t testing.TB) bool { return n.client.Ready(t.Context()) == nil }

// ended returns the exits of the process so far.
func (n *node) ended() []exit {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]exit(nil), n.exits...)
}
