package wechatpay

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
)

// A world leads connections to WeChat Pay's domains to servers on loopback, and those to a domain
// that is down nowhere.
type world struct {
	mu    sync.Mutex
	down  map[string]bool // hosts that nobody can connect to
	mute  map[string]bool // hosts that take a request and do not answer
	asked []string        // hosts that a connection was tried to, since the last look
	addr  string
	now   time.Time
}

func newWorld(t *testing.T) *world {
	w := &world{down: map[string]bool{}, mute: map[string]bool{}, now: now}
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		mute, at := w.mute[r.Host], w.now
		w.mu.Unlock()
		if mute {
			panic(http.ErrAbortHandler)
		}
		a := signedBy(200, trade("NOTPAY"))
		if r.Method == http.MethodPost {
			a = signedBy(204, "")
		}
		a.at = at
		a.write(rw)
	}))
	t.Cleanup(s.Close)
	w.addr = s.Listener.Addr().String()
	return w
}

func (w *world) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	host, _, _ := net.SplitHostPort(addr)
	w.mu.Lock()
	w.asked = append(w.asked, host)
	down := w.down[host]
	w.mu.Unlock()
	if down {
		return nil, &net.OpError{Op: "dial", Net: network, Err: &net.DNSError{Name: host, IsNotFound: true}}
	}
	return new(net.Dialer).DialContext(ctx, network, w.addr)
}

// channel is one whose connections are led through w: each request has its own.
func (w *world) channel(t *testing.T, base string) *Channel {
	o := options(t)
	o.BaseURL = base
	o.Now = func() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.now }
	o.Transport = &http.Transport{DisableKeepAlives: true, DialContext: w.dial, DialTLSContext: w.dial}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (w *world) set(change func()) { w.mu.Lock(); defer w.mu.Unlock(); change() }

// tried are the hosts that were tried since the last look.
func (w *world) tried() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	tried := w.asked
	w.asked = nil
	return tried
}

const first, second = "api.mch.weixin.qq.com", "api2.mch.weixin.qq.com"

// While the first domain cannot be reached the next request goes to the second, each request to one
// of them alone. Now and then one request looks whether the first is back.
func TestFailOver(t *testing.T) {
	for _, fault := range []string{"no connection", "no answer"} {
		w := newWorld(t)
		c := w.channel(t, "")
		broken := w.down
		if fault == "no answer" {
			broken = w.mute
		}
		steps := []struct {
			name   string
			change func()
			close  bool
			host   string
			ok     bool
		}{
			{"well", nil, false, first, true},
			{"the first fails", func() { broken[first] = true }, false, first, false},
			{"to the second", nil, false, second, true},
			{"stays there", func() { broken[first] = false }, true, second, true},
			{"looks at the first", func() { w.now = w.now.Add(away); broken[first] = true }, true, first, false},
			{"goes on at the second", nil, true, second, true},
			{"looks again", func() { w.now = w.now.Add(away); broken[first] = false }, false, first, true},
			{"is back", nil, true, first, true},
			{"the first fails again", func() { broken[first] = true }, true, first, false},
			{"the second fails too", func() { broken[second] = true }, true, second, false},
			{"to the first", func() { broken[first] = false }, true, first, true},
			{"is back again", nil, false, first, true},
		}
		o := &order.Order{OrderNo: orderNo, Created: now}
		for _, s := range steps {
			if s.change != nil {
				w.set(s.change)
			}
			var a order.Answer
			if s.close {
				a = c.Close(t.Context(), o).Answer
			} else {
				a = c.Query(t.Context(), o).Answer
			}
			if got := w.tried(); !slices.Equal(got, []string{s.host}) || (a.Result == bellman.Accepted) != s.ok {
				t.Errorf("%s, %s: %v at %v, %q; want success %t at %s", fault, s.name, a.Result, got, a.Error, s.ok, s.host)
			}
		}
	}
}

// Of many requests one looks whether the first domain is back.
func TestFailOverLooksOnce(t *testing.T) {
	w := newWorld(t)
	c := w.channel(t, "")
	ask := func() { c.Query(t.Context(), &order.Order{OrderNo: orderNo, Created: now}) }
	w.set(func() { w.down[first] = true })
	ask()
	w.set(func() { w.now = w.now.Add(away) })
	w.tried()
	var all sync.WaitGroup
	for range 20 {
		all.Go(ask)
	}
	all.Wait()
	if got := strings.Join(w.tried(), " "); strings.Count(got+" ", first+" ") != 1 {
		t.Errorf("tried %s; want the first domain once", got)
	}
}

// An answer that is no good, and a request that we gave up, say nothing against a domain; an
// address that somebody chose has no other.
func TestFailOverNot(t *testing.T) {
	w := newWorld(t)
	o := &order.Order{OrderNo: orderNo, Created: now}
	c := w.channel(t, "")
	w.set(func() { w.now = w.now.Add(time.Hour) }) // answers are signed an hour before
	c.now = func() time.Time { return now }
	if a := c.Query(t.Context(), o); a.Result != bellman.Refused {
		t.Errorf("an answer of another time: %v, %q", a.Result, a.Error)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if a := c.Query(stopped, o); a.Result != bellman.Unknown {
		t.Errorf("stopped: %v, %q", a.Result, a.Error)
	}
	w.tried()
	c.Query(t.Context(), o)
	if got := w.tried(); !slices.Equal(got, []string{first}) {
		t.Errorf("tried %v; want %s", got, first)
	}

	chosen := w.channel(t, Domestic)
	w.set(func() { w.down[first] = true })
	chosen.Query(t.Context(), o)
	chosen.Query(t.Context(), o)
	if got := w.tried(); !slices.Equal(got, []string{first, first}) {
		t.Errorf("with an address of its own, tried %v; want %s alone", got, first)
	}
}

// What a request teaches about where the next one goes.
func TestLearn(t *testing.T) {
	const first, second = "https://one", "https://two"
	at := time.Unix(1, 0)
	for _, tt := range []struct {
		name    string
		second  string
		away    bool // requests go to the second
		base    string
		a       order.Answer
		learned bool
		next    string
	}{
		{"one address", "", false, first, order.Answer{Result: bellman.Unreachable}, false, first},
		{"no connection", second, false, first, order.Answer{Result: bellman.Unreachable}, true, second},
		{"no answer in time", second, false, first, order.Answer{Result: bellman.TimedOut}, true, second},
		{"cut off", second, false, first, order.Answer{Result: bellman.Unknown}, false, first},
		{"an answer", second, false, first, order.Answer{Status: 500}, false, first},
		{"no answer from the second", second, true, second, order.Answer{Result: bellman.TimedOut}, true, first},
		{"an answer from the second", second, true, second, order.Answer{Status: 200}, false, second},
		{"the first is back", second, true, first, order.Answer{Status: 200}, true, first},
		{"the first is not back", second, true, first, order.Answer{Result: bellman.Unreachable}, false, second},
	} {
		d := domains{first: first, second: tt.second}
		if tt.away {
			d.until.Store(at.Add(away).UnixNano())
		}
		if learned := d.learn(tt.base, &tt.a, at); learned != tt.learned || d.pick(at) != tt.next {
			t.Errorf("%s: news %t, next %s; want %t, %s", tt.name, learned, d.pick(at), tt.learned, tt.next)
		}
	}
}
