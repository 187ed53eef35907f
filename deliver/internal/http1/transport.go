// Package http1 sends short requests over HTTP/1.1 connections that it keeps. The goroutine that
// calls RoundTrip writes the request and reads the answer itself: a connection has no goroutines of
// its own, which are half the cost of a request in net/http. Answers are parsed by net/http, so
// both accept and refuse the same ones.
//
// Everything else is left to an http.Transport: long bodies, trailers, proxies, and hosts that
// choose HTTP/2.
package http1

import (
	"bufio"
	"net/http"
	"sync"
	"time"
)

// A Transport is an http.RoundTripper. It is safe for concurrent use, but the body of one answer is
// not.
//
// A connection is used again only after a complete answer that allows it, if nothing came after the
// answer and the server has not closed the connection since. A request is sent a second time only
// on another connection, only if the first one had been used before, and only by the rules of
// http.Transport: nothing of the request could be written, or no byte of an answer came and the
// method or an Idempotency-Key says that repeating it is harmless. A POST that was written is never
// sent again.
//
// Of the hooks of httptrace, a Transport calls GetConn, GotConn, GotFirstResponseByte, and those of
// DNS, connecting and TLS.
type Transport struct {
	std     *http.Transport // for all other requests; its dialer, timeouts and limits are used here too
	readers sync.Pool       // of *bufio.Reader, for connections with an answer to come

	mu     sync.Mutex
	hosts  map[key]*host
	http2  map[key]struct{} // hosts that chose HTTP/2
	idle   list             // all idle connections, the one that waits longest first
	sweeps *time.Timer      // closes those that waited too long; nil: none is idle
	closed bool             // CloseIdleConnections was called, and no request since
}

// A key identifies a host.
type key struct {
	secure bool
	host   string // as in the URL
}

// New returns a transport with the dialer, timeouts, limits and TLS configuration of std, which
// gets all requests that do not fit. Both keep connections up to these limits. std must have a
// DialContext, and neither a proxy nor a ResponseHeaderTimeout. New changes std, which must not be
// used before or apart from the Transport.
func New(std *http.Transport) *Transport {
	t := &Transport{std: std, hosts: map[key]*host{}, http2: map[key]struct{}{}}
	t.readers.New = func() any { return bufio.NewReaderSize(nil, std.ReadBufferSize) }
	std.TLSClientConfig = std.TLSClientConfig.Clone()
	std.TLSClientConfig.NextProtos = []string{"h2", "http/1.1"}
	std.DialTLSContext = t.dialTLS
	return t
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if !supported || !fits(req) {
		return t.std.RoundTrip(req)
	}
	message := messages.Get().(*[]byte)
	defer messages.Put(message)
	var err error
	if *message, err = appendRequest((*message)[:0], req); err != nil {
		return nil, err
	}
	ctx := req.Context()
	for {
		c, err := t.take(ctx, req)
		if h, is := err.(*http2Host); is {
			return t.overHTTP2(h, req)
		}
		if err != nil {
			return nil, err
		}
		resp, again, err := c.roundTrip(ctx, req, *message)
		if !again {
			return resp, err
		}
	}
}

// CloseIdleConnections closes the connections that no request uses.
func (t *Transport) CloseIdleConnections() {
	t.mu.Lock()
	t.closed = true
	var idle []*conn
	for c := t.idle.first; c != nil; c = t.idle.first {
		t.unpool(c)
		idle = append(idle, c)
	}
	t.mu.Unlock()
	for _, c := range idle {
		c.close()
	}
	t.std.CloseIdleConnections()
}
