package http1

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// maxHTTP2 is the number of hosts whose choice of HTTP/2 is remembered. A host that is forgotten
// chooses again.
const maxHTTP2 = 4096

// An http2Host is the error for a connection to a host that chose HTTP/2. It has the connection if
// that is a new one.
type http2Host struct {
	key  key
	conn *tls.Conn // nil: none
}

func (h *http2Host) Error() string { return "http1: the host chose HTTP/2" }

func (h *http2Host) close() {
	if h.conn != nil {
		h.conn.Close()
	}
}

// remember notes that a host chose HTTP/2. The caller has the lock.
func (t *Transport) remember(k key) {
	if len(t.http2) >= maxHTTP2 {
		clear(t.http2)
	}
	t.http2[k] = struct{}{}
}

// offered is the key of a context with a new connection, for the transport that dials.
type offered struct{}

// overHTTP2 sends a request through net/http, which gets the connection.
func (t *Transport) overHTTP2(h *http2Host, req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	if h.conn != nil {
		offer := new(atomic.Pointer[tls.Conn])
		offer.Store(h.conn)
		defer func() {
			if left := offer.Swap(nil); left != nil {
				left.Close() // net/http had another connection by then
			}
		}()
		ctx = context.WithValue(ctx, offered{}, offer)
	}
	again := req.WithContext(ctx)
	if req.GetBody != nil {
		var err error
		if again.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
	resp, err := t.std.RoundTrip(again)
	if err == nil && resp.ProtoMajor < 2 { // the host has changed its mind
		t.mu.Lock()
		delete(t.http2, h.key)
		t.mu.Unlock()
	}
	return resp, err
}

// dialTLS is the DialTLSContext of net/http: it takes the connection that was offered, or makes
// one.
func (t *Transport) dialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	if offer, is := ctx.Value(offered{}).(*atomic.Pointer[tls.Conn]); is {
		if c := offer.Swap(nil); c != nil {
			return c, nil
		}
	}
	socket, err := t.std.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	config := t.std.TLSClientConfig.Clone()
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(address)
	}
	return t.handshake(ctx, socket, config)
}

// handshake makes a TLS connection of a socket, and closes the socket if it cannot.
func (t *Transport) handshake(ctx context.Context, socket net.Conn, config *tls.Config) (*tls.Conn, error) {
	trace := httptrace.ContextClientTrace(ctx)
	if trace != nil && trace.TLSHandshakeStart != nil {
		trace.TLSHandshakeStart()
	}
	within, cancel := context.WithTimeoutCause(ctx, t.std.TLSHandshakeTimeout, errHandshakeTimeout)
	defer cancel()
	c := tls.Client(socket, config)
	err := c.HandshakeContext(within)
	if err != nil {
		socket.Close()
		if errors.Is(context.Cause(within), errHandshakeTimeout) {
			err = errHandshakeTimeout
		}
	}
	if trace != nil && trace.TLSHandshakeDone != nil {
		trace.TLSHandshakeDone(c.ConnectionState(), err)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}
