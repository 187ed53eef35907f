package http1

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Over TLS a host that knows HTTP/1.1 is spoken to here, and one that chooses HTTP/2 through net/http, on the same
// connection.
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

// Bytes that came in the same TLS record as the answer, and are not in the reader yet, count as well.
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
		for deadline := time.Now().Add(patience); open.Load() != 1; runtime.Gosched() {
			if time.Now().After(deadline) {
				t.Fatalf("%d connections are open; want 1", open.Load())
			}
		}
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
