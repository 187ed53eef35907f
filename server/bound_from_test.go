package server

import (
	"net"
	"net/netip"
	"testing"

	"github.com/bellmanhq/bellman/internal/config"
)

// The connections of all listeners leave half of the files to deliveries and the store.
func TestConnectionsLeaveFiles(t *testing.T) {
	for _, notices := range []string{"", "127.0.0.1:0"} {
		c := &config.Config{}
		c.Notices.Listen = notices
		listeners := 1
		if notices != "" {
			listeners = 2
		}
		for _, files := range []int{256, 1024, 4096, 16384, 1 << 20} {
			if n := listeners * connections(c, files); n > files/2 || n < min(files/2, maxConnections) {
				t.Errorf("%d listeners take %d of %d files; want half, or what %d connections need", listeners, n, files, maxConnections)
			}
		}
		c.HTTP.Connections = 100
		if n := connections(c, 64); n != 100 {
			t.Errorf("%d connections; want the 100 that are configured", n)
		}
	}
}

// Who has a network of IPv6 addresses has the connections of one address.
func TestConnectionsOfOneNetwork(t *testing.T) {
	l := bound(&net.TCPListener{}, &config.Config{HTTP: config.HTTP{Connections: 10, PerAddress: 2}}).(*boundListener)
	enter := func(from string) bool {
		l.places <- struct{}{}
		if !l.enter(netip.MustParseAddr(from)) {
			<-l.places
			return false
		}
		return true
	}
	for _, tt := range []struct {
		from string
		want bool
	}{
		{"2001:db8:1:2::1", true}, {"2001:db8:1:2:ffff::2", true}, {"2001:db8:1:2::3", false}, {"2001:db8:1:3::1", true},
		{"192.0.2.1", true}, {"192.0.2.1", true}, {"192.0.2.1", false}, {"192.0.2.2", true},
	} {
		if got := enter(tt.from); got != tt.want {
			t.Errorf("a connection from %s: %t; want %t", tt.from, got, tt.want)
		}
	}
	l.leave(netip.MustParseAddr("2001:db8:1:2:ffff::2"))
	if !enter("2001:db8:1:2::4") {
		t.Error("after one was closed none is taken from its network")
	}
}
