package server

import (
	"cmp"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/config"
)

// maxConnections is the default limit of open connections of a listener. Each needs a file
// descriptor, and so do deliveries and the store.
const maxConnections = 8192

// connections returns the limit of open connections of each listener, of a process that may open so
// many files. By default half of the files are left.
func connections(c *config.Config, files int) int {
	listeners := 1
	if c.Notices.Listen != "" {
		listeners = 2
	}
	return cmp.Or(c.HTTP.Connections, min(maxConnections, max(files/2/listeners, 16)))
}

// bound limits the open connections of l as configured.
func bound(l net.Listener, c *config.Config) net.Listener {
	most := connections(c, files())
	return &boundListener{
		Listener: l, places: make(chan struct{}, most), closed: make(chan struct{}),
		perAddress: min(cmp.Or(c.HTTP.PerAddress, max(most/4, 1)), most), proxies: c.TrustedProxies, from: map[netip.Prefix]int{},
	}
}

// A boundListener accepts a connection when it has room. Until then the connection waits in the
// system. It closes connections beyond perAddress of one address at once.
type boundListener struct {
	net.Listener
	places     chan struct{}  // one element for each open connection
	perAddress int            // one address of IPv4, or one network of IPv6, which one customer has to itself
	proxies    []netip.Prefix // have no limit per address, because they pass on the connections of many

	closing sync.Once
	closed  chan struct{}

	mu   sync.Mutex
	from map[netip.Prefix]int
}

func (l *boundListener) Accept() (net.Conn, error) {
	for {
		select {
		case l.places <- struct{}{}:
		case <-l.closed:
			return nil, net.ErrClosed
		}
		c, err := l.Listener.Accept()
		if err != nil {
			<-l.places
			return nil, err
		}
		from := addressOf(c)
		if l.enter(from) {
			return &boundConn{Conn: c, l: l, from: from}, nil
		}
		c.Close()
		<-l.places
	}
}

// enter counts one more connection from an address. It returns false if there are too many.
func (l *boundListener) enter(from netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	network := access.Network(from)
	if l.from[network] >= l.perAddress && !slices.ContainsFunc(l.proxies, func(p netip.Prefix) bool { return p.Contains(from) }) {
		return false
	}
	l.from[network]++
	return true
}

func (l *boundListener) leave(from netip.Addr) {
	network := access.Network(from)
	l.mu.Lock()
	if l.from[network]--; l.from[network] <= 0 {
		delete(l.from, network)
	}
	l.mu.Unlock()
	<-l.places
}

func (l *boundListener) Close() error {
	l.closing.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

func addressOf(c net.Conn) netip.Addr {
	if tcp, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}

// A boundConn frees its place when it is closed.
type boundConn struct {
	net.Conn
	l    *boundListener
	from netip.Addr
	once sync.Once
}

func (c *boundConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { c.l.leave(c.from) })
	return err
}

// writeAnswer is how long a caller may take to read an answer, from its first byte. Streams and
// exports set a deadline of their own for each part.
const writeAnswer = time.Minute

// untilRead ends the connections of callers that do not read their answers. http.Server's
// WriteTimeout counts from the request, and is of no use: a settle itself waits for a minute.
func untilRead(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&answer{ResponseWriter: w}, r)
	})
}

// An answer has a deadline from its first byte on.
type answer struct {
	http.ResponseWriter
	begun bool
}

func (a *answer) WriteHeader(status int) {
	a.begin()
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(b []byte) (int, error) {
	a.begin()
	return a.ResponseWriter.Write(b)
}

func (a *answer) begin() {
	if !a.begun {
		a.begun = true
		http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Now().Add(writeAnswer))
	}
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
