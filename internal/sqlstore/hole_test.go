package sqlstore_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/mysql"
)

// A loss is a way to lose a COMMIT.
type loss int

const (
	replyLost  loss = iota // the COMMIT arrives, its reply is lost, and nothing more comes back
	neverSent              // the COMMIT does not arrive, and nothing more comes back
	lateAndCut             // the client is cut off at once, and the COMMIT arrives a second later
)

// A hole is a proxy to a server that can lose the next COMMIT.
type hole struct {
	listener net.Listener
	server   string
	is       func(sent []byte) bool
	group    sync.WaitGroup

	mu    sync.Mutex
	armed bool
	loss  loss
	conns []net.Conn
}

// dig starts a proxy to the server of an address. It returns the proxy with an address that leads
// through it. is recognizes a commit among the bytes of a client.
func dig(t *testing.T, address string, is func(sent []byte) bool) (*hole, string) {
	t.Helper()
	u, err := url.Parse(address)
	must(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	h := &hole{listener: l, server: u.Host, is: is}
	h.group.Go(h.accept)
	t.Cleanup(func() {
		l.Close()
		h.mu.Lock()
		for _, c := range h.conns {
			c.Close()
		}
		h.mu.Unlock()
		h.group.Wait()
	})
	u.Host = l.Addr().String()
	return h, u.String()
}

func (h *hole) accept() {
	for {
		client, err := h.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", h.server)
		if err != nil {
			client.Close()
			continue
		}
		h.mu.Lock()
		h.conns = append(h.conns, client, server)
		h.mu.Unlock()
		p := &pass{h: h, client: client, server: server}
		h.group.Go(p.up)
		h.group.Go(p.down)
	}
}

// lose makes the proxy lose the next COMMIT.
func (h *hole) lose(l loss) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.armed, h.loss = true, l
}

// meets reports whether the bytes of a client are the COMMIT to lose.
func (h *hole) meets(sent []byte) (loss, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.armed || !h.is(sent) {
		return 0, false
	}
	h.armed = false
	return h.loss, true
}

// A pass is one connection through the hole.
type pass struct {
	h              *hole
	client, server net.Conn
	mu             sync.Mutex
	deaf, dumb     bool // drop everything to the server, or everything to the client
}

func (p *pass) up() {
	defer p.server.Close()
	buf := make([]byte, 1<<16)
	for {
		n, err := p.client.Read(buf)
		if err != nil {
			return
		}
		if lost, met := p.h.meets(buf[:n]); met {
			p.mu.Lock()
			p.deaf, p.dumb = true, lost == neverSent
			p.mu.Unlock()
			if lost == lateAndCut {
				p.client.Close()
				<-time.After(time.Second)
				p.server.Write(buf[:n])
				<-time.After(time.Second) // the server reads the COMMIT before it sees the end
				return
			}
		}
		p.mu.Lock()
		dumb := p.dumb
		p.mu.Unlock()
		if dumb {
			continue
		}
		if _, err := p.server.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (p *pass) down() {
	buf := make([]byte, 1<<16)
	for {
		n, err := p.server.Read(buf)
		p.mu.Lock()
		deaf := p.deaf
		p.mu.Unlock()
		switch {
		case deaf && err != nil:
			return // the client gets no reply
		case deaf:
			continue
		case err != nil:
			if !errors.Is(err, io.EOF) {
				p.server.Close()
			}
			p.client.Close()
			return
		}
		if _, err := p.client.Write(buf[:n]); err != nil {
			return
		}
	}
}

// TestLostCommit loses a COMMIT in each way. The owner's store goes through the hole and returns
// ErrUnknown. Then a store with a direct connection claims the shard. What it reads is final, and
// the old lease writes nothing more.
func TestLostCommit(t *testing.T) { each(t, testUnknown) }

func testUnknown(t *testing.T, kind database) {
	url := kind.empty(t)
	other := kind.with(t, url, mysql.Options{})
	h, through := dig(t, url, kind.commits)
	ctx := context.Background()
	must(t, other.Join(ctx, store.Node{Name: "owner"}, time.Hour))
	for name, lost := range map[string]loss{"the reply is lost": replyLost, "it is not sent": neverSent, "it comes late": lateAndCut} {
		t.Run(name, func(t *testing.T) {
			owner := kind.with(t, through, mysql.Options{Connections: 2, Answer: 5 * time.Second}) // a busy disk answers late
			state, err := other.State(ctx, "")
			must(t, err)
			lease, err := other.Claim(ctx, "owner", 0, state.Shards[0].Epoch)
			must(t, err)
			leases := []store.Lease{lease}
			for range 3 { // so that the connection is open and knows the statements
				b := sqltest.Adds(0, 1, time.Now())
				b.Leases = leases
				must(t, owner.Commit(ctx, b))
			}
			b := sqltest.Adds(0, 1, time.Now())
			b.Leases = leases
			h.lose(lost)
			err = owner.Commit(ctx, b)
			if !errors.Is(err, bellman.ErrUnknown) {
				t.Fatalf("Commit() = %v, want ErrUnknown", err)
			}
			var next store.Lease
			for began := time.Now(); ; { // while the old transaction is open, Claim waits or asks for a retry
				next, err = other.Claim(ctx, "owner", 0, lease.Epoch)
				if err == nil || time.Since(began) > patience {
					break
				}
			}
			must(t, err)
			_, err = other.Task(ctx, b.Adds[0].Task.ID)
			first := err == nil
			if lost == replyLost && !first || lost == neverSent && first {
				t.Errorf("Task() = %v after the claim", err)
			}
			again := &store.Batch{Leases: leases, Adds: sqltest.Adds(0, 1, time.Now()).Adds}
			if err := owner.Commit(ctx, again); !errors.Is(err, bellman.ErrFenced) {
				t.Errorf("Commit() = %v under the old lease, want ErrFenced", err)
			}
			if lost == lateAndCut {
				<-time.After(1500 * time.Millisecond) // by now the late COMMIT has arrived
			}
			if _, err := other.Task(ctx, b.Adds[0].Task.ID); (err == nil) != first {
				t.Errorf("Task() = %v, and right after the claim the task existed: %t; want no change after the claim", err, first)
			}
			b.Leases = []store.Lease{next}
			if err := owner.Commit(ctx, b); err != nil || b.Adds[0].Err != nil || first != (b.Adds[0].Existing == b.Adds[0].Task.ID) {
				t.Errorf("second Commit() = %v, Existing %v; want success, and Existing only if the task exists", err, b.Adds[0].Existing)
			}
		})
	}
}
