package access

import (
	"net"
	"net/netip"
	"strings"
)

// Direct reports whether a Host header is an IP address or localhost. A page of
// a stranger can make its own name resolve to a loopback address (DNS
// rebinding), but it cannot make the browser send another name than its own.
func Direct(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if host == "" || strings.EqualFold(host, "localhost") {
		return true
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil
}
