package access

import (
	"crypto/tls"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

func TestProxies(t *testing.T) {
	p := Proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, tt := range []struct {
		name, remote string
		forwarded    []string
		proto        []string
		from         string
		secure       bool
	}{
		{"nobody in between", "192.0.2.7:1", nil, nil, "192.0.2.7", false},
		{"a stranger says something", "192.0.2.7:1", []string{"198.51.100.1"}, []string{"https"}, "192.0.2.7", false},
		{"a proxy", "10.1.1.1:1", []string{"198.51.100.1"}, []string{"https"}, "198.51.100.1", true},
		{"a proxy over plain HTTP", "10.1.1.1:1", []string{"198.51.100.1"}, []string{"http"}, "198.51.100.1", false},
		{"a proxy of IPv6, with a port", "[fd00::1]:1", []string{"[2001:db8::9]:4711"}, []string{"HTTPS"}, "2001:db8::9", true},
		{"two proxies", "10.1.1.1:1", []string{"198.51.100.1, 10.2.2.2"}, []string{"http, https"}, "198.51.100.1", true},
		{"in two headers", "10.1.1.1:1", []string{"198.51.100.1", "10.2.2.2"}, nil, "198.51.100.1", false},
		{"what the viewer invented stays out", "10.1.1.1:1", []string{"127.0.0.1, 198.51.100.1"}, nil, "198.51.100.1", false},
		{"nonsense stays out", "10.1.1.1:1", []string{"127.0.0.1, x, 10.2.2.2"}, nil, "10.2.2.2", false},
		{"the protocol in two headers", "10.1.1.1:1", []string{"198.51.100.1"}, []string{"https", "http"}, "198.51.100.1", false},
		{"a proxy that says nothing", "10.1.1.1:1", nil, nil, "10.1.1.1", false},
		{"all are proxies", "10.1.1.1:1", []string{"10.3.3.3"}, nil, "10.3.3.3", false},
		{"IPv4 in IPv6", "[::ffff:10.1.1.1]:1", []string{"::ffff:198.51.100.1"}, []string{"https"}, "198.51.100.1", true},
		{"an address without a port, as a middleware leaves it", "10.1.1.1", []string{"198.51.100.1"}, []string{"https"}, "198.51.100.1", true},
		{"no address at all", "@", []string{"198.51.100.1"}, []string{"https"}, "invalid IP", false},
	} {
		r := &http.Request{RemoteAddr: tt.remote, Header: http.Header{}}
		for _, v := range tt.forwarded {
			r.Header.Add("X-Forwarded-For", v)
		}
		for _, v := range tt.proto {
			r.Header.Add("X-Forwarded-Proto", v)
		}
		if from, secure := p.From(r), p.Secure(r); from.String() != tt.from || secure != tt.secure {
			t.Errorf("%s: from %s, secure %t; want %s, %t", tt.name, from, secure, tt.from, tt.secure)
		}
		if text := p.Text(r); text != strings.TrimPrefix(tt.from, "invalid IP") {
			t.Errorf("%s: Text() = %q, want %s, and an empty text without an address", tt.name, text, tt.from)
		}
		if from := Proxies(nil).From(r); tt.name == "a proxy" && from.String() != "10.1.1.1" {
			t.Errorf("without proxies: from %s; want the address of the connection", from)
		}
	}
	if !p.Secure(&http.Request{TLS: &tls.ConnectionState{}}) {
		t.Error("an encrypted connection is not secure; want secure")
	}
}

// A request is unnamed if somebody forwarded it who is not trusted.
func TestUnnamed(t *testing.T) {
	p := Proxies{netip.MustParsePrefix("10.0.0.0/8")}
	for _, tt := range []struct {
		remote, forwarded string
		want              bool
	}{{"10.1.1.1:1", "198.51.100.1", false}, {"192.0.2.7:1", "198.51.100.1", true}, {"192.0.2.7:1", "", false}} {
		r := &http.Request{RemoteAddr: tt.remote, Header: http.Header{"X-Forwarded-For": {tt.forwarded}}}
		if got := p.Unnamed(r); got != tt.want {
			t.Errorf("from %s for %q: Unnamed() = %t; want %t", tt.remote, tt.forwarded, got, tt.want)
		}
	}
}
