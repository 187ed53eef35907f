package gateway

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/field"
	"github.com/bellmanhq/bellman/order"
)

// A Request is the template of a request.
type Request struct {
	Method string // default GET for a query, POST otherwise
	URL    string // placeholders in its path and in the values of its query

	// Headers by name; placeholders in the values. A value that is env:NAME or
	// file:PATH is read from there, once, and has no placeholders. Default User-Agent: bellman, and
	// a Content-Type as the body looks: application/json for an object or list,
	// application/xml, application/x-www-form-urlencoded for name=value, or
	// text/plain.
	Headers map[string]string

	Body string // placeholders if it is JSON, a form or XML; a GET has no body
}

var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// A request is a compiled Request.
type request struct {
	method  string
	address *address
	header  []header // ordered by name
	body    template
}

type header struct {
	name  string // in canonical form
	value template
}

// Check returns all mistakes of a template. Each error names the part that is wrong, such as "url:
// …". method is the default method.
func (from Request) Check(method string) []error {
	_, wrong := compile(from, method)
	return wrong
}

// compile parses a template. The errors name every part that is wrong.
func compile(from Request, method string) (*request, []error) {
	r := &request{method: cmp.Or(from.Method, method)}
	var wrong []error
	if !slices.Contains(methods, r.method) {
		wrong = append(wrong, fmt.Errorf("method: want one of %s", strings.Join(methods, ", ")))
	}
	if r.method == http.MethodGet && from.Body != "" {
		wrong = append(wrong, errors.New("body: a GET has none: put what it says into the URL's query, or want POST"))
	}
	var err error
	if r.address, err = compileAddress(from.URL); err != nil {
		wrong = append(wrong, fmt.Errorf("url: %w", err))
	}
	wrong = append(wrong, r.compileHeaders(from.Headers)...)
	if from.Body != "" && r.method != http.MethodGet {
		if err := r.compileBody(from.Body); err != nil {
			wrong = append(wrong, fmt.Errorf("body: %w", err))
		}
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	if _, given := r.find("User-Agent"); !given {
		r.header = append(r.header, header{"User-Agent", template{{text: "bellman"}}})
	}
	slices.SortFunc(r.header, func(a, b header) int { return cmp.Compare(a.name, b.name) })
	if !slices.ContainsFunc(r.names(), func(name string) bool { return name != "merchant_no" }) {
		return nil, []error{errors.New("names no order: want {order_no} or a {vars.NAME} in its url, headers or body; {ref_no} of a refund or transfer")}
	}
	return r, nil
}

// headerValue compiles the value of a header, or reads it from the environment or a file.
func headerValue(text string) (template, error) {
	if strings.HasPrefix(text, "env:") || strings.HasPrefix(text, "file:") {
		secret, err := sign.NewSecret(text).Resolve()
		return template{{text: string(secret)}}, err
	}
	t, err := scan(text)
	if err == nil {
		err = t.strict()
	}
	return t, err
}

func (r *request) compileHeaders(headers map[string]string) (wrong []error) {
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		canonical := http.CanonicalHeaderKey(name)
		problem := field.Reserved(canonical)
		switch _, twice := r.find(canonical); {
		case !field.IsName(name):
			problem = "not a header's name: want letters, digits and hyphens"
		case twice:
			problem = "stands there twice, in other letters"
		}
		if problem != "" {
			wrong = append(wrong, fmt.Errorf("headers.%.40s: %s", name, problem))
			continue
		}
		t, err := headerValue(headers[name])
		if err == nil && !field.IsValue(t.with(func(part) string { return "x" })) {
			err = errors.New("its value has a control character, or white space at an end")
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("headers.%s: %w", name, err))
			continue
		}
		for i := range t {
			t[i].put = inHeader
		}
		r.header = append(r.header, header{canonical, t})
	}
	return wrong
}

func inHeader(value string) (text, problem string) {
	if !field.IsValue(value) {
		return "", "has a control character, or white space at an end, which a header cannot hold"
	}
	return value, ""
}

// find returns the template of a header's value, and whether the request has the header.
func (r *request) find(name string) (template, bool) {
	i := slices.IndexFunc(r.header, func(h header) bool { return h.name == name })
	if i < 0 {
		return nil, false
	}
	return r.header[i].value, true
}

// names returns the names of all placeholders.
func (r *request) names() []string {
	var names []string
	templates := append([]template{r.address.query, r.body}, r.address.path...)
	for _, h := range r.header {
		templates = append(templates, h.value)
	}
	for _, t := range templates {
		for _, p := range t {
			if p.name != "" && !slices.Contains(names, p.name) {
				names = append(names, p.name)
			}
		}
	}
	return names
}

// sample returns an order with a value for every placeholder.
func (r *request) sample() *order.Order {
	o := &order.Order{OrderNo: "1", MerchantNo: "1", RefNo: "1", Vars: map[string]string{}}
	for _, name := range r.names() {
		if v, ok := strings.CutPrefix(name, "vars."); ok {
			o.Vars[v] = "1"
		}
	}
	return o
}

// A filled is a request with the values of an order, before it is signed.
type filled struct {
	path   string // encoded
	query  string
	header http.Header
	body   []byte
}

// fill inserts the values of an order. It adds invalid values to bad; then the result must not be
// sent.
func (r *request) fill(o *order.Order, bad *bellman.Invalid) filled {
	f := filled{header: make(http.Header, len(r.header)+5)} // room for a signature
	f.path, f.query = r.address.fill(o, bad)
	for _, h := range r.header {
		value := h.value.expand(o, bad)
		if !field.IsValue(value) { // an empty value can leave white space at an end
			value = strings.Trim(value, " \t")
		}
		f.header[h.name] = []string{value}
	}
	f.body = []byte(r.body.expand(o, bad))
	return f
}

// request returns the HTTP request.
func (f *filled) request(ctx context.Context, r *request) (*http.Request, error) {
	var body io.Reader = http.NoBody
	if len(f.body) > 0 {
		body = bytes.NewReader(f.body) // a type whose length net/http knows
	}
	req, err := http.NewRequestWithContext(ctx, r.method, r.address.base, body)
	if err != nil {
		return nil, errors.New("url: cannot be requested")
	}
	if req.URL.Path, err = url.PathUnescape(f.path); err != nil {
		return nil, errors.New("url: its path is not encoded as it must be")
	}
	req.URL.RawPath, req.URL.RawQuery = f.path, f.query
	req.Header = f.header
	return req, nil
}
