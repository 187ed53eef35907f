package server

import (
	"cmp"
	"net"
	"net/netip"
	"slices"
	"sync"

	"github.com/bellmanhq/bellman/internal/config"
)

// maxConnections are open at once unless the configuration says otherwise. Each costs a file, of
// which deliveries and the store need their part.
const maxConnections = 8192

// bound returns l with the bounds of a configuration on the connections that are open at once.
func bound(l net.Listener, c *config.Config) net.Listener {
	most := cmp.Or(c.HTTP.Connections, min(maxConnections, max(files()/2, 16)))
	return &boundListener{
		Listener: l, places: make(chan struct{}, most), closed: make(chan struct{}),
		perAddress: min(cmp.Or(c.HTTP.PerAddress, max(most/4, 1)), most), proxies: c.TrustedProxies, from: map[netip.Addr]int{},
	}
}

// A boundListener accepts a connection when there is a place for it: until then it waits with
// the system. Connections above perAddress of one address are closed at once.
type boundListener struct {
	net.Listener
	places     chan struct{} // one for each connection that is open
	perAddress int
	proxies    []netip.Prefix // have no bound of their own: everybody's connections come from there

	closing sync.Once
	closed  chan struct{}

	mu   sync.Mutex
	from map[netip.Addr]int
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

// enter counts one more connection from an address, unless there are too many.
func (l *boundListener) enter(from netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.from[from] >= l.perAddress && !slices.ContainsFunc(l.proxies, func(p netip.Prefix) bool { return p.Contains(from) }) {
		return false
	}
	l.from[from]++
	return true
}

func (l *boundListener) leave(from netip.Addr) {
	l.mu.Lock()
	if l.from[from]--; l.from[from] <= 0 {
		delete(l.from, from)
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

// A boundConn gives up its place when it is closed.
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
