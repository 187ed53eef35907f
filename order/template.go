package order

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order/internal/wire"
	"github.com/bellmanhq/bellman/rule"
)

// A Template is the form of a notification that a platform chooses itself.
type Template struct {
	Method string  // empty: POST, or GET for query
	Format string  // json, form, query or xml; empty: json
	Root   string  // of xml: the name of the element around the fields; empty: xml
	Fields []Field // in the order in which they are written
}

// A Field of a template. Value is a [rule.Part] over what bellman's own notification says. A field
// is left out if its value is null, or names something that the notification lacks.
type Field struct{ Name, Value string }

// A Shape is a Template whose expressions are compiled. It is safe for concurrent use.
type Shape struct {
	method, format, root string
	names                []string
	parts                []*rule.Part
}

// Formats lists the formats of templates.
func Formats() []string { return []string{"json", "form", "query", "xml"} }

// A TemplateError says which part of a template is wrong: method, format, root, fields or
// fields.NAME.
type TemplateError struct{ Field, Problem string }

func (e *TemplateError) Error() string { return e.Field + ": " + e.Problem }

// Compile returns the Shape of a template. An error is a [*TemplateError].
func (t *Template) Compile() (*Shape, error) {
	s := &Shape{method: t.Method, format: t.Format, root: t.Root}
	s.format = cmp.Or(s.format, "json")
	if s.method == "" {
		s.method = http.MethodPost
		if s.format == "query" {
			s.method = http.MethodGet
		}
	}
	s.root = cmp.Or(s.root, "xml")
	switch {
	case !slices.Contains(Formats(), s.format):
		return nil, &TemplateError{"format", fmt.Sprintf("%.40q: want one of %s", s.format, strings.Join(Formats(), ", "))}
	case s.format == "query" && s.method != http.MethodGet:
		return nil, &TemplateError{"method", "the fields of a query are sent by GET: leave it out, or want the format form"}
	case s.format != "query" && s.method == http.MethodGet:
		return nil, &TemplateError{"method", "a GET has no body: want the format query, or POST"}
	case !slices.Contains([]string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch}, s.method):
		return nil, &TemplateError{"method", fmt.Sprintf("%.20q: want POST, PUT, PATCH or, with the format query, GET", s.method)}
	case t.Root != "" && s.format != "xml":
		return nil, &TemplateError{"root", "is for the format xml alone: leave it out"}
	case !isXMLName(s.root):
		return nil, &TemplateError{"root", fmt.Sprintf("%.40q is no name of an element: want letters, digits, _ and -", s.root)}
	case len(t.Fields) == 0:
		return nil, &TemplateError{"fields", "is missing: want at least one, such as {orderNo: order_no}"}
	}
	for _, f := range t.Fields {
		at := "fields." + f.Name
		switch {
		case f.Name == "":
			return nil, &TemplateError{"fields", "one has no name"}
		case slices.Contains(s.names, f.Name):
			return nil, &TemplateError{at, "is there twice"}
		case s.format == "xml" && !isXMLName(f.Name):
			return nil, &TemplateError{at, "is no name of an element: want letters, digits, _ and -"}
		}
		part, err := rule.CompilePart(f.Value)
		if err != nil {
			return nil, &TemplateError{at, strings.TrimPrefix(err.Error(), "rule: ")}
		}
		s.names, s.parts = append(s.names, f.Name), append(s.parts, part)
	}
	return s, nil
}

// isXMLName reports whether a text is a simple name of an element.
func isXMLName(name string) bool {
	for i, r := range name {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r == '_'
		if !letter && (i == 0 || r != '-' && r != '.' && (r < '0' || r > '9')) {
			return false
		}
	}
	return name != ""
}

// A written field has its value as JSON and as text.
type written struct {
	name string
	json []byte
	text string
}

// write puts the shape's method, header and body into a task, whose body is bellman's own
// notification. If an error says that fields cannot be written, the others are.
func (s *Shape) write(task *bellman.Task, n *News) error {
	created := ""
	if !n.Order.Created.IsZero() {
		created = wire.When(n.Order.Created)
	}
	telling := rule.Tell(&rule.Notification{
		JSON: task.Body, Event: task.Event, ChannelOrderNo: n.Order.OrderNo, Created: created, Vars: n.Order.Vars,
		OrderAmount: n.Order.Amount, OrderCurrency: n.Order.Currency,
	})
	var fields []written
	var failed error
	for i, part := range s.parts {
		value, err := part.Evaluate(telling)
		switch {
		case errors.Is(err, rule.ErrMissing) || err == nil && value == nil:
			continue
		case err != nil:
			failed = errors.Join(failed, fmt.Errorf("template.fields.%s: %w", s.names[i], err))
			continue
		}
		f := written{name: s.names[i]}
		if f.json, err = wire.Marshal(value); err != nil {
			failed = errors.Join(failed, fmt.Errorf("template.fields.%s: %w", f.name, err))
			continue
		}
		if text, is := value.(string); is {
			f.text = text
		} else {
			f.text = string(f.json)
		}
		fields = append(fields, f)
	}
	task.Method = s.method
	var media string
	task.Body, media = s.encode(fields)
	task.Header = map[string]string{"Content-Type": media}
	return failed
}

// encode writes fields in the shape's format.
func (s *Shape) encode(fields []written) (body []byte, media string) {
	var b bytes.Buffer
	switch s.format {
	case "form", "query": // a query is a GET with a form: deliver moves it into the URL
		for i, f := range fields {
			if i > 0 {
				b.WriteByte('&')
			}
			b.WriteString(url.QueryEscape(f.name) + "=" + url.QueryEscape(f.text))
		}
		return b.Bytes(), "application/x-www-form-urlencoded; charset=utf-8"
	case "xml":
		b.WriteString("<" + s.root + ">")
		for _, f := range fields {
			b.WriteString("<" + f.name + ">")
			xml.EscapeText(&b, []byte(f.text)) // a Buffer takes everything
			b.WriteString("</" + f.name + ">")
		}
		b.WriteString("</" + s.root + ">")
		return b.Bytes(), "text/xml; charset=utf-8"
	}
	b.WriteByte('{')
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := json.Marshal(f.name) // a text always can
		b.Write(name)
		b.WriteByte(':')
		b.Write(f.json)
	}
	b.WriteByte('}')
	return b.Bytes(), "application/json"
}
