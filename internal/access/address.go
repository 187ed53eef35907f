// Package access decides who makes an HTTP request and what they may do: keys and their roles,
// client addresses behind proxies, and limits of tries. The API and the console share it. Sessions
// of people belong to the console.
package access

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Proxies are the trusted proxies: only their X-Forwarded-For and X-Forwarded-Proto headers are
// used.
type Proxies []netip.Prefix

// has reports whether an address is a trusted proxy's. An invalid address is not.
func (p Proxies) has(a netip.Addr) bool {
	return slices.ContainsFunc(p, func(prefix netip.Prefix) bool { return prefix.Contains(a) })
}

// peer returns the address of the connection; invalid if it is no network address.
func peer(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	a, _ := netip.ParseAddr(host) // invalid if it cannot be read
	return a.Unmap().WithZone("")
}

// From returns the client's address: the last address of the chain that is no trusted proxy. It is
// invalid if it is no network address, as with a Unix socket.
func (p Proxies) From(r *http.Request) netip.Addr {
	at := peer(r)
	way := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(way) - 1; i >= 0 && p.has(at); i-- {
		text := strings.TrimSpace(way[i])
		if host, _, err := net.SplitHostPort(text); err == nil { // some proxies add the port
			text = host
		}
		before, err := netip.ParseAddr(strings.Trim(text, "[]"))
		if err != nil {
			break // anybody could have written the addresses before it
		}
		at = before.Unmap().WithZone("")
	}
	return at
}

// Unnamed reports whether a request came through a proxy that is not trusted: all clients behind it
// count as one address.
func (p Proxies) Unnamed(r *http.Request) bool {
	return r.Header.Get("X-Forwarded-For") != "" && !p.has(peer(r))
}

// Secure reports whether the client's connection is encrypted.
func (p Proxies) Secure(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	if !p.has(peer(r)) {
		return false
	}
	all := r.Header.Values("X-Forwarded-Proto")
	if len(all) == 0 {
		return false
	}
	last := all[len(all)-1]
	return strings.EqualFold(strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:]), "https")
}

// Text returns From for an audit record; empty if it is unknown.
func (p Proxies) Text(r *http.Request) string {
	if from := p.From(r); from.IsValid() {
		return from.String()
	}
	return ""
}
