package deliver

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/coded"
)

// An address is a URL that a request can go to. Its texts never show the query.
type address struct {
	url  *url.URL   // host in ASCII and lower case
	host string     // without port and brackets
	addr netip.Addr // the host, if it is an IP address; otherwise the zero Addr

	endpoint string // scheme://host:port, the port always there
}

// ports are the schemes of addresses that name a host, and the default port of each.
var ports = map[string]string{"http": "80", "https": "443"}

// DefaultPort returns the default port of a scheme in lower case; empty: an address of that scheme
// names no host.
func DefaultPort(scheme string) string { return ports[scheme] }

// parseAddress reads an absolute URL. An error names the mistake and the right form. Of the URL it
// quotes the host at most.
func parseAddress(text string) (address, error) {
	switch {
	case len(text) > bellman.MaxURL:
		return address{}, coded.Errorf("url.long", "longer than 2,000 bytes")
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return address{}, coded.Errorf("url.space", "has a space or control character: percent-encode it")
	}
	u, err := url.Parse(text)
	escape := url.EscapeError("")
	switch {
	case errors.As(err, &escape):
		return address{}, coded.Errorf("url.escape", "has %.3q, which encodes nothing: want %% and two hexadecimal digits, or %%25 for a percent sign", string(escape))
	case err != nil:
		return address{}, coded.Errorf("url.none", "not a URL: want one such as https://merchant.example/notify")
	case DefaultPort(u.Scheme) == "":
		return address{}, coded.Errorf("url.absolute", "want an absolute URL that begins with https:// or http://")
	case u.User != nil:
		return address{}, coded.Errorf("url.user", "holds a user name or password: send them as a header, where they are not shown")
	case u.Fragment != "" || strings.Contains(text, "#"):
		return address{}, coded.Errorf("url.fragment", "has a fragment (#…), which is never sent")
	case u.Opaque != "" || u.Hostname() == "":
		return address{}, coded.Errorf("url.no_host", "names no host: want one such as https://merchant.example/notify")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return address{}, coded.Errorf("url.port", "its port is not a number from 1 to 65535")
		}
	} else if strings.HasSuffix(u.Host, ":") {
		return address{}, coded.Errorf("url.colon", "has a colon and no port")
	}
	host, addr, err := parseHost(u.Hostname())
	if err != nil {
		return address{}, err
	}
	switch port := u.Port(); {
	case port != "":
		u.Host = net.JoinHostPort(host, port)
	case strings.Contains(host, ":"):
		u.Host = "[" + host + "]"
	default:
		u.Host = host
	}
	u.RawQuery = ascii(u.RawQuery)
	return address{url: u, host: host, addr: addr, endpoint: endpoint(u, host)}, nil
}

// CheckURL returns the mistake in a URL of the kind that names a host; nil: the URL is valid. It
// does not ask the guard. Of the URL the error shows the host at most.
func CheckURL(text string) error {
	_, err := parseAddress(text)
	return err
}

// parseHost returns a host name or literal address in ASCII and lower case, and the address if it
// is one.
func parseHost(host string) (string, netip.Addr, error) {
	if strings.Contains(host, ":") {
		addr, err := netip.ParseAddr(host)
		switch {
		case err != nil:
			return "", addr, coded.Errorf("url.ipv6", "its host is not an IPv6 address")
		case addr.Zone() != "":
			return "", addr, coded.Errorf("url.zone", "its host has a zone (%%…): that is no address beyond this machine")
		}
		return addr.String(), addr, nil
	}
	none := netip.Addr{}
	host, err := asciiHost(host)
	if err != nil {
		return "", none, err
	}
	name := strings.TrimSuffix(host, ".")
	if len(name) > 253 {
		return "", none, coded.Errorf("url.long_host", "its host is longer than 253 characters")
	}
	var last string
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 {
			return "", none, coded.Errorf("url.part", "its host has an empty part, or one longer than 63 characters")
		}
		last = label
	}
	// 2130706433, 0x7f.1 and 127.1 are 127.0.0.1 to some resolvers.
	if isNumber(last) {
		addr, err := netip.ParseAddr(name)
		if err != nil {
			return "", none, coded.Errorf("url.number", "its host ends in a number and is not an IPv4 address: want four decimal numbers")
		}
		return name, addr, nil
	}
	return host, none, nil
}

// isNumber reports whether a host with this last part is read as an IPv4 address (WHATWG URL, "ends
// in a number").
func isNumber(part string) bool {
	digits, hex := strings.CutPrefix(part, "0x")
	if hex {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return strings.Trim(digits, "0123456789") == ""
}

func asciiHost(host string) (string, error) {
	lower := true
	for i := range len(host) {
		c := host[i]
		switch {
		case c >= 0x80:
			host, err := idna.Lookup.ToASCII(host)
			if err != nil {
				return "", coded.Errorf("url.name", "its host is not a domain name")
			}
			return host, nil
		case 'A' <= c && c <= 'Z':
			lower = false
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '.', c == '_':
		default:
			return "", coded.Errorf("url.name", "its host is not a domain name or an IP address")
		}
	}
	if lower {
		return host, nil
	}
	return strings.ToLower(host), nil
}

// ascii percent-encodes the bytes of a query that are not ASCII.
func ascii(query string) string {
	if strings.IndexFunc(query, func(r rune) bool { return r >= 0x80 }) < 0 {
		return query
	}
	var b strings.Builder
	for i := range len(query) {
		if c := query[i]; c < 0x80 {
			b.WriteByte(c)
		} else {
			const hex = "0123456789ABCDEF"
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

// Endpoint returns the endpoint of tasks to scheme://host or scheme://host:port, in lower case,
// always with the port. The scheme has a [DefaultPort]. ok is false if name has another form.
func Endpoint(name string) (endpoint string, ok bool) {
	a, err := parseAddress(name)
	if err != nil || a.url.Path != "" || a.url.RawQuery != "" || a.url.ForceQuery {
		return "", false
	}
	return a.endpoint, true
}

// endpoint is scheme://host:port, the port always there.
func endpoint(u *url.URL, host string) string {
	port := u.Port()
	if port == "" {
		port = DefaultPort(u.Scheme)
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.TrimSuffix(host, "."), port)
}

// refuse returns why the guard refuses an address before its name is resolved; nil: the guard
// decides when the connection is made.
func (a address) refuse(g *guard) *refusal {
	if g.httpsOnly && !strings.HasPrefix(a.endpoint, "https:") {
		return &refusal{host: a.endpoint, kind: "is not https, which egress.https_only asks for"}
	}
	name := strings.TrimSuffix(a.host, ".")
	if name == "localhost" || strings.HasSuffix(name, ".localhost") { // RFC 6761
		r := g.refuse(netip.AddrFrom4([4]byte{127, 0, 0, 1}))
		if r == nil || g.refuse(netip.IPv6Loopback()) == nil {
			return nil
		}
		r.host = a.host
		return r
	}
	if !a.addr.IsValid() {
		return nil
	}
	return g.refuse(a.addr)
}
