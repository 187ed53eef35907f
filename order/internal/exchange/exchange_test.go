package exchange_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/internal/exchange"
)

// transport is a transport such as the server has: it never decodes.
func transport(t *testing.T) *http.Transport {
	rt := &http.Transport{DisableCompression: true}
	t.Cleanup(rt.CloseIdleConnections)
	return rt
}

func answering(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Add(header[i], header[i+1])
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// broken promises more than it sends, and resets the connection.
func broken(w http.ResponseWriter, _ *http.Request) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	fmt.Fprint(buffered, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nPAID")
	buffered.Flush()
	conn.(*net.TCPConn).SetLinger(0)
	conn.Close()
}

func endless(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		if _, err := w.Write(bytes.Repeat([]byte("PAID"), 1<<10)); err != nil {
			return
		}
	}
}

func TestDo(t *testing.T) {
	var followed bool
	tests := []struct {
		name   string
		answer http.HandlerFunc
		want   order.Answer // Header apart
	}{
		{"200", answering(200, `{"state":"PAID"}`), order.Answer{Result: bellman.Accepted, Status: 200, Body: []byte(`{"state":"PAID"}`)}},
		{"204", answering(204, ""), order.Answer{Result: bellman.Accepted, Status: 204, Body: []byte{}}},
		{"404", answering(404, `{"code":"ORDER_NOT_EXIST"}`),
			order.Answer{Result: bellman.ErrorStatus, Status: 404, Body: []byte(`{"code":"ORDER_NOT_EXIST"}`)}},
		{"500", answering(500, "oops"), order.Answer{Result: bellman.ErrorStatus, Status: 500, Body: []byte("oops")}},
		{"500 asks for nothing", answering(500, "oops", "Retry-After", "30"),
			order.Answer{Result: bellman.ErrorStatus, Status: 500, Body: []byte("oops")}},
		{"429", answering(429, "", "Retry-After", "30"),
			order.Answer{Result: bellman.ErrorStatus, Status: 429, Body: []byte{}, Throttled: true, RetryAfter: 30 * time.Second}},
		{"429 that says no time", answering(429, ""),
			order.Answer{Result: bellman.ErrorStatus, Status: 429, Body: []byte{}, Throttled: true}},
		{"503 with a time", answering(503, "", "Retry-After", "1"),
			order.Answer{Result: bellman.ErrorStatus, Status: 503, Body: []byte{}, Throttled: true, RetryAfter: time.Second}},
		{"503", answering(503, ""), order.Answer{Result: bellman.ErrorStatus, Status: 503, Body: []byte{}}},
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			followed = followed || r.URL.Path == "/elsewhere"
			w.Header().Set("Location", "http://example.com/elsewhere?token=hush")
			w.WriteHeader(302)
		}, order.Answer{Result: bellman.ErrorStatus, Status: 302, Body: []byte{},
			Error: "redirects are not followed; this one leads to http://example.com/elsewhere"}},
		{"as long as can be", answering(200, strings.Repeat("x", 64<<10)),
			order.Answer{Result: bellman.Accepted, Status: 200, Body: bytes.Repeat([]byte("x"), 64<<10)}},
		{"a byte longer", answering(200, strings.Repeat("x", 64<<10+1)),
			order.Answer{Result: bellman.Refused, Status: 200, Body: bytes.Repeat([]byte("x"), 64<<10), Error: "the answer is longer than 64 KiB"}},
		{"endless", endless,
			order.Answer{Result: bellman.Refused, Status: 200, Body: bytes.Repeat([]byte("PAID"), 16<<10), Error: "the answer is longer than 64 KiB"}},
		{"encoded", answering(200, "\x1f\x8b", "Content-Encoding", "gzip"),
			order.Answer{Result: bellman.Refused, Status: 200, Body: []byte("\x1f\x8b"), Error: "the answer is encoded (gzip), which was not asked for"}},
		{"reset amid the body", broken,
			order.Answer{Result: bellman.Unreachable, Status: 200, Body: []byte("PAID"),
				Error: "the answer broke off after 4 bytes: connection: reset by the other end"}},
		{"no answer", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			order.Answer{Result: bellman.Unreachable, Error: "connection: closed without an answer"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(tt.answer)
			defer server.Close()
			req, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/q?key=hush", nil)
			if err != nil {
				t.Fatal(err)
			}
			got := exchange.Do(transport(t), req)
			got.Header = nil
			if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", tt.want) {
				t.Errorf("Do = %s; want %s", brief(got), brief(tt.want))
			}
		})
	}
	if followed {
		t.Error("a redirect was followed")
	}
}

func brief(a order.Answer) string {
	a.Body = a.Body[:min(len(a.Body), 40)]
	return fmt.Sprintf("%+v (%q)", a, a.Body)
}

func TestHeader(t *testing.T) {
	server := httptest.NewServer(answering(200, "", "X-Id", "a", "X-Id", "b", "WeChatPay-Serial", "7"))
	defer server.Close()
	req, err := http.NewRequestWithContext(t.Context(), "GET", server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := exchange.Do(transport(t), req).Header
	if got["x-id"] != "a, b" || got["wechatpay-serial"] != "7" {
		t.Errorf("header = %v", got)
	}
}

// A channel that does not answer costs the time of one attempt, whether it hangs before its answer
// or within it.
func TestHang(t *testing.T) {
	tests := []struct {
		name   string
		answer func(w http.ResponseWriter)
		status int
		want   string
	}{
		{"before", func(http.ResponseWriter) {}, 0, "no answer in the time of one attempt"},
		{"within", func(w http.ResponseWriter) {
			fmt.Fprint(w, `{"state"`)
			http.NewResponseController(w).Flush()
		}, 200, "the answer broke off after 8 bytes: no answer in the time of one attempt"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				tt.answer(w)
				<-r.Context().Done()
			}))
			defer server.Close()
			for timeout := 150 * time.Millisecond; ; timeout *= 2 { // a slow machine may not have come so far yet
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				defer cancel()
				req, err := http.NewRequestWithContext(ctx, "GET", server.URL, nil)
				if err != nil {
					t.Fatal(err)
				}
				got := exchange.Do(transport(t), req)
				if got.Result == bellman.TimedOut && got.Status == tt.status && got.Error == tt.want {
					break
				}
				if timeout > time.Minute {
					t.Fatalf("Do = %s", brief(got))
				}
			}
		})
	}
}

// roundTrip answers a request without a network.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", "http://127.0.0.1:1/", nil)
	if err != nil {
		t.Fatal(err)
	}
	got := exchange.Do(transport(t), req)
	if got.Result != bellman.Unknown || got.Error != "cut off by us before an answer came" {
		t.Errorf("Do = %s", brief(got))
	}
}

// A file is read by the caller, and anything but a file is an error that keeps the address's
// secrets.
func TestOpen(t *testing.T) {
	tests := []struct {
		name        string
		answer      http.HandlerFunc
		want, begin string
		body        string
	}{
		{"a file", answering(200, strings.Repeat("x", 70_000)), "", "", strings.Repeat("x", 70_000)},
		{"an error", answering(404, "gone"+strings.Repeat("x", 70_000)), "HTTP status 404", "gone" + strings.Repeat("x", 4092), ""},
		{"a redirect", answering(302, "", "Location", "http://example.com/elsewhere?token=hush"), "HTTP status 302: redirects are not followed; this one leads to http://example.com/elsewhere", "", ""},
		{"no answer", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "connection: closed without an answer", "", ""},
	}
	for _, tt := range tests {
		server := httptest.NewServer(tt.answer)
		req, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/q?key=hush", nil)
		if err != nil {
			t.Fatal(err)
		}
		body, begin, err := exchange.Open(transport(t), req)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != tt.want || string(begin) != tt.begin {
			t.Errorf("%s: %q, begins %.40q; want %q, %.40q", tt.name, text, begin, tt.want, tt.begin)
		}
		if body != nil {
			var got strings.Builder
			limit := &exchange.Limit{W: &got, Left: 70_000}
			if _, err := io.Copy(limit, body); err != nil || got.String() != tt.body {
				t.Errorf("%s: %d bytes, %v; want %d", tt.name, got.Len(), err, len(tt.body))
			}
			if n, err := limit.Write([]byte("y")); n != 0 || err == nil {
				t.Errorf("%s: a byte more than the limit was written", tt.name)
			}
			body.Close()
		}
		server.Close()
	}
}

// Whatever error a transport returns, the log gets no secret of the address, and no second line.
func TestErrorKeepsSecrets(t *testing.T) {
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://shop:h%75sh@channel.example/q?key=s3cret", nil)
	if err != nil {
		t.Fatal(err)
	}
	got := exchange.Do(roundTrip(func(r *http.Request) (*http.Response, error) {
		password, _ := r.URL.User.Password()
		return nil, errors.New("cannot reach " + r.URL.String() + "\nwith " + password)
	}), req)
	if got.Result != bellman.Unreachable || got.Error != "cannot reach http://…@channel.example/q?… with …" {
		t.Errorf("Do = %s", brief(got))
	}
}

func TestRefusedConnection(t *testing.T) {
	const server = "http://127.0.0.1:1" // nothing listens on this port
	req, err := http.NewRequestWithContext(t.Context(), "GET", server, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := exchange.Do(transport(t), req)
	if got.Result != bellman.Unreachable || got.Error != "connect: refused" || got.Status != 0 {
		t.Errorf("Do = %s", brief(got))
	}
}
