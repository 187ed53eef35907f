// Package access says who makes a request over HTTP and what they may do: keys and their roles,
// addresses where proxies stand in between, and how often somebody may try. The API and the
// console share it; sessions of people are the console's.
package access

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Proxies are the addresses from which a request's own word is taken for where it
// came from: X-Forwarded-For and X-Forwarded-Proto of anybody else say nothing.
type Proxies []netip.Prefix

func (p Proxies) has(a netip.Addr) bool {
	for _, prefix := range p {
		if prefix.Contains(a) {
			return true
		}
	}
	return false
}

// peer is who made the connection; invalid if that was no network's address.
func peer(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	return a.Unmap().WithZone("")
}

// From is who asks: the last address on the way here that is no proxy's; invalid where
// it is no network's, as of a socket in a file.
func (p Proxies) From(r *http.Request) netip.Addr {
	at := peer(r)
	way := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(way) - 1; i >= 0 && at.IsValid() && p.has(at); i-- {
		text := strings.TrimSpace(way[i])
		if host, _, err := net.SplitHostPort(text); err == nil { // some write the port too
			text = host
		}
		before, err := netip.ParseAddr(strings.Trim(text, "[]"))
		if err != nil {
			break // what stands before it can be anybody's invention
		}
		at = before.Unmap().WithZone("")
	}
	return at
}

// Unnamed reports whether a request says that it came through a proxy which is none of these: all
// who come through that count as one address.
func (p Proxies) Unnamed(r *http.Request) bool {
	return r.Header.Get("X-Forwarded-For") != "" && !p.has(peer(r))
}

// Secure reports whether the viewer's connection is encrypted.
func (p Proxies) Secure(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	if at := peer(r); !at.IsValid() || !p.has(at) {
		return false
	}
	all := r.Header.Values("X-Forwarded-Proto")
	if len(all) == 0 {
		return false
	}
	last := all[len(all)-1]
	return strings.EqualFold(strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:]), "https")
}

// Text is From as an audit record has it; empty where it is not known.
func (p Proxies) Text(r *http.Request) string {
	if from := p.From(r); from.IsValid() {
		return from.String()
	}
	return ""
}
