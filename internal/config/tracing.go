package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"

	"github.com/bellmanhq/bellman/deliver/sign"
)

// Tracing says where OpenTelemetry spans are sent.
type Tracing struct {
	Endpoint   string                 // base URL of an OTLP/HTTP collector; spans are posted to /v1/traces below it; empty: no spans
	Headers    map[string]sign.Secret // of each request, by name; a value may be a place
	Sample     float64                // the fraction of new traces that are recorded, 0 to 1
	Service    string                 // service.name; empty: OTEL_SERVICE_NAME, or bellman
	Attributes map[string]string      // of the resource
}

// Header looks up the values of the headers.
func (t *Tracing) Header() (http.Header, error) {
	header := make(http.Header, len(t.Headers))
	for name, secret := range t.Headers {
		value, err := secret.Resolve()
		if err == nil {
			err = headerValue(string(value))
		}
		if err != nil {
			return nil, fmt.Errorf("headers.%s: %w", name, err)
		}
		header.Set(name, string(value))
	}
	return header, nil
}

// collector reads the address of a collector.
func collector(to *string, s string) error {
	*to = ""
	if s == "" {
		return nil
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("is no address of a collector: want http://HOST:4318 or https://HOST, or empty for no traces") // the text may contain a password
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("has more than host and path: want what may not be seen in tracing.headers")
	case u.Port() == "4317":
		return errors.New("is of port 4317, which usually speaks gRPC: want OTLP over HTTP, usually of port 4318")
	}
	*to = strings.TrimSuffix(strings.TrimSuffix(s, "/"), "/v1/traces")
	return nil
}

// part reads a fraction.
func part(to *float64, s string) error {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || !(n >= 0 && n <= 1) {
		return fmt.Errorf("%.40q: want a number from 0 to 1, such as 0.1 for a tenth", s)
	}
	*to = n
	return nil
}

// oneLine reads a text without line breaks.
func oneLine(to *string, s string) error {
	*to = s
	if len(s) > 200 || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return errors.New("want one line of at most 200 letters")
	}
	return nil
}

// ofExporter are headers that the exporter sets itself.
var ofExporter = []string{"Content-Type", "Content-Encoding", "Content-Length", "Transfer-Encoding", "Host", "Connection", "User-Agent"}

// readTracingHeaders replaces the headers.
func readTracingHeaders(r *reader, path string, n ast.Node, c *Config) {
	c.Tracing.Headers = map[string]sign.Secret{}
	r.places[path] = r.place(n)
	for e, text := range r.texts(r.entries(n, path)) {
		switch {
		case !isToken(e.name):
			r.note(e.key, e.at, "is not a header's name: want letters, digits and hyphens")
		case slices.Contains(ofExporter, http.CanonicalHeaderKey(e.name)):
			r.note(e.key, e.at, "is set by bellman: leave it out")
		default:
			c.Tracing.Headers[e.name] = r.checked(e.value, e.at, text, headerValue)
		}
	}
}

func isToken(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// headerValue returns the mistake in a header's value, without showing it.
func headerValue(s string) error {
	if s == "" || s != strings.TrimSpace(s) || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return errors.New("is no header's value: want one line of ASCII without white space at its ends")
	}
	return nil
}

// readTracingAttributes replaces the attributes of the resource.
func readTracingAttributes(r *reader, path string, n ast.Node, c *Config) {
	c.Tracing.Attributes = map[string]string{}
	r.places[path] = r.place(n)
	for e, text := range r.texts(r.entries(n, path)) {
		var name, value string
		if err := cmp.Or(oneLine(&name, e.name), oneLine(&value, text)); err != nil || name == "" {
			r.note(e.key, e.at, cmp.Or(err, errors.New("has no name: want one such as deployment.environment.name")).Error())
			continue
		}
		c.Tracing.Attributes[name] = value
	}
}

// checkTracing reports tracing settings without an endpoint.
func (c *Config) checkTracing() (ps Problems) {
	if _, tried := c.places["tracing.endpoint"]; tried || c.Tracing.Endpoint != "" {
		return nil
	}
	const off = "has no meaning without tracing.endpoint: give that, or leave this out"
	for _, field := range []string{"tracing.headers", "tracing.sample", "tracing.service", "tracing.attributes"} {
		if at, given := c.places[field]; given {
			ps = append(ps, at.problem(field, off))
		}
	}
	for _, q := range c.Queues {
		if q.PropagateTrace {
			field := "queues." + q.Name + ".propagate_trace"
			ps = append(ps, c.places[field].problem(field, off))
		}
	}
	return ps
}
