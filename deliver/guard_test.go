package deliver

import (
	"net/netip"
	"testing"
)

func TestGuard(t *testing.T) {
	tests := []struct {
		addr    string
		refused bool
	}{
		{"8.8.8.8", false},
		{"93.184.216.34", false},
		{"223.5.5.5", false},
		{"100.63.255.255", false},
		{"100.128.0.0", false},
		{"172.15.255.255", false},
		{"172.32.0.0", false},
		{"192.0.1.1", false},
		{"223.255.255.255", false},
		{"2606:2800:220:1::1", false},
		{"2400:3200::1", false},
		{"2001:200::1", false},
		{"64:ff9b::808:808", false}, // 8.8.8.8 behind NAT64

		{"2400:3200::5efe:a00:1", true},       // 10.0.0.1 by ISATAP
		{"2400:3200::200:5efe:8.8.8.8", true}, // ISATAP of a public address
		{"2400:3200::1:5efe:808:808", false},
		{"2400:3200::100:5efe:808:808", false},
		{"2400:3200::5eff:808:808", false},
		{"2400:3200::6efe:808:808", false},
		{"0.0.0.0", true},
		{"0.1.2.3", true},
		{"10.0.0.1", true},
		{"10.255.255.255", true},
		{"100.64.0.1", true},
		{"100.100.100.200", true},
		{"127.0.0.1", true},
		{"127.255.255.254", true},
		{"169.254.169.254", true},
		{"172.16.0.1", true},
		{"172.31.255.255", true},
		{"192.0.0.192", true},
		{"192.0.2.1", true},
		{"192.88.99.1", true},
		{"192.168.1.1", true},
		{"198.18.0.1", true},
		{"198.19.255.255", true},
		{"198.51.100.1", true},
		{"203.0.113.1", true},
		{"224.0.0.1", true},
		{"239.255.255.255", true},
		{"240.0.0.1", true},
		{"255.255.255.255", true},
		{"::", true},
		{"::1", true},
		{"::127.0.0.1", true},
		{"::8.8.8.8", true},
		{"::ffff:127.0.0.1", true},
		{"::ffff:10.0.0.1", true},
		{"::ffff:0:127.0.0.1", true},
		{"64:ff9b::7f00:1", true},
		{"64:ff9b::a9fe:a9fe", true},
		{"64:ff9b:1::a00:1", true},
		{"100::1", true},
		{"2001::1", true},
		{"2001:0:4136:e378:8000:63bf:3fff:fdd2", true},
		{"2001:2::1", true},
		{"2001:10::1", true},
		{"2001:db8::1", true},
		{"2002:7f00:1::1", true},
		{"2002:808:808::1", true},
		{"3fff::1", true},
		{"4000::1", true},
		{"5f00::1", true},
		{"fc00::1", true},
		{"fd00:ec2::254", true},
		{"fe80::1", true},
		{"fe80::1%eth0", true},
		{"fec0::1", true},
		{"ff02::1", true},
	}
	for _, tt := range tests {
		addr := netip.MustParseAddr(tt.addr)
		if r := new(guard).refuse(addr); (r != nil) != tt.refused {
			t.Errorf("%s: %v; want it blocked: %t", tt.addr, r, tt.refused)
		}
		if r := (&guard{off: true}).refuse(addr); r != nil {
			t.Errorf("%s with the guard off: %v; want no error", tt.addr, r)
		}
	}
}

func TestGuardAllow(t *testing.T) {
	c := newClient(t, Options{Allow: []netip.Prefix{
		netip.MustParsePrefix("10.1.2.3/16"),
		netip.MustParsePrefix("::ffff:192.168.7.0/120"),
		netip.MustParsePrefix("fd00:1::/32"),
	}})
	for addr, refused := range map[string]bool{
		"10.1.255.1": false, "10.2.0.1": true, "::ffff:10.1.0.1": false, "64:ff9b::a01:1": false, "64:ff9b::a02:1": true,
		"192.168.7.9": false, "192.168.8.1": true, "fd00:1::5": false, "fd00:2::5": true, "8.8.8.8": false,
	} {
		if r := c.guard.refuse(netip.MustParseAddr(addr)); (r != nil) != refused {
			t.Errorf("%s: %v; want it blocked: %t", addr, r, refused)
		}
	}
	if _, err := NewClient(Options{Allow: []netip.Prefix{{}}}); err == nil {
		t.Error("NewClient with an invalid prefix: no error")
	}
}

func TestGuardControl(t *testing.T) {
	g := new(guard)
	for address, refused := range map[string]bool{
		"8.8.8.8:443": false, "127.0.0.1:80": true, "[::1]:80": true, "[fe80::1%lo]:80": true, "[::ffff:10.0.0.1]:80": true,
		"nonsense": true, "/tmp/socket": true,
	} {
		if err := g.control(t.Context(), "tcp", address, nil); (err != nil) != refused {
			t.Errorf("control(%s) = %v; want it blocked: %t", address, err, refused)
		}
	}
}

// The name localhost may be either loopback address. It is allowed if one of them is.
func TestGuardLocalhost(t *testing.T) {
	for _, tt := range []struct {
		allow   []string
		refused bool
	}{{nil, true}, {[]string{"127.0.0.1/32"}, false}, {[]string{"::1/128"}, false}, {[]string{"10.0.0.0/8"}, true}} {
		var o Options
		for _, text := range tt.allow {
			o.Allow = append(o.Allow, netip.MustParsePrefix(text))
		}
		if err := newClient(t, o).CheckURL("http://localhost/"); (err != nil) != tt.refused {
			t.Errorf("localhost with %v allowed: %v; want it blocked: %t", tt.allow, err, tt.refused)
		}
	}
}

// A denied address is blocked whatever else is allowed. With HTTPSOnly nothing is sent unencrypted.
// A list may name the addresses that stand for IPv4 ones behind NAT64.
func TestGuardOfNAT64(t *testing.T) {
	all := []netip.Prefix{nat64}
	for _, tt := range []struct {
		options Options
		addr    string
		refused bool
	}{
		{Options{Deny: all}, "64:ff9b::808:808", true}, {Options{Deny: all}, "8.8.8.8", false},
		{Options{Allow: all}, "64:ff9b::a00:1", false}, {Options{Allow: all}, "10.0.0.1", true},
	} {
		if r := newClient(t, tt.options).guard.refuse(netip.MustParseAddr(tt.addr)); (r != nil) != tt.refused {
			t.Errorf("%s of %+v: %v; want it blocked: %t", tt.addr, tt.options, r, tt.refused)
		}
	}
}

func TestGuardDeny(t *testing.T) {
	c, err := NewClient(Options{AllowPrivate: true, Allow: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")},
		Deny: []netip.Prefix{netip.MustParsePrefix("198.51.100.7/32"), netip.MustParsePrefix("2001:db8:64::/96"), netip.MustParsePrefix("::ffff:8.8.8.0/120")}, HTTPSOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for url, refused := range map[string]bool{
		"https://198.51.100.8/n": false, "https://198.51.100.7/n": true, "https://[2001:db8:64::a00:1]/n": true,
		"https://[64:ff9b::808:808]/n": true, "https://8.8.8.8/": true, "https://merchant.example/n": false, "http://merchant.example/n": true, "http://127.0.0.1/": true,
	} {
		if err := c.CheckURL(url); (err != nil) != refused {
			t.Errorf("CheckURL(%s) = %v; want it blocked: %t", url, err, refused)
		}
		to, err := parseAddress(url)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.admit(t.Context(), to); (err != nil) != refused {
			t.Errorf("an attempt to %s: %v; want it blocked: %t", url, err, refused)
		}
	}
	if err := c.guard.control(t.Context(), "tcp", "198.51.100.7:443", nil); err == nil {
		t.Error("a connection to a denied address was made; want an error")
	}
}
