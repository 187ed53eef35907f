package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/bellmanhq/bellman/internal/brokers/source"
)

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
