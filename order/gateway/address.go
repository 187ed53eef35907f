package gateway

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
)

// An address is the template of a URL.
type address struct {
	base  string // scheme and host: http://HOST:PORT
	path  []template
	query template
}

// compileAddress parses a URL with placeholders in its path and query.
func compileAddress(text string) (*address, error) {
	t, err := scan(text)
	if err == nil {
		err = t.strict()
	}
	if err != nil {
		return nil, err
	}
	// Scheme and host must not contain placeholders.
	var head string
	if len(t) > 0 {
		head = t[0].text
	}
	_, host, ok := strings.Cut(head, "://")
	if !ok {
		return nil, errors.New("want http://HOST/… or https://HOST/…")
	}
	end := strings.IndexAny(host, "/?#")
	switch {
	case end >= 0:
		end += len(head) - len(host)
	case len(t) == 1:
		end = len(head)
	default:
		return nil, errors.New("a placeholder may stand in the path and in the query, not in the host")
	}
	u, err := url.Parse(head[:end])
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return nil, errors.New("want http://HOST/… or https://HOST/…")
	case u.User != nil:
		return nil, errors.New("has a user or password, which would be sent to nobody: want a header Authorization")
	}
	a := &address{base: head[:end]}
	t[0].text = head[end:]
	if err := a.split(t); err != nil {
		return nil, err
	}
	return a, nil
}

// split divides the rest of the URL into path and query.
func (a *address) split(t template) error {
	var path, query template
	inQuery := false
	for _, p := range t {
		if strings.Contains(p.text, "#") {
			return errors.New("has a fragment (#…), which is never sent")
		}
		if p.name == "" && !inQuery {
			var before string
			before, p.text, inQuery = strings.Cut(p.text, "?")
			path = append(path, part{text: before})
			if !inQuery {
				continue
			}
		}
		if inQuery {
			query = append(query, p)
		} else {
			p.put = func(value string) (string, string) { return escape(value), "" }
			path = append(path, p)
		}
	}
	segments := []template{nil}
	for _, p := range path {
		if p.name != "" {
			segments[len(segments)-1] = append(segments[len(segments)-1], p)
			continue
		}
		for i, text := range strings.Split(p.text, "/") {
			if i > 0 {
				segments = append(segments, nil)
			}
			clean, err := normal(text, pathSigns)
			if err != nil {
				return err
			}
			segments[len(segments)-1] = append(segments[len(segments)-1], part{text: clean})
		}
	}
	a.path, a.query = segments, query
	return compileForm(query)
}

// fill returns path and query for an order, both encoded.
func (a *address) fill(o *order.Order, bad *bellman.Invalid) (path, query string) {
	var b strings.Builder
	for i, t := range a.path {
		if i > 0 {
			b.WriteByte('/')
		}
		noted := len(bad.Fields)
		segment := t.expand(o, bad)
		b.WriteString(segment)
		if t.fixed() || len(bad.Fields) > noted {
			continue
		}
		if problem := misleads(segment); problem != "" {
			for _, p := range t {
				if p.name != "" {
					note(bad, p.name, problem)
				}
			}
		}
	}
	return b.String(), a.query.expand(o, bad)
}

// misleads returns why a path segment would be read as something else; empty: it would not. Dots
// change the path even when they are encoded, and so do encoded slashes before dots, because some
// servers decode before they resolve the path.
func misleads(segment string) string {
	decoded, err := url.PathUnescape(segment)
	if err != nil {
		return "makes no path" // cannot happen: a segment is normal
	}
	if decoded == "" {
		return "is empty, and would leave nothing between two slashes of the URL"
	}
	for _, step := range strings.FieldsFunc(decoded, func(r rune) bool { return r == '/' || r == '\\' }) {
		if step == "." || step == ".." {
			return `leads elsewhere in the URL's path: want no step that is "." or ".."`
		}
	}
	return ""
}

// compileForm parses the parameters of a query or a form.
func compileForm(t template) error {
	inValue := false
	for i := range t {
		p := &t[i]
		if p.name != "" {
			if !inValue {
				return fmt.Errorf("{%s} stands in the name of a parameter: want it in a value, as in order={order_no}", p.name)
			}
			p.put = func(value string) (string, string) { return escape(value), "" }
			continue
		}
		last := p.text[strings.LastIndexByte(p.text, '&')+1:]
		inValue = strings.Contains(last, "=") || inValue && len(last) == len(p.text)
		var err error
		if p.text, err = normal(p.text, querySigns); err != nil {
			return err
		}
	}
	return nil
}

// Characters that RFC 3986 allows unencoded, beside letters, digits and -._~.
const (
	pathSigns  = "!$&'()*+,;=:@"
	querySigns = pathSigns + "/?"
)

const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

// escape encodes a value for a path, a query or a form: all but letters, digits
// and -._~.
func escape(value string) string {
	b := make([]byte, 0, len(value)+16)
	for i := range len(value) {
		b = encode(b, value[i], "")
	}
	return string(b)
}

// normal encodes the literal text of a template where that is needed.
func normal(text, signs string) (string, error) {
	b := make([]byte, 0, len(text))
	for i := range len(text) {
		if text[i] != '%' {
			b = encode(b, text[i], signs)
			continue
		}
		if _, err := url.PathUnescape(text[i:min(i+3, len(text))]); err != nil {
			return "", errors.New("has a % that encodes nothing: want two hex digits behind it, or %25")
		}
		b = append(b, '%') // the digits follow
	}
	return string(b), nil
}

func encode(b []byte, c byte, signs string) []byte {
	const hex = "0123456789ABCDEF"
	if strings.IndexByte(unreserved, c) >= 0 || strings.IndexByte(signs, c) >= 0 {
		return append(b, c)
	}
	return append(b, '%', hex[c>>4], hex[c&15])
}
