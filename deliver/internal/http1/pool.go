package http1

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"syscall"
	"time"
)

// A host is where connections lead. The mutex of the Transport guards it.
type host struct {
	key     key
	address string      // with the port
	tls     *tls.Config // nil: no TLS
	open    int         // connections, and those that are being made
	idle    []*conn     // the one that waits longest first
	waiters []*waiter   // requests without a connection, the oldest first
}

// A waiter is a request that needs a connection: its own, or one that comes free before.
type waiter struct {
	host *host
	got  chan taken // has room for one
}

// taken is what a waiter gets: a connection or an error.
type taken struct {
	conn *conn
	err  error
}

// take returns a connection for a request: the idle one that was used last, or the first that comes
// free or is made. The error is an *http2Host if the host speaks HTTP/2.
func (t *Transport) take(ctx context.Context, req *http.Request) (*conn, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	trace := httptrace.ContextClientTrace(ctx)
	got := func(c *conn) *conn {
		if trace != nil && trace.GotConn != nil {
			trace.GotConn(httptrace.GotConnInfo{Conn: c, Reused: c.reused})
		}
		return c
	}
	if trace != nil && trace.GetConn != nil {
		trace.GetConn(req.URL.Host)
	}
	k := key{req.URL.Scheme == "https", req.URL.Host}
	for {
		c, w, err := t.find(ctx, k, req)
		if err != nil {
			return nil, err
		}
		if c == nil {
			if c, err = t.wait(ctx, w); err != nil {
				return nil, err
			}
		}
		if !c.reused || c.silent() {
			return got(c), nil
		}
		c.close()
	}
}

// find returns an idle connection, or begins to make one and returns its waiter.
func (t *Transport) find(ctx context.Context, k key, req *http.Request) (*conn, *waiter, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = false
	if _, is := t.http2[k]; is {
		return nil, nil, &http2Host{key: k}
	}
	h := t.hosts[k]
	if h == nil {
		h = t.newHost(k, req)
		t.hosts[k] = h
	}
	if n := len(h.idle); n > 0 {
		c := h.idle[n-1]
		t.unpool(c)
		return c, nil, nil
	}
	w := &waiter{h, make(chan taken, 1)}
	h.open++
	h.waiters = append(h.waiters, w)
	// The connection is made even if the request ends before: another one may use it.
	go t.dial(context.WithoutCancel(ctx), h, w)
	return nil, w, nil
}

// newHost returns the host of a request.
func (t *Transport) newHost(k key, req *http.Request) *host {
	port := req.URL.Port()
	h := &host{key: k}
	if k.secure {
		h.tls = t.std.TLSClientConfig.Clone()
		if h.tls.ServerName == "" {
			h.tls.ServerName = req.URL.Hostname()
		}
	}
	if port == "" {
		port = map[bool]string{true: "443", false: "80"}[k.secure]
	}
	h.address = net.JoinHostPort(req.URL.Hostname(), port)
	return h
}

// wait waits until w gets a connection or an error.
func (t *Transport) wait(ctx context.Context, w *waiter) (*conn, error) {
	select {
	case got := <-w.got:
		if got.err != nil && ctx.Err() != nil {
			got.drop()
			return nil, context.Cause(ctx)
		}
		return got.conn, got.err
	case <-ctx.Done():
	}
	t.mu.Lock()
	waited := forget(w)
	t.mu.Unlock()
	if !waited {
		if got := <-w.got; got.conn != nil {
			t.put(got.conn)
		} else {
			got.drop()
		}
	}
	return nil, context.Cause(ctx)
}

// drop closes the connection of an HTTP/2 host, if g has one.
func (g taken) drop() {
	if h, is := g.err.(*http2Host); is {
		h.close()
	}
}

// forget removes a waiter, and reports whether it still waited. The caller has the lock.
func forget(w *waiter) bool {
	i := slices.Index(w.host.waiters, w)
	if i >= 0 {
		w.host.waiters = slices.Delete(w.host.waiters, i, i+1)
	}
	return i >= 0
}

// dial makes a connection for w. If w has got another one meanwhile, or has ended, the connection
// goes to the pool.
func (t *Transport) dial(ctx context.Context, h *host, w *waiter) {
	c, err := t.connect(ctx, h)
	t.mu.Lock()
	if found, is := err.(*http2Host); is {
		t.remember(found.key)
	}
	waited := forget(w)
	t.mu.Unlock()
	switch {
	case waited:
		w.got <- taken{c, err}
	case err == nil:
		t.put(c)
	default:
		taken{c, err}.drop()
	}
	if err != nil {
		t.release(h)
	}
}

// connect makes a connection, for TLS with its handshake.
func (t *Transport) connect(ctx context.Context, h *host) (*conn, error) {
	dialed, err := t.std.DialContext(ctx, "tcp", h.address)
	if err != nil {
		return nil, err
	}
	s := &socket{Conn: dialed}
	if raw, is := dialed.(syscall.Conn); is {
		if s.control, err = raw.SyscallConn(); err != nil {
			s.Close()
			return nil, err
		}
	}
	c := &conn{Conn: s, t: t, host: h, socket: s}
	if h.tls == nil {
		return c, nil
	}
	secured, err := t.handshake(ctx, s, h.tls)
	if err != nil {
		return nil, err
	}
	state := secured.ConnectionState()
	if state.NegotiatedProtocol == "h2" {
		return nil, &http2Host{key: h.key, conn: secured}
	}
	c.Conn, c.tls = secured, &state
	return c, nil
}

// put gives a connection to the request that waits longest, or keeps it.
func (t *Transport) put(c *conn) {
	c.reused = true
	t.mu.Lock()
	h := c.host
	if len(h.waiters) > 0 {
		w := h.waiters[0]
		h.waiters = slices.Delete(h.waiters, 0, 1)
		t.mu.Unlock()
		w.got <- taken{conn: c}
		return
	}
	extra := c
	if !t.closed && len(h.idle) < t.std.MaxIdleConnsPerHost {
		extra = t.pool(c)
	}
	t.mu.Unlock()
	if extra != nil {
		extra.close()
	}
}

// pool keeps an idle connection, and returns one that is too many; nil: none. The caller has the
// lock.
func (t *Transport) pool(c *conn) (extra *conn) {
	c.idleFrom = time.Now()
	c.host.idle = append(c.host.idle, c)
	t.idle.push(c)
	if t.idle.n > t.std.MaxIdleConns {
		extra = t.idle.first
		t.unpool(extra)
	}
	if t.sweeps == nil {
		t.sweeps = time.AfterFunc(t.std.IdleConnTimeout, t.sweep)
	}
	return extra
}

// unpool takes a connection out of the pool. The caller has the lock.
func (t *Transport) unpool(c *conn) {
	h := c.host
	i := len(h.idle) - 1
	if h.idle[i] != c {
		i = slices.Index(h.idle, c)
	}
	h.idle = slices.Delete(h.idle, i, i+1)
	t.idle.remove(c)
}

// sweep closes the connections that waited too long.
func (t *Transport) sweep() {
	var old []*conn
	t.mu.Lock()
	now := time.Now()
	for c := t.idle.first; c != nil && now.Sub(c.idleFrom) >= t.std.IdleConnTimeout; c = t.idle.first {
		t.unpool(c)
		old = append(old, c)
	}
	if t.idle.first == nil {
		t.sweeps = nil
	} else {
		t.sweeps.Reset(t.std.IdleConnTimeout - now.Sub(t.idle.first.idleFrom))
	}
	t.mu.Unlock()
	for _, c := range old {
		c.close()
	}
}

// release counts a closed connection. A host without connections is forgotten.
func (t *Transport) release(h *host) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if h.open--; h.open == 0 {
		delete(t.hosts, h.key)
	}
}

// A list holds idle connections.
type list struct {
	first, last *conn
	n           int
}

func (l *list) push(c *conn) {
	c.before, c.after = l.last, nil
	if l.last == nil {
		l.first = c
	} else {
		l.last.after = c
	}
	l.last = c
	l.n++
}

func (l *list) remove(c *conn) {
	if c.before == nil {
		l.first = c.after
	} else {
		c.before.after = c.after
	}
	if c.after == nil {
		l.last = c.before
	} else {
		c.after.before = c.before
	}
	c.before, c.after = nil, nil
	l.n--
}
