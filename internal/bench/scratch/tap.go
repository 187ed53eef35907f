package scratch

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// A Tap stands between clients and a database, passes everything through, and
// counts the statements: BEGIN and COMMIT too, and each of several that are sent
// at once. What it does takes processor time from whatever it is used for.
type Tap struct {
	URL string // of the store by way of the tap, unencrypted

	kind       kind
	to         string
	listener   net.Listener
	statements atomic.Int64

	passing sync.WaitGroup
	mu      sync.Mutex
	open    map[net.Conn]bool // nil: closed
}

// An observer sees every byte that goes one way.
type observer interface{ observe([]byte) }

// Tap returns a tap on the database. It must be closed.
func (d *Database) Tap() (*Tap, error) {
	if d.server.redis != nil {
		return nil, errNotInRedis
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("tap: %w", err)
	}
	k := d.server.kind
	t := &Tap{kind: k, to: address(d.url, k.port), listener: l, open: map[net.Conn]bool{}}
	by := *d.url
	by.Host = l.Addr().String()
	query := by.Query()
	query.Set(k.inClear[0], k.inClear[1])
	by.RawQuery = query.Encode()
	t.URL = d.server.withOurs(&by)
	t.passing.Go(t.accept)
	return t, nil
}

// Statements is how many the server has answered so far; of MySQL, how many were
// sent to it.
func (t *Tap) Statements() int64 { return t.statements.Load() }

// Close ends all that passes through.
func (t *Tap) Close() error {
	t.mu.Lock()
	open := t.open
	t.open = nil
	t.mu.Unlock()
	err := t.listener.Close()
	for c := range open {
		c.Close()
	}
	t.passing.Wait()
	return err
}

func (t *Tap) accept() {
	for {
		c, err := t.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			t.passing.Go(func() { t.pass(c) })
		}
	}
}

// pass connects one client, until either side ends it.
func (t *Tap) pass(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", t.to)
	if err != nil {
		return // so does the client see it
	}
	defer server.Close()
	if !t.keep(client, server) {
		return
	}
	defer t.forget(client, server)
	toServer, toClient := t.kind.counting(func() { t.statements.Add(1) })
	var both sync.WaitGroup
	both.Go(func() { carry(server, client, toServer) })
	carry(client, server, toClient)
	both.Wait()
}

func (t *Tap) keep(both ...net.Conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		return false
	}
	for _, c := range both {
		t.open[c] = true
	}
	return true
}

func (t *Tap) forget(both ...net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range both {
		delete(t.open, c)
	}
}

// carry copies one way, and ends both when that ends.
func carry(to, from net.Conn, by observer) {
	defer to.Close()
	defer from.Close()
	if by == nil {
		io.Copy(to, from)
		return
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		by.observe(buf[:n])
		if _, wrong := to.Write(buf[:n]); err != nil || wrong != nil {
			return
		}
	}
}
