package config

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/brokers"
	"github.com/bellmanhq/bellman/internal/brokers/source"
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

// A Source delivers messages that become tasks.
type Source struct {
	Connection string
	Into       string            // the queue of tasks that name no queue
	Map        map[string]string // expressions by field of a task; nil: the body is a task
	DeadLetter string            // an exchange or subject for messages that cannot become a task
	AsItIs     bool              // nothing is declared: everything must exist
	MakeDead   bool              // with AsItIs: the place of dead letters is declared nevertheless
	Prefetch   int               // most messages without acknowledgement; 0: the source's default

	Queue string    // RabbitMQ only
	Bind  []Binding // exchanges that route to Queue

	Stream   string   // NATS JetStream only
	Durable  string   // the consumer's name
	Subjects []string // of the stream, if it is created, and of the consumer
}

// A Binding makes an exchange of RabbitMQ route to a queue.
type Binding struct {
	Exchange, Key string
}

// Name returns the name of the source for people.
func (s *Source) Name() string {
	if s.Stream != "" {
		return s.Connection + "/" + s.Stream + "/" + s.Durable
	}
	return s.Connection + "/" + s.Queue
}

// Kind returns the kind of the source's broker.
func (s *Source) Kind() string {
	if s.Stream != "" {
		return NATS
	}
	return RabbitMQ
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

var sourceFields = []field[Source]{
	{name: "connection", set: func(s *Source, t string) error { return name(&s.Connection, t) }},
	{name: "into", set: func(s *Source, t string) error { return name(&s.Into, t) }},
	{name: "map", read: readMap},
	{name: "dead_letter", set: func(s *Source, t string) error { return label(&s.DeadLetter, t) }},
	{name: "declare", set: func(s *Source, t string) error {
		s.AsItIs, s.MakeDead = t != "true", t == "dead_letter"
		if s.AsItIs && !s.MakeDead && t != "false" {
			return fmt.Errorf("%.40q: want true, false, or dead_letter", t)
		}
		return nil
	}},
	{name: "prefetch", set: func(s *Source, t string) error { return number(&s.Prefetch, t, 1, 20_000) }},
	{name: "queue", set: func(s *Source, t string) error { return label(&s.Queue, t) }},
	{name: "bind", read: readBind},
	{name: "stream", set: func(s *Source, t string) error { return word(&s.Stream, t) }},
	{name: "durable", set: func(s *Source, t string) error { return word(&s.Durable, t) }},
	{name: "subjects", read: readSubjects},
}

// label reads a name of RabbitMQ.
func label(to *string, s string) error {
	*to = s
	if s == "" || len(s) > 255 {
		return errors.New("want a name of 1 to 255 bytes")
	}
	return nil
}

var words = regexp.MustCompile(`^[^\s.*>/\\\x00-\x1f]{1,200}$`)

// word reads the name of a stream or consumer of NATS.
func word(to *string, s string) error {
	*to = s
	if !words.MatchString(s) {
		return fmt.Errorf("%.60q is no name of NATS's: want no spaces, dots, slashes, * and >", s)
	}
	return nil
}

var subjects = regexp.MustCompile(`^[^\s.\x00-\x1f]+(\.[^\s.\x00-\x1f]+)*$`)

// subject returns the mistake in a subject of NATS.
func subject(s string, wildcards bool) error {
	bad := !subjects.MatchString(s)
	parts := strings.Split(s, ".")
	for i, part := range parts {
		wild := part == "*" || part == ">" && i == len(parts)-1
		bad = bad || strings.ContainsAny(part, "*>") && !(wild && wildcards)
	}
	switch {
	case bad && wildcards:
		return fmt.Errorf("%.60q is no subject: want words with dots between, such as orders.paid or orders.>", s)
	case bad:
		return fmt.Errorf("%.60q is no subject: want words with dots between, without * and >", s)
	}
	return nil
}

func readMap(r *reader, path string, n ast.Node, s *Source) {
	s.Map = map[string]string{}
	entries := r.entries(n, path)
	if len(entries) == 0 {
		r.note(n, path, `is empty: want fields, such as {key: "json.event_id", url: "json.notify_url", json: "json"}, or leave it out: then a body is a task`)
	}
	for e, text := range r.texts(entries) {
		if err := source.CheckField(e.name, text); errors.Is(err, source.ErrNoField) {
			r.note(e.key, e.at, err.Error())
		} else if err != nil {
			r.note(e.value, e.at, err.Error())
		}
		s.Map[e.name] = text
	}
}

var bindFields = []field[Binding]{
	{name: "exchange", set: func(b *Binding, t string) error { return label(&b.Exchange, t) }},
	{name: "key", set: func(b *Binding, t string) error { b.Key = t; return nil }},
}

func readBind(r *reader, path string, n ast.Node, s *Source) {
	for _, e := range r.elements(n, path) {
		var b Binding
		if fill(r, e.value, e.at, bindFields, &b) && b.Exchange == "" {
			r.note(e.value, e.at+".exchange", "is missing: want the exchange that the queue gets its messages from")
		}
		s.Bind = append(s.Bind, b)
	}
}

func readSubjects(r *reader, path string, n ast.Node, s *Source) {
	for e, text := range r.texts(r.elements(n, path)) {
		if err := subject(text, true); err != nil {
			r.note(e.value, e.at, err.Error())
		}
		s.Subjects = append(s.Subjects, text)
	}
}

// readSources replaces the sources. checkBrokers checks later that their connections and queues
// exist: they may come from elsewhere.
func readSources(r *reader, path string, n ast.Node, c *Config) {
	c.Sources = nil
	taken := map[string]bool{}
	for _, e := range r.elements(n, path) {
		var s Source
		noted := len(r.problems)
		if fill(r, e.value, e.at, sourceFields, &s) {
			s.check(func(field, text string) { r.note(e.value, e.at+field, text) })
		}
		r.places[e.at] = r.place(e.value)
		if len(r.problems) == noted && taken[s.Name()] {
			r.note(e.value, e.at, fmt.Sprintf("%q is taken from by another source: want one for each", s.Name()))
		}
		taken[s.Name()] = true
		switch {
		case s.DeadLetter != "":
		case s.Stream != "":
			s.DeadLetter = "dead." + s.Stream + "." + s.Durable
		default:
			s.DeadLetter = s.Queue + ".dead"
		}
		c.Sources = append(c.Sources, s)
	}
}

// check notes the mistakes that concern several fields of a source.
func (s *Source) check(note func(field, text string)) {
	if s.Connection == "" {
		note(".connection", "is missing: want the name of one of the connections")
	}
	if s.Into == "" && s.Map["queue"] == "" {
		note(".into", "is missing: want the queue that the tasks go into")
	}
	switch {
	case s.Queue == "" && s.Stream == "":
		note("", "names nothing to take from: want queue, of RabbitMQ, or stream and durable, of NATS")
	case s.Queue != "" && s.Stream != "":
		note(".stream", "does not go with queue: want queue, of RabbitMQ, or stream and durable, of NATS")
	case s.Queue != "":
		if s.Durable != "" {
			note(".durable", "is for a stream of NATS: leave it out")
		}
		if s.Subjects != nil {
			note(".subjects", "are for a stream of NATS: want bind for a queue of RabbitMQ")
		}
		if s.AsItIs && s.Bind != nil {
			note(".bind", "declares something of the queue, and declare is not true: leave one of them out")
		}
		if s.DeadLetter == s.Queue {
			note(".dead_letter", "is the queue itself: want another name")
		}
	default:
		if s.Durable == "" {
			note(".durable", "is missing: want the name of the consumer, which remembers what was taken")
		}
		if s.Bind != nil {
			note(".bind", "is for a queue of RabbitMQ: want subjects for a stream of NATS")
		}
		if err := subject(s.DeadLetter, false); s.DeadLetter != "" && err != nil {
			note(".dead_letter", err.Error())
		}
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

// size reads a number of bytes; low and high are whole MiB.
func size(to *int64, s string, low, high int64) error {
	for unit, bytes := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		count, is := strings.CutSuffix(s, unit)
		if n, err := strconv.ParseInt(count, 10, 32); is && err == nil && n*bytes >= low && n*bytes <= high {
			*to = n * bytes
			return nil
		}
	}
	return fmt.Errorf("%.40q: want a size from %dMiB to %dGiB, such as 512MiB or 2GiB", s, low>>20, high>>30)
}
