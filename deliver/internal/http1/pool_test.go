package http1

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/eventually"
)

// together sends requests to each URL at the same time. The answers come when all requests have
// arrived.
func together(t *testing.T, rt *Transport, urls ...string) {
	t.Helper()
	var all sync.WaitGroup
	for _, url := range urls {
		all.Go(func() {
			if got, err := send(t, rt, "POST", url, ""); err != nil || got != "success" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	all.Wait()
}

// meeting returns a peer that answers when n requests wait.
func meeting(t *testing.T, n int) *peer {
	var mu sync.Mutex
	waiting, gone := 0, make(chan struct{})
	return newPeer(t, func(int, int) string {
		mu.Lock()
		wait := gone
		if waiting++; waiting == n {
			close(gone)
			waiting, gone = 0, make(chan struct{})
		}
		mu.Unlock()
		<-wait
		return success
	})
}

func TestIdleLimits(t *testing.T) {
	one, other := meeting(t, 4), meeting(t, 4)
	rt, _ := newTransport(t)
	rt.std.MaxIdleConnsPerHost, rt.std.MaxIdleConns = 3, 5
	together(t, rt, one.url, one.url, one.url, one.url)
	if n := rt.idle.n; n != 3 {
		t.Errorf("%d idle connections after 4 to one host; want 3", n)
	}
	oldest := rt.idle.first
	together(t, rt, other.url, other.url, other.url, other.url)
	if n, of := rt.idle.n, len(rt.idle.first.host.idle); n != 5 || of != 2 || rt.idle.first == oldest || oldest.silent() {
		t.Errorf("%d idle connections, %d of the first host; want 5 and 2, and the oldest closed", n, of)
	}
	rt.CloseIdleConnections()
	if rt.idle.n != 0 || rt.idle.first != nil || rt.idle.last != nil || len(rt.hosts) != 0 {
		t.Errorf("after CloseIdleConnections: %d idle, %d hosts; want none", rt.idle.n, len(rt.hosts))
	}
}

func TestIdleTimeout(t *testing.T) {
	p := newPeer(t, func(int, int) string { return success })
	rt, dials := newTransport(t)
	rt.std.IdleConnTimeout = 20 * time.Millisecond
	for range 2 {
		if _, err := send(t, rt, "POST", p.url, ""); err != nil {
			t.Fatal(err)
		}
		eventually.True(t, "without idle connections, hosts and timer", func() bool {
			rt.mu.Lock()
			defer rt.mu.Unlock()
			return rt.idle.n == 0 && len(rt.hosts) == 0 && rt.sweeps == nil
		})
	}
	if n := dials.Load(); n != 2 {
		t.Errorf("%d connections; want 2", n)
	}
}

// A request that ends while its connection is made leaves that to the next one.
func TestConnectionOutlivesItsRequest(t *testing.T) {
	p := newPeer(t, func(int, int) string { return success })
	rt, dials := newTransport(t)
	dialing, goOn := make(chan struct{}), make(chan struct{})
	dial := rt.std.DialContext
	rt.std.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		close(dialing)
		<-goOn
		return dial(ctx, network, address)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-dialing; cancel() }()
	req, err := http.NewRequestWithContext(ctx, "POST", p.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rt.RoundTrip(req); !errors.Is(err, context.Canceled) {
		t.Errorf("the first request: %v; want it canceled", err)
	}
	close(goOn)
	eventually.True(t, "idle: the connection", func() bool { return idle(rt) == 1 })
	if got, err := send(t, rt, "POST", p.url, ""); err != nil || got != "success" || dials.Load() != 1 {
		t.Errorf("the second request: %q, %v on %d connections; want success on 1", got, err, dials.Load())
	}
}

// A connection that cannot be made is the error of its own request only, and the host is forgotten.
func TestUnreachable(t *testing.T) {
	rt, _ := newTransport(t)
	refused := errors.New("refused")
	rt.std.DialContext = func(context.Context, string, string) (net.Conn, error) { return nil, refused }
	if _, err := send(t, rt, "POST", "http://merchant.example", ""); !errors.Is(err, refused) {
		t.Errorf("%v; want %v", err, refused)
	}
	eventually.True(t, "forgotten: the host", func() bool {
		rt.mu.Lock()
		defer rt.mu.Unlock()
		return len(rt.hosts) == 0
	})
}

// A connection that comes when its request ends is used by the request or kept.
func TestConnectionComesTooLate(t *testing.T) {
	p := newPeer(t, func(int, int) string { return success })
	rt, dials := newTransport(t)
	if _, err := send(t, rt, "POST", p.url, ""); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 { // both ways: which one is taken is up to the runtime
		c := rt.idle.first
		rt.unpool(c)
		w := &waiter{c.host, make(chan taken, 1)}
		w.got <- taken{conn: c}
		if c, err := rt.wait(ctx, w); err == nil {
			rt.put(c)
		}
		if rt.idle.n != 1 {
			t.Fatal("the connection is lost")
		}
	}
	if got, err := send(t, rt, "POST", p.url, ""); err != nil || got != "success" || dials.Load() != 1 {
		t.Errorf("%q, %v on %d connections; want success on 1", got, err, dials.Load())
	}
}
