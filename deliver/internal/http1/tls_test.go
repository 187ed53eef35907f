package http1

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bellmanhq/bellman/internal/eventually"
)

// Over TLS a host that knows HTTP/1.1 is spoken to here, and one that chooses HTTP/2 through
// net/http, on the same connection.
func TestTLS(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			fmt.Fprint(w, r.Proto, " ", string(b))
		}))
		server.EnableHTTP2 = http2
		server.StartTLS()
		defer server.Close()
		rt, dials := newTransport(t)
		rt.std.TLSClientConfig.RootCAs = server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
		want := map[bool]string{false: "HTTP/1.1 body", true: "HTTP/2.0 body"}[http2]
		for range 5 {
			if got, err := send(t, rt, "POST", server.URL, "body"); err != nil || got != want {
				t.Fatalf("%q, %v; want %q", got, err, want)
			}
		}
		if n := dials.Load(); n != 1 {
			t.Errorf("HTTP/2 %t: %d connections for 5 requests; want 1", http2, n)
		}
		if kept := rt.idle.n == 1; kept == http2 {
			t.Errorf("HTTP/2 %t: the connection is kept here: %t", http2, kept)
		}
	}
}

// Bytes that came in the same TLS record as the answer, and are not in the reader yet, count as
// well.
func TestTLSRest(t *testing.T) {
	for _, extra := range []string{"", "x"} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			// As long as the reader's buffer, so that the rest stays in the TLS connection.
			head := "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nX: "
			io.WriteString(conn, head+strings.Repeat("x", 2<<10-len(head)-len("\r\n\r\nsuccess"))+"\r\n\r\nsuccess"+extra)
		}))
		server.TLS = &tls.Config{DynamicRecordSizingDisabled: true} // one record
		server.StartTLS()
		defer server.Close()
		rt, _ := newTransport(t)
		rt.std.TLSClientConfig.RootCAs = server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
		if got, err := send(t, rt, "POST", server.URL, ""); err != nil || got != "success" {
			t.Fatalf("%q, %v", got, err)
		}
		if c := rt.idle.first; c == nil || c.silent() != (extra == "") {
			t.Errorf("with %q after the answer: idle %v, and silent is wrong", extra, c != nil)
		}
	}
}

// Servers other than Go's send session tickets after the handshake. A connection that has waited
// with tickets unread is used all the same, and the tickets serve the next connection.
func TestTLSTickets(t *testing.T) {
	made := make(chan bool, 2) // handshakes: whether each resumed a session
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS() // only its certificate is used
	server.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	config := &tls.Config{Certificates: server.TLS.Certificates, MinVersion: tls.VersionTLS13}
	config.ClientAuth = tls.RequestClientCert // so tickets follow the client's part of the handshake
	go func() {
		for {
			socket, err := l.Accept()
			if err != nil {
				return
			}
			conn := tls.Server(socket, config)
			go func() {
				defer conn.Close()
				if conn.Handshake() == nil { // tickets are sent when it returns
					made <- conn.ConnectionState().DidResume
					answerAll(conn)
				}
			}()
		}
	}()
	rt, dials := newTransport(t)
	rt.std.TLSClientConfig.InsecureSkipVerify = true
	rt.std.TLSClientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(2)
	dial, begin, gone := rt.std.DialContext, make(chan struct{}, 2), make(chan struct{})
	rt.std.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		begin <- struct{}{}
		<-gone
		return dial(ctx, network, address)
	}
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "GET", "https://"+l.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-begin
		cancel()
	}()
	if _, err := rt.RoundTrip(req); !errors.Is(err, context.Canceled) {
		t.Fatalf("a request that was cancelled while its connection was made: %v", err)
	}
	close(gone)
	<-made
	eventually.True(t, "idle: the connection", func() bool { return idle(rt) == 1 })
	for range 2 {
		if got, err := send(t, rt, "POST", "https://"+l.Addr().String(), "body"); err != nil || got != "success" {
			t.Fatalf("%q, %v", got, err)
		}
		if n := dials.Load(); n != 1 {
			t.Fatalf("%d connections; want 1", n)
		}
	}
	rt.CloseIdleConnections()
	if _, err := send(t, rt, "POST", "https://"+l.Addr().String(), "body"); err != nil {
		t.Fatal(err)
	}
	if !<-made {
		t.Error("the next connection does not resume the session; want the tickets kept")
	}
}

// answerAll answers success to every request on a connection.
func answerAll(conn net.Conn) {
	in := bufio.NewReader(conn)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		io.Copy(io.Discard, req.Body)
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nsuccess")
	}
}

// idle returns the number of idle connections.
func idle(rt *Transport) int {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return rt.idle.n
}

// Requests that meet before the host's choice of HTTP/2 is known end up on one connection.
func TestHTTP2Together(t *testing.T) {
	var open, arrived atomic.Int32
	all := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if arrived.Add(1) == 8 {
			close(all)
		}
		<-all
		io.WriteString(w, "success")
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	rt, _ := newTransport(t)
	rt.std.TLSClientConfig.RootCAs = server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	dial := rt.std.DialContext
	rt.std.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		open.Add(1)
		return &counted{Conn: c, open: &open}, err
	}
	one := func() {
		t.Helper()
		eventually.True(t, "one connection is open", func() bool { return open.Load() == 1 })
	}
	together(t, rt, slices.Repeat([]string{server.URL}, 8)...)
	one()
	clear(rt.http2) // as if there were too many hosts
	together(t, rt, server.URL)
	one()
}

// A counted connection is counted until it is closed.
type counted struct {
	net.Conn
	open   *atomic.Int32
	closed atomic.Bool
}

func (c *counted) Close() error {
	if !c.closed.Swap(true) {
		c.open.Add(-1)
	}
	return c.Conn.Close()
}
