package deliver

import (
	"context"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bellmanhq/bellman"
)

// names is a name server on a loopback port. It knows IPv4 addresses only, and answers for other
// names that they do not exist.
type names struct {
	conn net.PacketConn
	mu   sync.Mutex
	ip4  map[string][]netip.Addr // by name, without the dot at the end
}

func newNames(t *testing.T) *names {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &names{conn: conn, ip4: make(map[string][]netip.Addr)}
	var serving sync.WaitGroup
	serving.Go(n.serve)
	t.Cleanup(func() { conn.Close(); serving.Wait() })
	return n
}

func (n *names) set(name string, addrs ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ip4[name] = nil
	for _, addr := range addrs {
		n.ip4[name] = append(n.ip4[name], netip.MustParseAddr(addr))
	}
}

func (n *names) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", n.conn.LocalAddr().String())
	}}
}

func (n *names) serve() {
	b := make([]byte, 1500)
	for {
		size, from, err := n.conn.ReadFrom(b)
		if err != nil {
			return
		}
		q := b[:size]
		var labels []string
		end := 12
		for q[end] != 0 {
			labels = append(labels, string(q[end+1:end+1+int(q[end])]))
			end += 1 + int(q[end])
		}
		kind := binary.BigEndian.Uint16(q[end+1:])
		n.mu.Lock()
		addrs, known := n.ip4[strings.ToLower(strings.Join(labels, "."))]
		n.mu.Unlock()
		a := append([]byte{q[0], q[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, q[12:end+5]...)
		switch {
		case !known:
			a[3] |= 3 // NXDOMAIN
		case kind == 1:
			a[7] = byte(len(addrs))
			for _, addr := range addrs {
				a = append(a, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
				a = append(a, addr.AsSlice()...)
			}
		}
		n.conn.WriteTo(a, from)
	}
}

// A name points to an allowed address at Check and at the first attempt, and to a private address
// later.
func TestNameThatChanges(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		io.WriteString(w, "success")
	}))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	n := newNames(t)
	n.set("merchant.test", "127.0.0.1")
	h := newHandler(t, Options{Resolver: n.resolver(), Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}, Rules{})
	task := &bellman.Task{URL: "http://merchant.test:" + port + "/?token=s3cret"}
	if err := h.Check(task); err != nil {
		t.Fatal(err)
	}
	if v := h.Attempt(t.Context(), task, 1); v.Result != bellman.Accepted {
		t.Fatal(v)
	}
	n.set("merchant.test", "127.0.0.2")
	v := h.Attempt(t.Context(), task, 2)
	const want = "merchant.test is at 127.0.0.2, which is a loopback address, refused by the egress guard"
	if v.Result != bellman.Blocked || v.Next != bellman.Again || v.Error != want {
		t.Errorf("Attempt = %v %v %q; want blocked, again, %q", v.Result, v.Next, v.Error, want)
	}
}

func TestAttemptBlocked(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		t.Error("the receiver was reached")
	}))
	defer server.Close()
	h := newHandler(t, Options{}, Rules{})
	for _, url := range []string{server.URL, strings.Replace(server.URL, "127.0.0.1", "localhost", 1)} {
		if v := h.Attempt(t.Context(), &bellman.Task{URL: url + "/?token=s3cret"}, 1); v.Result != bellman.Blocked ||
			v.Next != bellman.Again || !strings.Contains(v.Error, "127.0.0.1") || strings.Contains(v.Error, "s3cret") {
			t.Errorf("Attempt(%s) = %v %v %q; want blocked, again", url, v.Result, v.Next, v.Error)
		}
	}
}

// The queue's own address is trusted. The same server under another URL is not.
func TestQueueAddressIsTrusted(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "success") }))
	defer server.Close()
	h := newHandler(t, Options{}, Rules{URL: server.URL + "/home"})
	task := &bellman.Task{}
	if err := h.Check(task); err != nil || task.URL != "" || task.Endpoint != server.URL {
		t.Errorf("Check: %v, URL %q, endpoint %q; want no error, no URL, %q", err, task.URL, task.Endpoint, server.URL)
	}
	for url, want := range map[string]bellman.Result{
		"":                    bellman.Accepted,
		server.URL + "/home":  bellman.Accepted,
		server.URL + "/home2": bellman.Blocked,
	} {
		if v := h.Attempt(t.Context(), &bellman.Task{URL: url}, 1); v.Result != want {
			t.Errorf("Attempt(%q) = %v %q; want %v", url, v.Result, v.Error, want)
		}
	}
}

func TestProxy(t *testing.T) {
	var asked atomic.Pointer[string]
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(&r.RequestURI)
		io.WriteString(w, "success")
	}))
	defer proxy.Close()
	home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "success") }))
	defer home.Close()
	n := newNames(t)
	n.set("merchant.test", "93.184.216.34")
	n.set("inside.test", "10.0.0.5")
	n.set("half.test", "93.184.216.34", "10.0.0.5")
	// A proxy in the environment has no effect.
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	h := newHandler(t, Options{Proxy: proxy.URL, Resolver: n.resolver()}, Rules{URL: home.URL})
	for _, tt := range []struct {
		url  string
		want bellman.Result
		uri  string
	}{
		{"http://merchant.test/a?b=c", bellman.Accepted, "http://merchant.test/a?b=c"},
		{"http://inside.test/a", bellman.Blocked, ""},
		{"http://half.test/a", bellman.Blocked, ""},
		{"http://nobody.test/a", bellman.Unreachable, ""},
		{"http://127.0.0.1/a", bellman.Blocked, ""},
		{"", bellman.Accepted, ""}, // the queue's own address: without the proxy
	} {
		asked.Store(new(string))
		v := h.Attempt(t.Context(), &bellman.Task{URL: tt.url}, 1)
		if v.Result != tt.want || *asked.Load() != tt.uri {
			t.Errorf("Attempt(%q) = %v %q, the proxy was asked for %q; want %v, %q", tt.url, v.Result, v.Error, *asked.Load(), tt.want, tt.uri)
		}
	}
	for _, bad := range []string{"proxy.example:3128", "ftp://proxy.example", "http://", "http://u:p4ss@%zz"} {
		if _, err := NewClient(Options{Proxy: bad}); err == nil || strings.Contains(err.Error(), "p4ss") {
			t.Errorf("NewClient with proxy %q: %v; want an error without the password", bad, err)
		}
	}
}

// The guard checks the URLs of requests of [Client.Guarded], although only the proxy connects to
// their hosts.
func TestGuardedThroughAProxy(t *testing.T) {
	var asked atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { asked.Add(1) }))
	defer proxy.Close()
	for _, tt := range []struct {
		url     string
		options Options
		refused bool
	}{
		{"http://channel.test/", Options{}, false},
		{"http://169.254.169.254/", Options{}, true},
		{"http://[::1]/", Options{}, true},
		{"http://localhost:1/", Options{}, true},
		{"http://127.0.0.1/", Options{AllowPrivate: true}, false},
		{"http://channel.test/", Options{HTTPSOnly: true}, true},
		{"http://93.184.216.34/", Options{AllowPrivate: true, Deny: []netip.Prefix{netip.MustParsePrefix("93.184.216.34/32")}}, true},
	} {
		tt.options.Proxy = proxy.URL
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, tt.url, strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		asked.Store(0)
		resp, err := newClient(t, tt.options).Guarded().RoundTrip(req)
		if err == nil {
			resp.Body.Close()
		}
		blocked := new(refusal)
		if errors.As(err, &blocked) != tt.refused || (asked.Load() == 0) != tt.refused {
			t.Errorf("%s with %+v: %v, and the proxy was asked %d times; want it refused: %t", tt.url, tt.options, err, asked.Load(), tt.refused)
		}
	}
}

func TestProxyConnect(t *testing.T) {
	merchant := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "success") }))
	defer merchant.Close()
	pool := x509.NewCertPool()
	pool.AddCert(merchant.Certificate()) // the certificate is for example.com
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != "CONNECT" || r.Host != "example.com:443" {
			http.Error(w, "not here", http.StatusForbidden)
			return
		}
		there, err := net.Dial("tcp", merchant.Listener.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		here, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { io.Copy(there, here); there.Close() }()
		io.Copy(here, there)
		here.Close()
	}))
	defer proxy.Close()
	n := newNames(t)
	n.set("example.com", "93.184.216.34")
	n.set("example.org", "93.184.216.34")
	const dead = "http://127.0.0.1:1" // nothing listens on this port
	for _, tt := range []struct{ proxy, url, want string }{
		{proxy.URL, "https://example.com/", ""},
		{proxy.URL, "https://example.org/", "proxy: refused to connect, with status 403"},
		{strings.Replace(dead, "http://", "http://user:p4ss@", 1), "https://example.com/", "proxy: refused"},
	} {
		c := newClient(t, Options{Proxy: tt.proxy, Resolver: n.resolver(), RootCAs: pool})
		h, err := c.Handler(Rules{})
		if err != nil {
			t.Fatal(err)
		}
		v := h.Attempt(t.Context(), &bellman.Task{URL: tt.url}, 1)
		if v.Error != tt.want || (v.Result == bellman.Accepted) != (tt.want == "") {
			t.Errorf("Attempt(%s) by %s = %v %q; want %q", tt.url, tt.proxy, v.Result, v.Error, tt.want)
		}
		c.Close() // ends the copying in the proxy
	}
}
