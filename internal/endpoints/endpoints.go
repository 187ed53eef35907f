// Package endpoints finds the endpoints that people mean by a host. The API and the console
// pause and resume what they name.
package endpoints

import (
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman/engine/figures"
)

// Named returns the endpoints that a host, a host:port, a queue or a full endpoint
// names: of those that are known. Where there is none, or others may be known elsewhere,
// it is the queue, or what the host has by HTTP and HTTPS, for nobody need have sent
// anything there yet. Whoever pauses them says which there can be.
func Named(host string, known []figures.Endpoint, all, queue bool) []string {
	if scheme, _, is := strings.Cut(host, "://"); is {
		u, err := url.Parse(host)
		if err != nil || u.Host == "" || *u != (url.URL{Scheme: u.Scheme, Host: u.Host}) {
			return nil
		}
		if port := map[string]string{"http": "80", "https": "443"}[strings.ToLower(scheme)]; u.Port() == "" && port != "" {
			u.Host = net.JoinHostPort(u.Hostname(), port)
		}
		return []string{strings.ToLower(u.String())}
	}
	var names []string
	for i := range known {
		name := known[i].Endpoint
		u, err := url.Parse(name)
		if name == host || err == nil && u.Host != "" && (strings.EqualFold(u.Host, host) || strings.EqualFold(u.Hostname(), host)) {
			names = append(names, name)
		}
	}
	switch {
	case len(names) > 0 && all:
		return names
	case queue && !slices.Contains(names, host):
		return append(names, host)
	case queue:
		return names
	}
	for _, scheme := range []string{"https", "http"} {
		name := scheme + "://" + host
		if strings.Count(host, ":") > 1 && !strings.HasPrefix(host, "[") { // IPv6
			name = scheme + "://[" + host + "]"
		}
		for _, name := range Named(name, nil, true, false) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
