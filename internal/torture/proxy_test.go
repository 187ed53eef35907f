package torture

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A fault is what a proxy does to the bytes that pass.
type fault int

const (
	pass      fault = iota
	refused         // no connection is made, and existing ones are cut
	slow            // each piece is delayed, in both directions
	blackHole       // nothing passes, but no connection is cut; afterwards it goes on
	replyLost       // the connection is cut at the next COMMIT, which is delivered at once or a while later
	notSent         // the connection is cut at the next COMMIT, which is not delivered
)

// A proxy is between a node and its database.
type proxy struct {
	address string
	wire    func() wire

	mu      sync.Mutex
	to      string // address of the database
	fault   fault
	delay   time.Duration
	changed chan struct{} // closed when the fault changes
	hit     int           // number of commits that a fault hit
	open    map[*link]bool
	closed  bool
	work    sync.WaitGroup
}

// A link is one connection through a proxy.
type link struct {
	client, server net.Conn
	wire           wire
	lost           atomic.Bool   // the client is gone, which the server does not know
	over           chan struct{} // closed when nothing more is read from the server
}

func (l *link) cut() {
	l.client.Close()
	l.server.Close()
}

// newProxy starts a proxy on loopback.
func newProxy(t testing.TB, to string, w func() wire) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{address: listener.Addr().String(), wire: w, to: to, changed: make(chan struct{}), open: map[*link]bool{}}
	p.work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			p.work.Go(func() { p.serve(conn) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		p.set(refused, 0)
		p.work.Wait()
	})
	return p
}

// set makes a fault for everything that passes from now on.
func (p *proxy) set(f fault, delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.delay = f, delay
	close(p.changed)
	p.changed = make(chan struct{})
	if f == refused {
		for l := range p.open {
			l.cut()
		}
	}
}

// lead leads new connections to another server. Existing connections stay.
func (p *proxy) lead(to string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to = to
}

// hits returns the number of commits that a fault hit.
func (p *proxy) hits() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hit
}

func (p *proxy) now() (f fault, delay time.Duration, changed <-chan struct{}, closed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault, p.delay, p.changed, p.closed
}

// serve carries one connection.
func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	if !p.clear() {
		return
	}
	p.mu.Lock()
	to := p.to
	p.mu.Unlock()
	server, err := net.DialTimeout("tcp", to, patient)
	if err != nil {
		return
	}
	l := &link{client: client, server: server, wire: p.wire(), over: make(chan struct{})}
	p.mu.Lock()
	if p.fault == refused {
		l.cut()
	}
	p.open[l] = true
	p.mu.Unlock()
	go func() {
		defer close(l.over)
		defer l.cut()
		p.answers(l)
	}()
	p.requests(l)
	l.cut()
	<-l.over
	p.mu.Lock()
	delete(p.open, l)
	p.mu.Unlock()
}

// clear waits while nothing may pass, and delays pieces if the fault is slow. It returns false if
// the connection is to be cut.
func (p *proxy) clear() bool {
	for {
		f, delay, changed, closed := p.now()
		switch {
		case closed || f == refused:
			return false
		case f == blackHole:
			<-changed
			continue
		case f == slow:
			timer := time.NewTimer(delay)
			select {
			case <-timer.C:
			case <-changed:
				timer.Stop()
			}
		}
		return true
	}
}

// answers carries what the server sends. After the client is gone it reads until COMMIT is
// answered, so that the server is not disturbed before.
func (p *proxy) answers(l *link) {
	buf := make([]byte, 32<<10)
	for {
		n, err := l.server.Read(buf)
		if n > 0 && !l.lost.Load() {
			if !p.clear() {
				return
			}
			if _, err := l.client.Write(buf[:n]); err != nil && !l.lost.Load() {
				return
			}
		}
		if n > 0 && l.lost.Load() && l.wire.answered(buf[:n]) || err != nil {
			return
		}
	}
}

// requests carries what the client sends.
func (p *proxy) requests(l *link) {
	buf := make([]byte, 32<<10)
	for {
		n, err := l.client.Read(buf)
		if n > 0 {
			commit := l.wire.sent(buf[:n])
			if !p.clear() {
				return
			}
			if commit && p.spoil(l, buf[:n]) {
				return
			}
			if _, err := l.server.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// spoil applies the fault to a COMMIT, once, and reports whether the connection is over.
func (p *proxy) spoil(l *link, piece []byte) bool {
	p.mu.Lock()
	f, delay := p.fault, p.delay
	if f != replyLost && f != notSent {
		p.mu.Unlock()
		return false
	}
	p.fault = pass
	p.hit++
	p.mu.Unlock()
	if f == notSent {
		return true
	}
	l.lost.Store(true)
	l.client.Close()
	timer := time.NewTimer(delay)
	<-timer.C
	l.server.Write(piece) // the server may have ended the session
	timer.Reset(2 * time.Second)
	select {
	case <-l.over: // the server has answered
	case <-timer.C:
	}
	return true
}
