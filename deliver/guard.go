package deliver

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

// A guard refuses addresses that tasks must not reach. It checks the IP address of each connection
// just before the connection is made. So it also stops a name that resolves to another address
// later.
type guard struct {
	off       bool
	allow     []netip.Prefix
	deny      []netip.Prefix // refused; overrides off and allow
	httpsOnly bool           // http is refused at every address
}

// A refusal is the error for an address that the guard refused.
type refusal struct {
	host string // the name that resolved to addr; empty: none, or unknown
	addr netip.Addr
	kind string
}

func (e *refusal) Error() string {
	if !e.addr.IsValid() {
		return fmt.Sprintf("%.253s %s, refused by the egress guard", e.host, e.kind)
	}
	if e.host == "" {
		return fmt.Sprintf("%s is %s, refused by the egress guard", e.addr, e.kind)
	}
	return fmt.Sprintf("%.253s is at %s, which is %s, refused by the egress guard", e.host, e.addr, e.kind)
}

// Blocked reports that the guard is the cause, and not the network. Other packages, which cannot
// name the type, find it by this method.
func (e *refusal) Blocked() bool { return true }

// A special is a block of addresses that are not ordinary hosts of the Internet: the IANA
// special-purpose registries (RFC 6890 and its updates).
type special struct {
	prefix netip.Prefix
	kind   string
}

var special4 = []special{
	{netip.MustParsePrefix("0.0.0.0/8"), "this host itself (RFC 791)"},
	{netip.MustParsePrefix("10.0.0.0/8"), "a private address (RFC 1918)"},
	{netip.MustParsePrefix("100.64.0.0/10"), "a carrier's shared address (RFC 6598)"}, // Alibaba's metadata: 100.100.100.200
	{netip.MustParsePrefix("127.0.0.0/8"), "a loopback address"},
	{netip.MustParsePrefix("168.63.129.16/32"), "a metadata address (Azure)"},
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local address (RFC 3927)"}, // metadata of most clouds: 169.254.169.254
	{netip.MustParsePrefix("172.16.0.0/12"), "a private address (RFC 1918)"},
	{netip.MustParsePrefix("192.0.0.0/24"), "an address for protocols (RFC 6890)"}, // Oracle's metadata: 192.0.0.192
	{netip.MustParsePrefix("192.0.2.0/24"), "an address for documentation (RFC 5737)"},
	{netip.MustParsePrefix("192.88.99.0/24"), "a 6to4 relay (RFC 7526)"},
	{netip.MustParsePrefix("192.168.0.0/16"), "a private address (RFC 1918)"},
	{netip.MustParsePrefix("198.18.0.0/15"), "an address for benchmarks (RFC 2544)"},
	{netip.MustParsePrefix("198.51.100.0/24"), "an address for documentation (RFC 5737)"},
	{netip.MustParsePrefix("203.0.113.0/24"), "an address for documentation (RFC 5737)"},
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address"},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved or broadcast address (RFC 1112)"},
}

// nat64 are addresses with an IPv4 address in their last four bytes (RFC 6052). In a network that
// has only IPv6, every IPv4 host is reached through one of them.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// global has all IPv6 addresses of ordinary hosts (RFC 4291). special6 lists blocks outside of it
// so that messages can name them.
var global = netip.MustParsePrefix("2000::/3")

var special6 = []special{
	{netip.MustParsePrefix("::/128"), "the unspecified address"},
	{netip.MustParsePrefix("::1/128"), "a loopback address"},
	{netip.MustParsePrefix("::/96"), "IPv4 in IPv6 (RFC 4291)"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "a local translation to IPv4 (RFC 8215)"},
	{netip.MustParsePrefix("2001::/32"), "IPv4 in IPv6 (Teredo, RFC 4380)"},
	{netip.MustParsePrefix("2001::/23"), "an address for protocols (RFC 2928)"},
	{netip.MustParsePrefix("2001:db8::/32"), "an address for documentation (RFC 3849)"},
	{netip.MustParsePrefix("2002::/16"), "IPv4 in IPv6 (6to4, RFC 3056)"},
	{netip.MustParsePrefix("3fff::/20"), "an address for documentation (RFC 9637)"},
	{netip.MustParsePrefix("fc00::/7"), "a private address (RFC 4193)"}, // Amazon's metadata: fd00:ec2::254
	{netip.MustParsePrefix("fe80::/10"), "a link-local address (RFC 4291)"},
	{netip.MustParsePrefix("fec0::/10"), "a site-local address (RFC 3879)"},
	{netip.MustParsePrefix("ff00::/8"), "a multicast address"},
}

// refuse returns why addr must not be connected to; nil if it may.
func (g *guard) refuse(addr netip.Addr) *refusal {
	addr = addr.Unmap().WithZone("")
	inner := addr
	if nat64.Contains(addr) {
		b := addr.As16()
		inner = netip.AddrFrom4([4]byte(b[12:]))
	}
	switch {
	case has(g.deny, addr), has(g.deny, inner):
		return &refusal{addr: addr, kind: "an address that egress.deny names"}
	case g.off, has(g.allow, addr), has(g.allow, inner):
		return nil
	case isatap(addr):
		return &refusal{addr: addr, kind: "IPv4 in IPv6 (ISATAP, RFC 5214)"}
	}
	list := special6
	if inner.Is4() {
		list = special4
	}
	for _, s := range list {
		if s.prefix.Contains(inner) {
			return &refusal{addr: addr, kind: s.kind}
		}
	}
	if !inner.Is4() && !global.Contains(inner) {
		return &refusal{addr: addr, kind: "not a global address (RFC 4291)"}
	}
	return nil
}

// isatap reports whether the last half of an IPv6 address says that an IPv4 address follows.
func isatap(addr netip.Addr) bool {
	b := addr.As16()
	return addr.Is6() && b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

func has(list []netip.Prefix, addr netip.Addr) bool {
	for _, p := range list {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// control is a net.Dialer.ControlContext. It gets each resolved address, just before the connection
// is made.
func (g *guard) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("egress guard: %.80q is not an address and a port", address)
	}
	if r := g.refuse(to.Addr()); r != nil {
		return r
	}
	return nil
}

// resolve checks a host to which a proxy will connect: each of its present addresses must be
// allowed. The proxy resolves the name again. If the addresses change in between, only the proxy's
// own rules can stop the request.
func (g *guard) resolve(ctx context.Context, resolver *net.Resolver, host string) error {
	addrs, err := resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return err
	}
	for _, addr := range addrs {
		if r := g.refuse(addr); r != nil {
			return r
		}
	}
	return nil
}
