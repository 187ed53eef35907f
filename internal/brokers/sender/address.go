package sender

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/bellmanhq/bellman"
)

// The schemes of addresses, which are the kinds of brokers.
const (
	AMQP = "amqp"
	NATS = "nats"
)

// An Address is where a message is published: on a connection that the
// configuration names, never at an address that a task brings.
type Address struct {
	Kind       string // AMQP or NATS
	Connection string
	Exchange   string // of AMQP; empty: the default one, which routes to the queue that Key names
	Key        string // the routing key, or the subject of NATS
}

// Is reports whether a URL is one of a broker, well formed or not.
func Is(text string) bool {
	scheme, _, found := strings.Cut(text, "://")
	return found && (strings.EqualFold(scheme, AMQP) || strings.EqualFold(scheme, NATS))
}

// maxKey is how long an exchange, a routing key or a subject may be, in bytes.
const maxKey = 255

// Parse reads amqp://CONNECTION/EXCHANGE/ROUTINGKEY or nats://CONNECTION/SUBJECT.
// The error says what is wrong, and what would be right.
func Parse(text string) (Address, error) {
	if len(text) > bellman.MaxURL {
		return Address{}, fmt.Errorf("longer than %d bytes", bellman.MaxURL)
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return Address{}, errors.New("not a URL: want amqp://CONNECTION/EXCHANGE/ROUTINGKEY or nats://CONNECTION/SUBJECT")
	case u.Scheme != AMQP && u.Scheme != NATS:
		return Address{}, errors.New("want amqp://CONNECTION/EXCHANGE/ROUTINGKEY or nats://CONNECTION/SUBJECT")
	case u.User != nil || u.Port() != "" || strings.ContainsAny(u.Host, ":[]"):
		return Address{}, fmt.Errorf("names an address: want the name of a connection of the configuration, such as %s://main/…", u.Scheme)
	case u.Host == "":
		return Address{}, fmt.Errorf("names no connection: want %s://CONNECTION/…", u.Scheme)
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(text, "#"):
		return Address{}, errors.New("has a query or a fragment (? or #): write them as %3F and %23")
	}
	a := Address{Kind: u.Scheme, Connection: u.Host}
	path := strings.TrimPrefix(u.EscapedPath(), "/")
	if a.Kind == NATS {
		a.Key, err = url.PathUnescape(path)
		if err != nil || !isSubject(a.Key) {
			return Address{}, errors.New("names no subject: want nats://CONNECTION/SUBJECT, the subject as words with dots between, without * and >")
		}
		if isServers(a.Key) {
			return Address{}, errors.New("its subject is the server's own ($… or _INBOX): want one of a stream")
		}
		return a, nil
	}
	exchange, key, both := strings.Cut(path, "/")
	if !both {
		return Address{}, errors.New("names no routing key: want amqp://CONNECTION/EXCHANGE/ROUTINGKEY, or amqp://CONNECTION//QUEUE")
	}
	if a.Exchange, err = url.PathUnescape(exchange); err == nil {
		a.Key, err = url.PathUnescape(key)
	}
	switch {
	case err != nil:
		return Address{}, errors.New("its exchange or routing key cannot be read: want what is no letter or digit as %XX")
	case a.Exchange == "" && a.Key == "":
		return Address{}, errors.New("names neither an exchange nor a queue: want amqp://CONNECTION/EXCHANGE/ROUTINGKEY, or amqp://CONNECTION//QUEUE")
	case len(a.Exchange) > maxKey || len(a.Key) > maxKey:
		return Address{}, fmt.Errorf("its exchange or routing key is longer than %d bytes", maxKey)
	}
	return a, nil
}

// isSubject reports whether a message can be published to a subject of NATS.
func isSubject(s string) bool {
	if len(s) > maxKey {
		return false
	}
	for part := range strings.SplitSeq(s, ".") {
		if part == "" || part == "*" || part == ">" {
			return false
		}
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

// isServers reports whether a subject is one by which a server is told what to do, such
// as $JS.API.STREAM.DELETE.ORDERS, or by which it answers somebody: a task must not
// get there.
func isServers(subject string) bool {
	first, _, _ := strings.Cut(subject, ".")
	return strings.HasPrefix(first, "$") || first == "_INBOX"
}

// Endpoint is what limits, breakers and fairness go by: the connection, in lower
// case as all endpoints are.
func (a Address) Endpoint() string { return a.Kind + "://" + strings.ToLower(a.Connection) }

// String is the address as a URL.
func (a Address) String() string {
	path := "/" + url.PathEscape(a.Key)
	if a.Kind == AMQP {
		path = "/" + url.PathEscape(a.Exchange) + path
	}
	return a.Kind + "://" + a.Connection + path
}
