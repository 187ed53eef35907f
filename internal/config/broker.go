package config

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/brokers"
	"github.com/bellmanhq/bellman/internal/nearest"
)

// The kinds of brokers that sources read from, by the names of their schemes.
const (
	RabbitMQ = "amqp" // and amqps
	NATS     = "nats" // and tls
)

// A Connection is a broker. Sources and tasks refer to it by its name.
type Connection struct {
	Name string
	URL  sign.Secret // amqp://USER:PASSWORD@HOST/VHOST or nats://…, or its place: env:NAME, file:PATH

	CA          string // a file of certificate authorities; empty: the system's
	Credentials string // NATS only: a file with a user's JWT and NKey seed, or only a seed; empty: none
}

// Resolve returns the kind of a broker, and its URL with the password: never show it. The error
// contains no password.
func (c Connection) Resolve() (kind, text string, err error) {
	b, err := c.URL.Resolve()
	if err != nil {
		return "", "", fmt.Errorf("url: %w", err)
	}
	if kind, err = broker(string(b)); err != nil {
		return "", "", fmt.Errorf("url: %w", err)
	}
	if kind == RabbitMQ && c.CA != "" {
		u, err := url.Parse(string(b))
		if err != nil {
			return "", "", fmt.Errorf("url: is no URL of a broker: %s", wantBroker)
		}
		query := u.Query()
		query.Set("cacertfile", c.CA) // as the AMQP URL specification says
		u.RawQuery = query.Encode()
		return kind, u.String(), nil
	}
	return kind, string(b), nil
}

// String returns the broker without password and parameters, or the place of its URL.
func (c Connection) String() string {
	if elsewhere(c.URL) {
		return c.URL.String()
	}
	_, text, err := c.Resolve()
	if err != nil {
		return c.Name
	}
	var shown []string
	for one := range strings.SplitSeq(text, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil {
			return c.Name
		}
		plain := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
		if _, has := u.User.Password(); has {
			plain.User = url.User(u.User.Username()) // a user without a password may be a token
		}
		shown = append(shown, plain.String())
	}
	return strings.Join(shown, ",")
}

// GoString is String.
func (c Connection) GoString() string { return c.String() }

// wantBroker lists the forms of the URLs of brokers.
var wantBroker = "want " + nearest.Either(ofKinds(func(k *brokers.Kind) (string, bool) { return k.Server, true }))

// ofKinds collects a text of each kind of broker for which it is wanted.
func ofKinds(text func(*brokers.Kind) (s string, wanted bool)) (all []string) {
	for i := range brokers.Kinds {
		if s, wanted := text(&brokers.Kinds[i]); wanted {
			all = append(all, s)
		}
	}
	return all
}

// broker returns the kind of broker for a URL. The error shows nothing of the URL, which may
// contain a password.
func broker(text string) (kind string, err error) {
	for one := range strings.SplitSeq(text, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || u.Hostname() == "" {
			return "", errors.New("is no URL of a broker: " + wantBroker + ", with what is no letter or digit in USER and PASSWORD as %XX")
		}
		if port := u.Port(); port != "" {
			if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
				return "", errors.New("its port is not a number from 1 to 65535")
			}
		}
		is := brokers.KindOfServer(u.Scheme)
		switch {
		case is == nil:
			return "", errors.New("is no URL of a broker: " + wantBroker)
		case kind != "" && (is.Scheme.Name != kind || !is.Several):
			several := ofKinds(func(k *brokers.Kind) (string, bool) { return k.Scheme.Name + "://", k.Several })
			return "", errors.New("names several servers: that is for " + nearest.Either(several) + " alone")
		}
		kind = is.Scheme.Name
	}
	return kind, nil
}

var connectionFields = []field[Connection]{
	{name: "url", read: readBroker},
	{name: "ca", set: func(c *Connection, s string) error { return path(&c.CA, s) }},
	{name: "credentials", set: func(c *Connection, s string) error { return path(&c.Credentials, s) }},
}

// path reads a path of a file.
func path(to *string, s string) error {
	*to = s
	if s == "" {
		return errors.New("want the path of a file")
	}
	return nil
}

// readQueueConnections reads the brokers that tasks of a queue may use.
func readQueueConnections(r *reader, path string, n ast.Node, q *Queue) {
	q.Connections = nil
	for e, text := range r.texts(r.elements(n, path)) {
		if err := name(new(string), text); err != nil {
			r.note(e.value, e.at, err.Error())
		}
		r.places[e.at] = r.place(e.value)
		q.Connections = append(q.Connections, text)
	}
}

func readBroker(r *reader, path string, n ast.Node, c *Connection) {
	if text, ok := r.scalar(n, path); ok {
		c.URL = r.checked(n, path, text, compiles(broker))
	}
}

// readConnections replaces the connections.
func readConnections(r *reader, path string, n ast.Node, c *Config) {
	c.Connections = nil
	for _, e := range r.entries(n, path) {
		var connection Connection
		if err := name(&connection.Name, e.name); err != nil {
			r.note(e.key, e.at, err.Error())
		}
		if fill(r, e.value, e.at, connectionFields, &connection) && connection.URL == (sign.Secret{}) {
			r.note(e.key, e.at+".url", "is missing: "+wantBroker+", env:NAME or file:PATH")
		}
		c.Connections = append(c.Connections, connection)
	}
}

// checkBrokers checks that the connections and queues that queues and sources name exist.
func (c *Config) checkBrokers() (ps Problems) {
	kinds := map[string]string{} // empty: only the server can tell
	for _, connection := range c.Connections {
		kinds[connection.Name] = ""
		if !elsewhere(connection.URL) {
			kinds[connection.Name], _, _ = connection.Resolve()
		}
	}
	unknown := func(connection string) string { // the mistake in the name; empty: none
		switch _, known := kinds[connection]; {
		case known:
			return ""
		case len(kinds) == 0:
			return fmt.Sprintf("%q is no connection: there are none: want connections: {%s: {url: …}}", connection, connection)
		}
		return fmt.Sprintf("%q is no connection: want %s", connection, nearest.Either(slices.Sorted(maps.Keys(kinds))))
	}
	note := func(at, text string) { ps = append(ps, c.places[at].problem(at, text)) }
	for _, connection := range c.Connections {
		for _, field := range connection.unused(kinds[connection.Name]) {
			users := ofKinds(func(k *brokers.Kind) (string, bool) { return k.Name, slices.Contains(k.Fields, field) })
			note("connections."+connection.Name+"."+field, fmt.Sprintf("is for %s: leave it out for %s", nearest.Either(users), brokers.KindOf(kinds[connection.Name]).Name))
		}
	}
	queues := map[string]bool{}
	for _, q := range c.Queues {
		queues[q.Name] = true
		at := "queues." + q.Name
		for i, connection := range q.Connections {
			if wrong := unknown(connection); wrong != "" {
				note(fmt.Sprintf("%s.connections[%d]", at, i), wrong)
			}
		}
		to, err := brokers.Schemes.Parse(q.URL)
		if err != nil { // a web server's URL, or a mistake that is reported already
			continue
		}
		kind, wrong := kinds[to.Connection], unknown(to.Connection)
		switch {
		case wrong != "":
			note(at+".url", wrong)
		case kind != "" && kind != to.Scheme.Name:
			note(at+".url", fmt.Sprintf("%q is of %s: want %s://%s/…", to.Connection, brokers.KindOf(kind).Name, kind, to.Connection))
		}
	}
	for i, s := range c.Sources {
		at := fmt.Sprintf("sources[%d]", i)
		note := func(field, text string) { ps = append(ps, c.problem(at+field, text, c.places[at])) }
		kind, wrong := kinds[s.Connection], unknown(s.Connection)
		switch {
		case wrong != "":
			note(".connection", wrong)
		case kind != "" && kind != s.Kind():
			note(".connection", fmt.Sprintf("%q is of %s, and the source is of %s", s.Connection, brokers.KindOf(kind).Name, brokers.KindOf(s.Kind()).Name))
		}
		if s.Into != "" && !queues[s.Into] {
			note(".into", fmt.Sprintf("%q is no queue: want %s", s.Into, nearest.Either(slices.Sorted(maps.Keys(queues)))))
		}
	}
	return ps
}

// options are the fields of a connection that not every kind of broker uses.
func (c *Connection) options() map[string]*string {
	return map[string]*string{"ca": &c.CA, "credentials": &c.Credentials}
}

// unused returns the options that are set and that a kind of broker does not use. kind is empty if
// it is not known.
func (c *Connection) unused(kind string) (names []string) {
	k := brokers.KindOf(kind)
	if k == nil {
		return nil
	}
	for name, value := range c.options() {
		if *value != "" && !slices.Contains(k.Fields, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
