// Package endpoints finds the endpoints that a host names. The API and the console pause and resume
// them.
package endpoints

import (
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/order/gateway"
)

// IsAccount reports whether a name is that of an account at a payment channel, such as
// wechatpay:1900000001, which is an endpoint of its own.
func IsAccount(name string) bool {
	kind, number, _ := strings.Cut(name, ":")
	switch kind {
	case "wechatpay", "alipay", gateway.UnionPay, gateway.Stripe, gateway.Antom:
	default:
		return false
	}
	_, err := strconv.ParseUint(number, 10, 16)
	return err != nil && number != "" && !strings.ContainsAny(number, "/: ") // else it is a port
}

// Named returns the known endpoints that a host, a host:port, an account, a queue or a full
// endpoint names. all says that known is complete; queue, that host is the name of a queue. If none
// is known, or other nodes may know more, it adds the queue, or the host's endpoints by HTTP and
// HTTPS: they can be paused before their first task. It does not check that the endpoints are
// possible.
func Named(host string, known []figures.Endpoint, all, queue bool) []string {
	if IsAccount(host) {
		return []string{host}
	}
	if scheme, _, is := strings.Cut(host, "://"); is {
		u, err := url.Parse(host)
		if err != nil || u.Host == "" || *u != (url.URL{Scheme: u.Scheme, Host: u.Host}) {
			return nil
		}
		if port := deliver.DefaultPort(strings.ToLower(scheme)); u.Port() == "" && port != "" {
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
