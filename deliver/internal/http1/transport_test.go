package http1

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/eventually"
)

// newTransport returns a transport with generous limits, and how many connections it has made.
func newTransport(t *testing.T) (*Transport, *atomic.Int32) {
	t.Helper()
	dials := new(atomic.Int32)
	rt := New(&http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			dials.Add(1)
			return new(net.Dialer).DialContext(ctx, network, address)
		},
		MaxResponseHeaderBytes: 64 << 10, MaxIdleConns: 100, MaxIdleConnsPerHost: 100, IdleConnTimeout: time.Hour,
		TLSHandshakeTimeout: eventually.Limit, ReadBufferSize: 2 << 10, DisableCompression: true, ForceAttemptHTTP2: true,
		TLSClientConfig: &tls.Config{},
	})
	t.Cleanup(rt.CloseIdleConnections)
	return rt, dials
}

// send makes a request and returns the answer's body.
func send(t *testing.T, rt http.RoundTripper, method, url, body string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), eventually.Limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

// A peer is a server that answers the requests of each connection with prepared bytes.
type peer struct {
	url      string
	requests atomic.Int32
	conns    atomic.Int32
	closed   chan struct{} // gets an element for each connection that the peer has closed
}

// newPeer returns a peer. Request n of connection c, from 1, is answered by answer(c, n); after an
// empty answer, or one that ends in \x00, the peer closes the connection.
func newPeer(t *testing.T, answer func(c, n int) string) *peer {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{url: "http://" + l.Addr().String(), closed: make(chan struct{}, 100)}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(conn, int(p.conns.Add(1)), answer)
		}
	}()
	return p
}

func (p *peer) serve(conn net.Conn, c int, answer func(c, n int) string) {
	in := bufio.NewReader(conn)
	for n := 1; ; n++ {
		req, err := http.ReadRequest(in)
		if err != nil {
			conn.Close()
			return
		}
		io.Copy(io.Discard, req.Body)
		p.requests.Add(1)
		text, end := strings.CutSuffix(answer(c, n), "\x00")
		io.WriteString(conn, text)
		if end || text == "" {
			conn.Close()
			p.closed <- struct{}{}
			return
		}
	}
}

const success = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nsuccess"

// The bytes of a request are those that net/http sends, and what does not fit goes through
// net/http.
func TestRequestAsNetHTTPSendsIt(t *testing.T) {
	type request struct {
		method, url, body string
		header            http.Header
		fits              bool
	}
	for i, r := range []request{
		{"POST", "http://merchant.example/notify", `{"a":1}`, http.Header{"Content-Type": {"application/json"}, "Bellman-Task": {"1"}, "User-Agent": {"bellman/1"}}, true},
		{"POST", "http://merchant.example/notify", "", nil, true},
		{"PUT", "http://merchant.example", "", http.Header{"X-Two": {" one ", "two\t"}}, true},
		{"PATCH", "http://merchant.example:8080/a%20b?x=1&y=%C3%A9", "x", http.Header{"User-Agent": {""}}, true},
		{"DELETE", "http://[::1]:8080/", "", http.Header{"User-Agent": {}}, true},
		{"GET", "http://merchant.example/?", "", http.Header{"Content-Length": {"99"}, "Host": {"other"}, "Transfer-Encoding": {"chunked"}, "Trailer": {"X"}}, true},
		{"GET", "http://merchant.example/?q", "body", nil, true},
		{"HEAD", "http://merchant.example/ü?ü", "", nil, true},
		{"M-SEARCH", "http://merchant.example/" + strings.Repeat("x", 3000), "", nil, true},
		{"POST", "http://merchant.example/", strings.Repeat("x", maxBody), nil, true},

		{"POST", "http://merchant.example/", strings.Repeat("x", maxBody+1), nil, false},
		{"POST", "http://merchant.example/", "x", http.Header{"Connection": {"close"}}, false},
		{"POST", "http://merchant.example/", "x", http.Header{"Expect": {"100-continue"}}, false},
		{"GET", "http://merchant.example/", "", http.Header{"Connection": {"upgrade"}, "Upgrade": {"x"}}, false},
		{"GET", "http://bücher.example/", "", nil, false},
	} {
		req, err := http.NewRequest(r.method, r.url, strings.NewReader(r.body))
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(req.Header, r.header)
		if got := fits(req); got != r.fits {
			t.Errorf("%d: fits = %t, want %t", i, got, r.fits)
		}
		if !r.fits {
			continue
		}
		var want bytes.Buffer
		if err := req.Clone(t.Context()).Write(&want); err != nil {
			t.Fatal(err)
		}
		req.Body, _ = req.GetBody()
		got, err := appendRequest(nil, req)
		if err != nil || string(got) != want.String() {
			t.Errorf("%d:\n%q, %v; net/http sends\n%q", i, got, err, &want)
		}
	}
}

// Requests that net/http refuses are refused, and nothing is sent.
func TestWrongRequests(t *testing.T) {
	for name, change := range map[string]func(*http.Request){
		"no URL":            func(r *http.Request) { r.URL = nil },
		"no host":           func(r *http.Request) { r.URL.Host = "" },
		"scheme":            func(r *http.Request) { r.URL.Scheme = "ftp" },
		"method":            func(r *http.Request) { r.Method = "PO ST" },
		"header name":       func(r *http.Request) { r.Header["X\r\nY"] = []string{"1"} },
		"header value":      func(r *http.Request) { r.Header["X"] = []string{"1\r\nY: 2"} },
		"no header":         func(r *http.Request) { r.Header = nil },
		"control character": func(r *http.Request) { r.URL.RawQuery = "a\r\nX: 1" },
		"body too short":    func(r *http.Request) { r.ContentLength++ },
		"body too long":     func(r *http.Request) { r.ContentLength-- },
	} {
		rt, _ := newTransport(t)
		rt.std.DialContext = func(context.Context, string, string) (net.Conn, error) {
			return newScript([]byte(success), 100, io.EOF, nil), nil
		}
		req, err := http.NewRequestWithContext(t.Context(), "POST", "http://merchant.example/", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		change(req)
		if resp, err := rt.RoundTrip(req); err == nil {
			t.Errorf("%s: answered %s; want an error", name, resp.Status)
		}
	}
}

func TestConnectionIsKept(t *testing.T) {
	p := newPeer(t, func(_, n int) string {
		return []string{success, "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n" + success,
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\nsuccess\r\n0\r\n\r\n"}[n%4]
	})
	rt, dials := newTransport(t)
	for i := range 8 {
		if _, err := send(t, rt, "POST", p.url, "{}"); err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
	}
	if n := dials.Load(); n != 1 {
		t.Errorf("%d connections for 8 requests; want 1", n)
	}
}

// A connection is not used again if its state is not known.
func TestConnectionIsNotKept(t *testing.T) {
	for name, answer := range map[string]string{
		"the server closes it":         "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 7\r\n\r\nsuccess\x00",
		"the server said it closes it": "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 7\r\n\r\nsuccess",
		"HTTP/1.0":                     "HTTP/1.0 200 OK\r\nContent-Length: 7\r\n\r\nsuccess",
		"another answer follows":       success + success,
		"a newline follows":            success + "\r\n",
	} {
		p := newPeer(t, func(c, n int) string {
			if c == 1 {
				return answer
			}
			return success
		})
		rt, dials := newTransport(t)
		for range 2 {
			if got, err := send(t, rt, "POST", p.url, "{}"); err != nil || got != "success" {
				t.Fatalf("%s: %q, %v", name, got, err)
			}
		}
		if n := dials.Load(); n != 2 {
			t.Errorf("%s: %d connections for 2 requests; want 2", name, n)
		}
	}
}

// A body that is closed before its end closes the connection.
func TestUnreadBody(t *testing.T) {
	p := newPeer(t, func(int, int) string { return success })
	rt, dials := newTransport(t)
	for range 2 {
		req, err := http.NewRequestWithContext(t.Context(), "POST", p.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := rt.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if _, err := resp.Body.Read(make([]byte, 1)); err == nil || err == io.EOF {
			t.Errorf("read after Close: %v; want an error", err)
		}
	}
	if n := dials.Load(); n != 2 {
		t.Errorf("%d connections; want 2", n)
	}
}

// The server closes the idle connection: the next request goes out on another one, and once.
func TestServerClosesIdleConnection(t *testing.T) {
	p := newPeer(t, func(c, _ int) string {
		if c == 1 {
			return success + "\x00" // without saying so before
		}
		return success
	})
	rt, dials := newTransport(t)
	if _, err := send(t, rt, "POST", p.url, "{}"); err != nil {
		t.Fatal(err)
	}
	<-p.closed
	eventually.True(t, "ended: the connection", func() bool {
		rt.mu.Lock()
		c := rt.idle.first
		rt.mu.Unlock()
		return c == nil || !c.silent()
	})
	if got, err := send(t, rt, "POST", p.url, "{}"); err != nil || got != "success" || p.requests.Load() != 2 || dials.Load() != 2 {
		t.Errorf("%q, %v after %d requests on %d connections; want success, 2 and 2", got, err, p.requests.Load(), dials.Load())
	}
}

// The server closes a connection in answer to a request: only a request that is safe to repeat is
// sent again, and never on a connection that is new.
func TestRepeats(t *testing.T) {
	for _, tt := range []struct {
		method string
		key    string // Idempotency-Key
		fresh  bool   // the connection has had no request before
		sent   int32
	}{
		{method: "POST", sent: 2},
		{method: "PUT", sent: 2},
		{method: "POST", key: "1", sent: 3},
		{method: "GET", sent: 3},
		{method: "GET", fresh: true, sent: 1},
	} {
		p := newPeer(t, func(c, n int) string {
			if tt.fresh || c == 1 && n == 2 {
				return ""
			}
			return success
		})
		rt, _ := newTransport(t)
		request := func() error {
			req, err := http.NewRequestWithContext(t.Context(), tt.method, p.url, nil)
			if err != nil {
				t.Fatal(err)
			}
			if tt.key != "" {
				req.Header.Set("Idempotency-Key", tt.key)
			}
			resp, err := rt.RoundTrip(req)
			if err == nil {
				io.Copy(io.Discard, resp.Body)
			}
			return err
		}
		if err := request(); (err != nil) != tt.fresh {
			t.Fatalf("%+v: the first request: %v", tt, err)
		}
		if !tt.fresh {
			if err := request(); (err != nil) != (tt.sent == 2) || err != nil && !errors.Is(err, io.EOF) {
				t.Errorf("%+v: the second request: %v", tt, err)
			}
		}
		if n := p.requests.Load(); n != tt.sent {
			t.Errorf("%+v: the server got %d requests; want %d", tt, n, tt.sent)
		}
	}
}

// An end of the context ends the request at each step, with its cause.
func TestInterruption(t *testing.T) {
	arrived, cause := make(chan struct{}, 1), errors.New("stopped")
	p := newPeer(t, func(c, _ int) string {
		if c == 3 {
			return success
		}
		arrived <- struct{}{}
		return []string{"HTTP/1.1 200", "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nsucc"}[c-1]
	})
	rt, _ := newTransport(t)
	for i := range 3 {
		ctx, cancel := context.WithCancelCause(t.Context())
		if i == 2 {
			cancel(cause)
		} else {
			go func() { <-arrived; cancel(cause) }()
		}
		req, err := http.NewRequestWithContext(ctx, "POST", p.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := rt.RoundTrip(req)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
		}
		if !errors.Is(err, cause) {
			t.Errorf("request %d: %v; want %v", i, err, cause)
		}
		cancel(nil)
	}
	if got, err := send(t, rt, "POST", p.url, ""); err != nil || got != "success" {
		t.Errorf("a later request: %q, %v", got, err)
	}
}

// A connection that was interrupted when its answer was complete is not used again.
func TestInterruptionAtTheEnd(t *testing.T) {
	p := newPeer(t, func(int, int) string { return success })
	rt, _ := newTransport(t)
	req, err := http.NewRequestWithContext(t.Context(), "POST", p.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.(*body).stop = func() bool { return false }
	if got, err := io.ReadAll(resp.Body); err != nil || string(got) != "success" || rt.idle.n != 0 {
		t.Errorf("%q, %v, %d idle connections; want success and none", got, err, rt.idle.n)
	}
}

// A context that ends after the answer does not touch the connection.
func TestContextEndsAfterTheAnswer(t *testing.T) {
	p := newPeer(t, func(int, int) string { return success })
	rt, dials := newTransport(t)
	for range 50 {
		if _, err := send(t, rt, "POST", p.url, "{}"); err != nil { // send cancels its context
			t.Fatal(err)
		}
	}
	if n := dials.Load(); n != 1 {
		t.Errorf("%d connections; want 1", n)
	}
}
