package deliver

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
)

// newClient returns a client whose waits suit a slow machine.
func newClient(t *testing.T, o Options) *Client {
	t.Helper()
	o.ConnectTimeout, o.TLSTimeout, o.IdleTimeout = time.Hour, time.Hour, time.Hour
	c, err := NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func newHandler(t *testing.T, o Options, r Rules) *Handler {
	t.Helper()
	h, err := newClient(t, o).Handler(r)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// reset ends the connection with a reset instead of a normal close.
func reset(w http.ResponseWriter, sent string) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	io.WriteString(conn, sent)
	conn.(*net.TCPConn).SetLinger(0)
	conn.Close()
}

// hang waits until the client gives up.
func hang(r *http.Request) { <-r.Context().Done() }

// An expiring context reaches its deadline when over is closed.
type expiring struct {
	context.Context
	over chan struct{}
}

func (e expiring) Done() <-chan struct{} { return e.over }

func (e expiring) Err() error {
	select {
	case <-e.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func (e expiring) Value(any) any { return nil } // so that the context package knows no parent that could end differently

func TestAttemptResults(t *testing.T) {
	tests := []struct {
		name    string
		success string
		timeout time.Duration // counted from the arrival of the request; 0: none
		answer  http.HandlerFunc
		want    bellman.Verdict // Error is a text that the real one contains
	}{
		{name: "500", answer: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "oops", 500) },
			want: bellman.Verdict{Result: bellman.ErrorStatus, Status: 500, Response: "oops\n"}},
		{name: "fail", answer: func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "fail") },
			want: bellman.Verdict{Result: bellman.Refused, Status: 200, Response: "fail"}},
		{name: "success", answer: func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, " success\n") },
			want: bellman.Verdict{Next: bellman.Succeed, Result: bellman.Accepted, Status: 200, Response: " success\n"}},
		{name: "204", answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) },
			want: bellman.Verdict{Result: bellman.Refused, Status: 204}},
		{name: "204 wanted", success: "wechat_v3", answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) },
			want: bellman.Verdict{Next: bellman.Succeed, Result: bellman.Accepted, Status: 204}},
		{name: "gone", answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(410) },
			want: bellman.Verdict{Next: bellman.GiveUp, Reason: "gave_up", Result: bellman.ErrorStatus, Status: 410}},
		{name: "gone and wanted", success: "status == 410", answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(410) },
			want: bellman.Verdict{Next: bellman.Succeed, Result: bellman.Accepted, Status: 410}},
		{name: "busy", answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "120")
			w.WriteHeader(503)
		}, want: bellman.Verdict{Result: bellman.ErrorStatus, Status: 503, RetryAfter: 2 * time.Minute, Throttled: true}},
		{name: "error in a 2xx rule", success: `json.code == "SUCCESS"`,
			answer: func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "no json") },
			want:   bellman.Verdict{Result: bellman.Refused, Status: 200, Response: "no json", Error: "success: "}},
		{name: "hang", timeout: time.Nanosecond, answer: func(_ http.ResponseWriter, r *http.Request) { hang(r) },
			want: bellman.Verdict{Result: bellman.TimedOut, Error: "no answer in the time of one attempt"}},
		{name: "hang in the body", timeout: time.Second, answer: func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "succ")
			w.(http.Flusher).Flush()
			hang(r)
		}, want: bellman.Verdict{Result: bellman.TimedOut, Status: 200, Response: "succ", Error: "the answer broke off after 4 bytes"}},
		{name: "reset before an answer", answer: func(w http.ResponseWriter, _ *http.Request) { reset(w, "") },
			want: bellman.Verdict{Result: bellman.Unreachable, Error: "connection: reset by the other end"}},
		{name: "closed before an answer", answer: func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) },
			want: bellman.Verdict{Result: bellman.Unreachable, Error: "connection: closed without an answer"}},
		{name: "closed in the body", answer: func(w http.ResponseWriter, _ *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsuccess")
			conn.Close()
		}, want: bellman.Verdict{Result: bellman.Unreachable, Status: 200, Response: "success", Error: "the answer broke off after 7 bytes: connection: closed before the answer was whole"}},
		{name: "endless body", success: "http_2xx", answer: func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(bytes.Repeat([]byte("success "), 1000)); err != nil {
					return
				}
			}
		}, want: bellman.Verdict{Next: bellman.Succeed, Result: bellman.Accepted, Status: 200, Response: strings.Repeat("success ", 75)}},
		{name: "redirect", answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://10.0.0.1/admin?token=s3cret")
			w.WriteHeader(302)
		}, want: bellman.Verdict{Result: bellman.ErrorStatus, Status: 302, Error: "redirects are not followed; this one leads to http://10.0.0.1/admin"}},
		{name: "long header", answer: func(w http.ResponseWriter, _ *http.Request) {
			value := strings.Repeat("x", 100<<10)
			for i := range 100 {
				w.Header().Set(fmt.Sprintf("X-%d", i), value)
			}
		}, want: bellman.Verdict{Result: bellman.Unreachable, Error: "http: the answer's header is longer than 64 KiB"}},
		{name: "slow header", timeout: time.Nanosecond, answer: func(w http.ResponseWriter, r *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			defer conn.Close()
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nX-Slow: ")
			io.Copy(io.Discard, conn) // until the client gives up
		}, want: bellman.Verdict{Result: bellman.TimedOut, Error: "no answer in the time"}},
		{name: "not HTTP", answer: func(w http.ResponseWriter, r *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			io.WriteString(conn, "220 mail.example ESMTP\r\n")
			conn.Close()
		}, want: bellman.Verdict{Result: bellman.Unreachable, Error: "malformed HTTP"}},
		{name: "upgrade without a request for it", answer: func(w http.ResponseWriter, r *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			defer conn.Close()
			io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nsuccess")
			io.Copy(io.Discard, conn)
		}, want: bellman.Verdict{Result: bellman.Refused, Status: 101}},
		{name: "gzip without a request for it", answer: func(w http.ResponseWriter, r *http.Request) {
			if got := r.Header.Get("Accept-Encoding"); got != "" {
				t.Errorf("Accept-Encoding: %q; want none", got)
			}
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			io.WriteString(z, "success")
			z.Close()
		}, want: bellman.Verdict{Result: bellman.Refused, Status: 200, Error: "the answer is encoded (gzip)"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var requests atomic.Int32
			ctx := expiring{t.Context(), make(chan struct{})}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if requests.Add(1) == 1 && tt.timeout > 0 {
					time.AfterFunc(tt.timeout, func() { close(ctx.over) })
				}
				io.Copy(io.Discard, r.Body) // unread bytes would turn the close into a reset
				tt.answer(w, r)
			}))
			defer server.Close()
			h := newHandler(t, Options{AllowPrivate: true}, Rules{})
			defer h.client.Close()
			task := &bellman.Task{ID: bellman.NewID(), URL: server.URL + "/notify?token=s3cret", Success: tt.success, Body: []byte("hello")}
			got := h.Attempt(ctx, task, 1)

			if !strings.Contains(got.Error, tt.want.Error) || tt.want.Error == "" && got.Error != "" {
				t.Errorf("Error = %q; want %q in it", got.Error, tt.want.Error)
			}
			if strings.Contains(got.Error, "s3cret") {
				t.Errorf("Error = %q shows a query", got.Error)
			}
			if tt.name == "gzip without a request for it" {
				got.Response = ""
			}
			if answered := got.Status > 0; (got.Header != "") != (answered && got.Result != bellman.Accepted) {
				t.Errorf("Header = %q with status %d, %v; want that of each answer that was not accepted", got.Header, got.Status, got.Result)
			}
			got.Error, tt.want.Error, got.Header, got.Timing = "", "", "", bellman.Timing{}
			if fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("Attempt = %+v; want %+v", got, tt.want)
			}
			if n := requests.Load(); n != 1 {
				t.Errorf("%d requests; want 1", n)
			}
		})
	}
}

// A reset discards data that the kernel has not delivered yet. Over a real socket it is therefore
// unknown how much of the answer arrives.
func TestAttemptResetInBody(t *testing.T) {
	h := newHandler(t, Options{Transport: broken{}}, Rules{})
	got := h.Attempt(t.Context(), &bellman.Task{URL: "https://merchant.example"}, 1)
	const want = "the answer broke off after 7 bytes: connection: reset by the other end"
	if got.Result != bellman.Unreachable || got.Status != 200 || got.Response != "success" || got.Error != want {
		t.Errorf("Attempt = %+v; want unreachable, 200, success, %q", got, want)
	}
}

type broken struct{}

func (broken) RoundTrip(*http.Request) (*http.Response, error) {
	reset := &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	body := io.MultiReader(strings.NewReader("success"), iotest.ErrReader(reset))
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(body)}, nil
}

func TestAttemptUnreachable(t *testing.T) {
	const dead = "http://127.0.0.1:1/?token=s3cret" // nobody listens on port 1
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // its log would have every failed handshake
	secure.StartTLS()
	defer secure.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	pool := x509.NewCertPool()
	pool.AddCert(secure.Certificate())
	wrongName := strings.Replace(secure.URL, "127.0.0.1", "localhost", 1)

	tests := []struct {
		name, url, want string
		roots           *x509.CertPool
	}{
		{"refused", dead, "connect: refused", nil},
		{"unknown authority", secure.URL + "/?token=s3cret", "tls: certificate not accepted: x509: certificate signed by unknown authority", nil},
		{"wrong name", wrongName, "tls: certificate not accepted: x509: certificate is valid for example.com", pool},
		{"no TLS", strings.Replace(plain.URL, "http:", "https:", 1), "tls: the other end does not speak TLS", nil},
		{"no such host", "http://nobody.invalid/?token=s3cret", "dns: ", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := Options{AllowPrivate: true, RootCAs: tt.roots}
			if tt.name == "no such host" {
				o.Resolver = newNames(t).resolver()
			}
			h := newHandler(t, o, Rules{})
			got := h.Attempt(t.Context(), &bellman.Task{URL: tt.url}, 1)
			if got.Result != bellman.Unreachable || !strings.Contains(got.Error, tt.want) || strings.Contains(got.Error, "s3cret") {
				t.Errorf("Attempt = %v %q; want unreachable, %q", got.Result, got.Error, tt.want)
			}
		})
	}
}

func TestAttemptCutOff(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { hang(r) }))
	defer server.Close()
	h := newHandler(t, Options{AllowPrivate: true}, Rules{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := h.Attempt(ctx, &bellman.Task{URL: server.URL}, 1)
	if got.Result != bellman.Unknown || got.Next != bellman.Again {
		t.Errorf("Attempt = %v, %v; want unknown, again", got.Result, got.Next)
	}
}

func TestAttemptRequest(t *testing.T) {
	type seen struct {
		method, uri, body string
		header            http.Header
	}
	requests := make(chan seen, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests <- seen{r.Method, r.RequestURI, string(body), r.Header}
		io.WriteString(w, "success")
	}))
	defer server.Close()
	h := newHandler(t, Options{AllowPrivate: true, Version: "1.2.3"}, Rules{})
	id := bellman.NewID()

	tests := []struct {
		name string
		task bellman.Task
		want seen
	}{
		{"defaults", bellman.Task{URL: server.URL, Body: []byte(" {\"a\":1}\n")},
			seen{"POST", "/", " {\"a\":1}\n", http.Header{"Content-Type": {"application/json"}}}},
		{"text", bellman.Task{URL: server.URL + "/a%20b?x=1&y=é", Method: "PUT", Body: []byte("{not json")},
			seen{"PUT", "/a%20b?x=1&y=%C3%A9", "{not json", http.Header{"Content-Type": {"text/plain; charset=utf-8"}}}},
		{"own header", bellman.Task{URL: server.URL, Header: map[string]string{
			"content-type": "application/xml", "X-Shop": "7", "user-agent": "shop/1", "Bellman-Task": "forged", "Content-Length": "99"}, Body: []byte("<a/>")},
			seen{"POST", "/", "<a/>", http.Header{"Content-Type": {"application/xml"}, "X-Shop": {"7"}, "User-Agent": {"shop/1"}}}},
		{"no body", bellman.Task{URL: server.URL, Method: "DELETE"}, seen{"DELETE", "/", "", http.Header{}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.task.ID = id
			if v := h.Attempt(t.Context(), &tt.task, 3); v.Result != bellman.Accepted {
				t.Fatal(v)
			}
			got := <-requests
			want := tt.want.header
			want.Set("Bellman-Task", id.String())
			want.Set("Bellman-Attempt", "3")
			if want.Get("User-Agent") == "" {
				want.Set("User-Agent", "bellman/1.2.3")
			}
			if len(tt.task.Body) > 0 {
				want.Set("Content-Length", fmt.Sprint(len(tt.task.Body)))
			}
			if fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("the receiver saw %v; want %v", got, tt.want)
			}
		})
	}
}

func TestConnectionsAreKept(t *testing.T) {
	var opened atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, strings.Repeat("x", 10<<10))
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	h := newHandler(t, Options{AllowPrivate: true}, Rules{})
	for range 20 {
		if v := h.Attempt(t.Context(), &bellman.Task{URL: server.URL, Body: []byte("hello")}, 1); v.Result != bellman.Refused {
			t.Fatal(v)
		}
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("%d connections for 20 requests; want 1", n)
	}
}

func TestHTTP2(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s", r.Proto, body)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	h := newHandler(t, Options{AllowPrivate: true, RootCAs: pool}, Rules{Success: `body == "HTTP/2.0 hello"`})
	if v := h.Attempt(t.Context(), &bellman.Task{URL: server.URL, Body: []byte("hello")}, 1); v.Result != bellman.Accepted {
		t.Error(v)
	}
}

// The caller may reuse the task after Attempt has returned, even if the transport answers before it
// has read the body.
func TestBodyIsCopied(t *testing.T) {
	hold, done := make(chan struct{}), make(chan string)
	h := newHandler(t, Options{Transport: early{hold, done}}, Rules{})
	task := &bellman.Task{URL: "https://merchant.example", Body: []byte("hello")}
	if v := h.Attempt(t.Context(), task, 1); v.Result != bellman.Accepted {
		t.Fatal(v)
	}
	clear(task.Body)
	close(hold)
	if got := <-done; got != "hello" {
		t.Errorf("the body reads %q after the attempt; want hello", got)
	}
}

// Header and body are sent in one packet, which saves half of the system calls of a request.
func TestOneWrite(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	first := make(chan string, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		b := make([]byte, 4096)
		n, _ := conn.Read(b)
		first <- string(b[:n])
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\nsuccess")
	}()
	h := newHandler(t, Options{AllowPrivate: true}, Rules{})
	h.Attempt(t.Context(), &bellman.Task{URL: "http://" + l.Addr().String(), Body: []byte("hello")}, 1)
	if got := <-first; !strings.HasSuffix(got, "\r\n\r\nhello") {
		t.Errorf("the first packet is %q; want the whole request", got)
	}
}

type early struct {
	hold chan struct{}
	done chan string
}

func (e early) RoundTrip(r *http.Request) (*http.Response, error) {
	go func() {
		<-e.hold
		body, _ := io.ReadAll(r.Body)
		e.done <- string(body)
	}()
	return echo{}.RoundTrip(&http.Request{Body: http.NoBody})
}

// A GET with a form sends it in the query, behind what the address has there. A signature covers
// the form and not the address's own parameters; one in a header covers the empty body.
func TestGetWithForm(t *testing.T) {
	type request struct{ uri, media, body, header string }
	var got request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = request{r.RequestURI, r.Header.Get("Content-Type"), string(body), r.Header.Get("X-Sig")}
		io.WriteString(w, "success")
	}))
	defer server.Close()
	secrets := []sign.Secret{sign.NewSecret("KEY")}
	const sum = "87C27BDE8BA5908342755EB47ABD07CD" // printf '%s' 'A=2&b=1&key=KEY' | md5sum
	for _, tt := range []struct {
		sign        sign.Config
		query, want string
	}{
		{sign.Config{}, "", "/n?b=1&A=2"},
		{sign.Config{}, "?shop=7", "/n?shop=7&b=1&A=2"},
		{sign.Config{Scheme: sign.MD5Params, Secrets: secrets}, "?shop=7", "/n?shop=7&b=1&A=2&sign=" + sum},
		{sign.Config{Scheme: sign.TV1, Secrets: secrets, Header: "X-Sig"}, "", "/n?b=1&A=2"},
	} {
		h := newHandler(t, Options{AllowPrivate: true}, Rules{Sign: tt.sign})
		task := bellman.Task{Method: "GET", URL: server.URL + "/n" + tt.query, Header: map[string]string{"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}, Body: []byte("b=1&A=2")}
		if err := h.Check(&task); err != nil {
			t.Fatal(err)
		}
		if v := h.Attempt(t.Context(), &task, 1); v.Result != bellman.Accepted || got.uri != tt.want || got.media != "" || got.body != "" {
			t.Errorf("%s: %v %s, got %+v; want %s", tt.sign.Scheme, v.Result, v.Error, got, tt.want)
		}
		if tt.sign.Scheme != sign.TV1 {
			continue
		}
		stamp, _, _ := strings.Cut(strings.TrimPrefix(got.header, "t="), ",")
		h2 := hmac.New(sha256.New, []byte("KEY"))
		h2.Write([]byte(stamp + "."))
		if want := "t=" + stamp + ",v1=" + hex.EncodeToString(h2.Sum(nil)); got.header != want {
			t.Errorf("signed %s; want %s over the empty body", got.header, want)
		}
	}
}
