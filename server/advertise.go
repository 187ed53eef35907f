package server

import (
	"net"
	"net/netip"
	"net/url"

	"github.com/bellmanhq/bellman/internal/config"
)

// advertised returns the address at which other nodes reach the API: as configured, else where it
// listens. If the server listens on all addresses, it is the address from which this machine reaches
// the database, so that a cluster works without the setting; empty if that cannot be determined.
func advertised(c *config.Config, listens string) string {
	if c.Advertise != "" {
		return c.Advertise
	}
	host, port, err := net.SplitHostPort(listens)
	if err != nil {
		return ""
	}
	if addr, err := netip.ParseAddr(host); err != nil || !addr.IsUnspecified() {
		return listens
	}
	s, err := config.ParseStore(c.Store)
	if err != nil || s.Kind == config.Pebble {
		return ""
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	// UDP: an address is chosen, and nothing is sent.
	conn, err := net.Dial("udp", net.JoinHostPort(u.Hostname(), "9"))
	if err != nil {
		return ""
	}
	defer conn.Close()
	from, _, err := net.SplitHostPort(conn.LocalAddr().String())
	if err != nil {
		return ""
	}
	return net.JoinHostPort(from, port)
}
