package config

import (
	"maps"
	"net"
	"slices"
	"strings"
)

// Warnings returns Problems for settings that have no effect or only a part of it, and for settings
// that suit some platforms only. A server starts nevertheless.
func (c *Config) Warnings() error {
	var ps Problems
	received := false // by any queue
	for i := range c.Queues {
		q := &c.Queues[i]
		o := &q.Order
		received = received || q.Kind == "order" && (o.Notice != nil || o.Channel.Kind != "" || o.Channel.Account != "")
		if at := "queues." + q.Name + ".notice"; o.Notice != nil && c.Notices.Listen == "" { // another program may hand them in
			ps = append(ps, c.places[at].problem(at, "notices.listen is not set: the gateway can send no notices, and only those that another program hands in are read"))
		}
		if at := "queues." + q.Name + ".query"; q.Kind == "poll" && o.Query.URL != "" && o.About == "" && !namesRefund(&o.Query) {
			ps = append(ps, c.places[at].problem(at, "names no refund: if an order has two, the answer about one decides the other. Want {ref_no} or a {vars.NAME} in its url, headers or body, or about"))
		}
		if at := "queues." + q.Name + ".reconcile.fund_flow"; o.Reconcile != nil && o.Reconcile.FundFlow && o.Channel.SubMchID != "" {
			ps = append(ps, c.places[at].problem(at, "bellman downloads no fund flow bill of a service provider's sub-merchant: orders of this channel are left out"))
		}
	}
	if c.Notices.Listen != "" && !received {
		ps = append(ps, c.places["notices.listen"].problem("notices.listen", "no queue receives notices: want a queue of orders with a built-in channel, or with notice"))
	}
	return append(ps, c.apart()...).Err()
}

// namesRefund reports whether a request may name one of several refunds of an order.
func namesRefund(r *Request) bool {
	texts := append(slices.Collect(maps.Values(r.Headers)), r.URL, r.Body)
	return slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "{ref_no}") || strings.Contains(s, "{vars.") })
}

// CheckPrograms returns Problems for channels that are Go code, which only a program with
// server.Options.Channels has.
func (c *Config) CheckPrograms() error {
	var ps Problems
	for _, q := range c.Queues {
		if q.Order.Channel.Kind == "program" {
			at := "queues." + q.Name + ".channel.kind"
			ps = append(ps, c.places[at].problem(at, "program is a channel in Go: bellman serve refuses the queue, and a program with server.Options.Channels runs it"))
		}
	}
	return ps.Err()
}

// apart warns about a queue of kind notify with a concurrency or rate of its own beside another
// such queue in a cluster. The two queues may send to one merchant from different nodes, and each
// then applies the merchant's limits by itself
// (docs/decisions/common-parts-over-parts-of-each-queue.md).
func (c *Config) apart() Problems {
	if at, err := ParseStore(c.Store); err != nil || at.Kind == Pebble {
		return nil // one process has all limits
	}
	names, limited := 0, ""
	for i := range c.Queues {
		q := &c.Queues[i]
		if q.Kind != "notify" {
			continue
		}
		names++
		switch at := "queues." + q.Name; {
		case limited != "":
		case q.Concurrency > 0:
			limited = at + ".concurrency"
		case q.Rate > 0:
			limited = at + ".rate"
		}
	}
	if limited == "" || names < 2 {
		return nil
	}
	return Problems{c.places[limited].problem(limited, "a merchant that this queue and another of kind notify serve may get its per_endpoint limits once for each of them, from several nodes: let one queue serve such a merchant, or leave the queues' own concurrency and rate out")}
}

// sameListener reports whether two addresses cannot be listened on at once.
func sameListener(a, b string) bool {
	host, port, err := net.SplitHostPort(a)
	other, same, wrong := net.SplitHostPort(b)
	if err != nil || wrong != nil || port != same || port == "0" {
		return false
	}
	every := func(host string) bool { ip := net.ParseIP(host); return host == "" || ip != nil && ip.IsUnspecified() }
	return host == other || every(host) || every(other)
}
