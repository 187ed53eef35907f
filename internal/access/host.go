package access

import (
	"net"
	"net/netip"
	"strings"
)

// Direct reports whether a Host header is an IP address or localhost. A foreign page can make its
// own name resolve to a loopback address (DNS rebinding), but the browser then sends that name.
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
