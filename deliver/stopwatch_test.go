package deliver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
)

// The parts of opening a connection are timed once, in the attempt that opens it.
func TestTiming(t *testing.T) {
	n := newNames(t)
	n.set("example.com", "127.0.0.1")
	tests := []struct {
		name          string
		secure, http2 bool
		host          string
		dns, tls      bool
	}{
		{"address", false, false, "127.0.0.1", false, false},
		{"name", false, false, "example.com", true, false},
		{"TLS", true, false, "example.com", true, true},
		{"HTTP/2", true, true, "example.com", true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "success") }))
			defer server.Close()
			o := Options{AllowPrivate: true, Resolver: n.resolver()}
			if server.EnableHTTP2 = tt.http2; tt.secure {
				server.StartTLS()
				o.RootCAs = x509.NewCertPool()
				o.RootCAs.AddCert(server.Certificate())
			} else {
				server.Start()
			}
			h := newHandler(t, o, Rules{})
			task := &bellman.Task{URL: strings.Replace(server.URL, "127.0.0.1", tt.host, 1)}
			start := time.Now()
			v := h.Attempt(t.Context(), task, 1)
			took, got := time.Since(start), v.Timing
			if v.Result != bellman.Accepted || got.DNS > 0 != tt.dns || got.Connect <= 0 || got.TLS > 0 != tt.tls || got.FirstByte <= 0 || got.DNS+got.Connect+got.TLS+got.FirstByte > took {
				t.Errorf("the first attempt: %v, %q, %+v of %v; want every part timed", v.Result, v.Error, got, took)
			}
			if v := h.Attempt(t.Context(), task, 2); v.Result != bellman.Accepted || v.Timing != (bellman.Timing{FirstByte: v.Timing.FirstByte}) || v.Timing.FirstByte <= 0 {
				t.Errorf("an attempt on the open connection: %v, %q, %+v; want the first byte alone", v.Result, v.Error, v.Timing)
			}
		})
	}
}

// If an attempt ends before its connection is open, the time is counted for the part in which it
// ended.
func TestTimingOfHangingConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	h := newHandler(t, Options{AllowPrivate: true}, Rules{})
	for timeout := 50 * time.Millisecond; ; timeout *= 2 { // a slow machine takes long to connect
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		v := h.Attempt(ctx, &bellman.Task{URL: "https://" + l.Addr().String()}, 1)
		cancel()
		if v.Result == bellman.TimedOut && v.Timing.Connect > 0 && v.Timing.TLS >= timeout/2 {
			break
		}
		if timeout > time.Minute {
			t.Fatalf("Attempt = %v, %q, %+v; want timeout, most of it in TLS", v.Result, v.Error, v.Timing)
		}
	}
}

// A connection becomes free while an attempt opens another one. The attempt takes the free
// connection, so none of its parts took time. Opening the other connection may go on.
func TestTimingOfReusedConnection(t *testing.T) {
	busy, free := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Bellman-Attempt") == "1" {
			close(busy)
			<-free
		}
		io.WriteString(w, "success")
	}))
	defer server.Close()
	n := newNames(t)
	n.set("merchant.test", "127.0.0.1")
	waiting := make(chan struct{}, 8)
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		select {
		case <-busy: // the connection of the second attempt gets no answer
			waiting <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		default:
			return new(net.Dialer).DialContext(ctx, "udp", n.conn.LocalAddr().String())
		}
	}}
	h := newHandler(t, Options{AllowPrivate: true, Resolver: resolver}, Rules{})
	task := &bellman.Task{URL: strings.Replace(server.URL, "127.0.0.1", "merchant.test", 1)}
	first := make(chan bellman.Verdict)
	go func() { first <- h.Attempt(t.Context(), task, 1) }()
	<-busy
	second := make(chan bellman.Verdict)
	go func() { second <- h.Attempt(t.Context(), task, 2) }()
	<-waiting
	close(free)
	if v := <-first; v.Result != bellman.Accepted || v.Timing.DNS <= 0 || v.Timing.Connect <= 0 {
		t.Errorf("the first attempt: %v, %q, %+v; want it accepted", v.Result, v.Error, v.Timing)
	}
	if v := <-second; v.Result != bellman.Accepted || v.Timing != (bellman.Timing{FirstByte: v.Timing.FirstByte}) {
		t.Errorf("the attempt that took the first one's connection: %v, %q, %+v; want the first byte alone", v.Result, v.Error, v.Timing)
	}
}

func TestStopwatch(t *testing.T) {
	kept, fresh := httptrace.GotConnInfo{Reused: true}, httptrace.GotConnInfo{}
	tests := []struct {
		name string
		do   func(w *stopwatch)
		want bellman.Timing
	}{
		{"a connection that was there", func(w *stopwatch) { w.got(kept) }, bellman.Timing{}},
		{"one that was made", func(w *stopwatch) { connect(w); w.got(fresh) }, bellman.Timing{DNS: 3 * ms, Connect: 5 * ms, TLS: 7 * ms}},
		{"made in vain: another came free", func(w *stopwatch) { connect(w); w.got(kept) }, bellman.Timing{}},
		{"still being made when another came free", func(w *stopwatch) { w.got(kept); connect(w) }, bellman.Timing{}},
		{"what was there was dead", func(w *stopwatch) { w.got(kept); w.want(""); connect(w); w.got(fresh) },
			bellman.Timing{DNS: 3 * ms, Connect: 5 * ms, TLS: 7 * ms}},
		{"answered", func(w *stopwatch) { connect(w); w.got(fresh); time.Sleep(11 * ms); w.answered() },
			bellman.Timing{DNS: 3 * ms, Connect: 5 * ms, TLS: 7 * ms, FirstByte: 11 * ms}},
		{"answered on the second connection", func(w *stopwatch) {
			w.got(kept)
			time.Sleep(ms)
			w.want("")
			w.got(kept)
			time.Sleep(ms)
			w.answered()
		},
			bellman.Timing{FirstByte: ms}},
		{"never made", func(w *stopwatch) { w.enter(&w.timing.DNS) }, bellman.Timing{DNS: time.Second}},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			_, w := newStopwatch(t.Context(), true)
			w.want("")
			tt.do(w)
			time.Sleep(time.Second) // the time of the answer
			if got := w.stop(); got != tt.want {
				t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
			}
			connect(w) // after the attempt, when nobody reads the stopwatch
		})
	}
}

const ms = time.Millisecond

// connect does what a transport does to open a connection, in a bubble's time.
func connect(w *stopwatch) {
	w.enter(&w.timing.Connect)
	time.Sleep(ms)
	w.enter(&w.timing.DNS)
	time.Sleep(3 * ms)
	w.enter(&w.timing.Connect)
	time.Sleep(4 * ms)
	w.startTLS()
	time.Sleep(7 * ms)
	w.endTLS(tls.ConnectionState{}, nil)
}
