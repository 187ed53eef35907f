package main

import (
	_ "embed"
	"slices"
	"strings"
	"text/template"
)

//go:embed java.tmpl
var source string

// java has the templates enum, record and operations.
var java = template.Must(template.New("").Funcs(template.FuncMap{
	"upper": strings.ToUpper,
	"doc":   javadoc,
	"optional": func(fields []field) []field {
		return slices.DeleteFunc(slices.Clone(fields), func(f field) bool { return f.Required })
	},
	"required": func(fields []field) []field {
		return slices.DeleteFunc(slices.Clone(fields), func(f field) bool { return !f.Required })
	},
	"params": func(fields []field) string {
		var all []string
		for _, f := range fields {
			all = append(all, f.Type+" "+f.Name)
		}
		return strings.Join(all, ", ")
	},
	"names": func(fields []field) string {
		var all []string
		for _, f := range fields {
			all = append(all, f.Name)
		}
		return strings.Join(all, ", ")
	},
	"join": strings.Join,
}).Parse(source))

// javadoc is text as it stands in a comment.
func javadoc(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "*/", "*&#47;", "@", "&#64;").Replace(text)
}

// Arguments are the arguments of a call: all, or only the required ones.
func (m method) Arguments(all bool) string {
	var out []string
	for _, s := range m.Segments {
		out = append(out, "String "+s)
	}
	switch {
	case !all: // the query may be left out
	case m.QueryType != "":
		out = append(out, m.QueryType+" query")
	default:
		for _, f := range m.Query {
			out = append(out, f.Type+" "+f.Name)
		}
	}
	if m.Body != "" && (all || !m.BodyOptional) {
		out = append(out, m.Body+" body")
	}
	return strings.Join(out, ", ")
}

// Shortened is the long call that the call without optional arguments makes; empty: all arguments
// are required.
func (m method) Shortened() string {
	if m.Arguments(true) == m.Arguments(false) {
		return ""
	}
	out := slices.Clone(m.Segments)
	for range m.Query {
		out = append(out, "null")
		if m.QueryType != "" {
			break
		}
	}
	if m.Body != "" {
		if m.BodyOptional {
			out = append(out, "null")
		} else {
			out = append(out, "body")
		}
	}
	return m.Name + "(" + strings.Join(out, ", ") + ")"
}

// Returns is the type of what a call returns.
func (m method) Returns() string {
	if m.Stated {
		return "Answer<" + m.Answer + ">"
	}
	return m.Answer
}

// Sends is the call that makes the request.
func (m method) Sends() string {
	if m.Answer == "String" {
		return "text(" + m.Path + ")"
	}
	query := "null"
	switch {
	case m.QueryType != "":
		query = "query == null ? null : query.asMap()"
	case len(m.Query) > 0:
		var all []string
		for _, f := range m.Query {
			all = append(all, `"`+f.JSON+`", `+f.Name)
		}
		query = "Shape.fields(" + strings.Join(all, ", ") + ")"
	}
	body, read := "null", "(status, json) -> null"
	if m.Body != "" {
		body = "body"
	}
	if m.Read != "" {
		read = m.Read
	}
	return `send("` + m.Verb + `", ` + m.Path + ", " + query + ", " + body + ", " + read + ")"
}
