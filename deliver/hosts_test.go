package deliver

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Hosts are many, and each is asked seldom: all of their connections are kept.
func TestConnectionsOfManyHosts(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a machine of another kind has one loopback address")
	}
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	var made atomic.Int32
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "success") }),
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				made.Add(1)
			}
		},
	}
	go server.Serve(l)
	defer server.Close()
	c, err := NewClient(Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, IdleTimeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	const hosts = 3000
	for i := range 2 * hosts {
		url := fmt.Sprintf("http://127.0.%d.%d:%s/", 1+i%hosts/250, 1+i%250, port)
		req, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Guarded().RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	if n := made.Load(); n != hosts {
		t.Errorf("%d connections for two requests to each of %d hosts; want one a host", n, hosts)
	}
}
