package config

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// readPrefixes replaces a list of address ranges.
func readPrefixes(r *reader, path string, n ast.Node, to *[]netip.Prefix) {
	*to = nil
	for at, element := range r.elements(n, path) {
		if text, ok := r.scalar(element, at); ok {
			if err := appendPrefix(to, text); err != nil {
				r.note(element, at, err.Error())
			}
		}
	}
}

// setPrefixes reads the list from an environment variable, with commas.
func setPrefixes(to *[]netip.Prefix, s string) error {
	*to = nil
	var errs []error
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			errs = append(errs, appendPrefix(to, part))
		}
	}
	return errors.Join(errs...)
}

func appendPrefix(to *[]netip.Prefix, s string) error {
	p, err := netip.ParsePrefix(s)
	if addr, addrErr := netip.ParseAddr(s); addrErr == nil && addr.Zone() == "" {
		p, err = netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	if err != nil {
		return fmt.Errorf("%.60q is no range of addresses: want one such as 10.1.0.0/16, or an address", s)
	}
	if p != p.Masked() {
		return fmt.Errorf("%.60q has bits beyond its length: want %s", s, p.Masked())
	}
	*to = append(*to, p)
	return nil
}

// origin reads the address of a server: only scheme and host.
func origin(to *string, s string) error {
	*to = strings.TrimSuffix(s, "/")
	if s == "" {
		return nil
	}
	u, err := url.Parse(*to)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || *u != (url.URL{Scheme: u.Scheme, Host: u.Host}) {
		return fmt.Errorf("%.80q is not where a server is reached: want https:// and a host, such as https://bellman.example, and no path", s)
	}
	return nil
}
