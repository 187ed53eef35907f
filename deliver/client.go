// Package deliver makes one attempt of a notification: one HTTP request, or one message to a
// broker. It checks the address against the egress guard, signs, sends, reads a bounded answer and
// judges it. The engine decides when and how often to attempt. The protocol of a broker is behind
// [Connection].
package deliver

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"syscall"
	"time"

	"github.com/bellmanhq/bellman/deliver/internal/http1"
	"github.com/bellmanhq/bellman/rule"
)

// connBuffer is the size of the read buffer and of the write buffer of a connection, in bytes.
// Header and body of a usual notification fit into one write. It is small, because connections are
// many.
const connBuffer = 2 << 10

// maxHeader bounds the header of an answer, in bytes.
const maxHeader = 64 << 10

// Options of a Client. The zero Options guard every address and use no proxy. Environment variables
// are never read.
type Options struct {
	// The egress guard. For addresses that come with a task, it refuses every IP address that is
	// not an ordinary host of the Internet.
	AllowPrivate bool           // turns the guard off, except Deny and HTTPSOnly
	Allow        []netip.Prefix // allows these addresses
	Deny         []netip.Prefix // refuses these addresses; overrides Allow and AllowPrivate
	HTTPSOnly    bool           // refuses http at every address

	// Proxy is the URL of an http, https or socks5 proxy for all requests to addresses that come
	// with a task. Empty: none. The proxy's address is trusted. A queue's own address is reached
	// without the proxy. The guard resolves and checks a host before the proxy is asked, and the
	// proxy resolves the host again, so it should have egress rules too. If only the proxy can
	// resolve hosts, the guard has to be off.
	Proxy string

	ConnectTimeout time.Duration // to resolve and connect; default 3s, so that an attempt of 5s survives two lost packets
	TLSTimeout     time.Duration // of the handshake; default 5s

	// IdleTimeout is how long a connection is kept for the next request. Default 15s, which is
	// shorter than common servers keep one (Tomcat 20s, Jetty 30s, load balancers 60s). So no
	// request is sent on a connection that the server is closing.
	IdleTimeout time.Duration
	// Idle connections: HTTP/1.1 to addresses of tasks, and as many to addresses of queues. Each
	// may have as many again for HTTP/2 and for requests of more than 16 KiB. Defaults 4,096 and
	// 1,024. With TLS an idle connection takes 7 KiB or more.
	MaxIdle            int
	MaxIdlePerEndpoint int // to one endpoint

	RootCAs  *x509.CertPool // certificate authorities that are trusted; nil: the system's
	Resolver *net.Resolver  // nil: net.DefaultResolver
	Version  string         // for User-Agent: bellman/VERSION; default dev

	// Transport replaces the client's own connections. The guard then checks literal IP addresses
	// only, and proxy, timeouts and limits are those of Transport. nil: the client's own.
	Transport http.RoundTripper
}

// A Client holds the connections, egress guard and compiled rules that all queues share. It is safe
// for concurrent use.
type Client struct {
	guard    guard
	guarded  http.RoundTripper // for addresses that come with a task
	trusted  http.RoundTripper // for a queue's own address
	proxied  bool              // guarded goes through a proxy
	timed    bool              // both are transports of this package, which time their connections
	resolver *net.Resolver
	agent    []string // the User-Agent header
	rules    *rule.Cache

	addresses *addresses
}

// NewClient returns a client. An error names the option that is wrong. Close the client after use.
func NewClient(o Options) (*Client, error) {
	o.ConnectTimeout = cmp.Or(o.ConnectTimeout, 3*time.Second)
	o.TLSTimeout = cmp.Or(o.TLSTimeout, 5*time.Second)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 15*time.Second)
	o.MaxIdle = cmp.Or(o.MaxIdle, 4096)
	o.MaxIdlePerEndpoint = cmp.Or(o.MaxIdlePerEndpoint, 1024)
	o.Resolver = cmp.Or(o.Resolver, net.DefaultResolver)
	if min(o.ConnectTimeout, o.TLSTimeout, o.IdleTimeout) < 0 || min(o.MaxIdle, o.MaxIdlePerEndpoint) < 0 {
		return nil, errors.New("deliver: a timeout or a number of idle connections is negative")
	}
	c := &Client{
		guard:    guard{off: o.AllowPrivate, allow: slices.Clone(o.Allow), deny: slices.Clone(o.Deny), httpsOnly: o.HTTPSOnly},
		resolver: o.Resolver,
		agent:    []string{"bellman/" + cmp.Or(o.Version, "dev")},
		rules:    new(rule.Cache),

		addresses: newAddresses(),
	}
	for name, list := range map[string][]netip.Prefix{"allow": c.guard.allow, "deny": c.guard.deny} {
		for i, p := range list {
			if !p.IsValid() {
				return nil, fmt.Errorf("deliver: %s[%d] is not a prefix: want one such as 10.1.0.0/16", name, i)
			}
			if p.Addr().Is4In6() && p.Bits() >= 96 {
				p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
			}
			list[i] = p
		}
	}
	if o.Transport != nil {
		c.guarded, c.trusted = o.Transport, o.Transport
		return c, nil
	}
	proxy, err := parseProxy(o.Proxy)
	if err != nil {
		return nil, err
	}
	c.trusted, c.timed = http1.New(transport(o, nil, nil)), true
	switch c.proxied = proxy != nil; c.proxied {
	case true:
		c.guarded = transport(o, nil, proxy) // dials the proxy, and nothing else
	default:
		c.guarded = http1.New(transport(o, c.guard.control, nil))
	}
	return c, nil
}

// Spare drops the compiled rules, to free memory. They are compiled again when they are needed.
func (c *Client) Spare() { c.rules.Drop() }

// Trusted returns the transport to addresses of the configuration: without guard and proxy, with
// the same timeouts. It does not decompress answers. c.Close closes it.
func (c *Client) Trusted() http.RoundTripper { return c.trusted }

// Guarded returns the transport to all other addresses. The guard checks the URL of each request,
// and the address of each connection. If there is a proxy, requests go through it, and only the
// proxy knows the addresses of names.
func (c *Client) Guarded() http.RoundTripper { return refusing{c} }

// refusing is the guarded transport with the guard's check of a URL.
type refusing struct{ c *Client }

// RoundTrip implements http.RoundTripper.
func (t refusing) RoundTrip(r *http.Request) (*http.Response, error) {
	host, addr, err := parseHost(r.URL.Hostname())
	if err == nil {
		to := address{host: host, addr: addr, endpoint: endpoint(r.URL, host)}
		if refused := to.refuse(&t.c.guard); refused != nil {
			err = refused
		}
	}
	if err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	return t.c.guarded.RoundTrip(r)
}

// Close closes the idle connections.
func (c *Client) Close() {
	for _, t := range []http.RoundTripper{c.guarded, c.trusted} {
		if t, ok := t.(interface{ CloseIdleConnections() }); ok {
			t.CloseIdleConnections()
		}
	}
}

func parseProxy(text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) {
		return nil, errors.New("deliver: proxy is not usable: want http://HOST:PORT, https://… or socks5://…") // it may hold a password
	}
	return u, nil
}

func transport(o Options, control func(context.Context, string, string, syscall.RawConn) error, proxy *url.URL) *http.Transport {
	dialer := &net.Dialer{Timeout: o.ConnectTimeout, Resolver: o.Resolver, ControlContext: control}
	t := &http.Transport{
		DialContext:            timed(dialer.DialContext),
		TLSHandshakeTimeout:    o.TLSTimeout,
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConns:           o.MaxIdle,
		MaxIdleConnsPerHost:    o.MaxIdlePerEndpoint,
		IdleConnTimeout:        o.IdleTimeout,
		WriteBufferSize:        connBuffer,
		ReadBufferSize:         connBuffer,
		DisableCompression:     true, // answers are short, and a compressed one may expand without bound
		ForceAttemptHTTP2:      true,
		// Many requests may wait for a dead connection that was not closed: ping it.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 10 * time.Second, PingTimeout: 5 * time.Second},
		TLSClientConfig: &tls.Config{
			RootCAs:            o.RootCAs,
			MinVersion:         tls.VersionTLS12,
			ClientSessionCache: tls.NewLRUClientSessionCache(o.MaxIdle),
		},
	}
	if proxy != nil {
		t.Proxy = http.ProxyURL(proxy)
		t.OnProxyConnectResponse = func(_ context.Context, _ *url.URL, _ *http.Request, answer *http.Response) error {
			if answer.StatusCode != http.StatusOK {
				return fmt.Errorf("proxy: refused to connect, with status %d", answer.StatusCode)
			}
			return nil
		}
	}
	return t
}
