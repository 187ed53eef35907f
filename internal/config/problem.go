package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
)

// A Problem is one mistake in the configuration.
type Problem struct {
	Source string // name of the file, variable or flag; empty: the text given to Parse
	Line   int    // from 1; 0: the source has no lines
	Column int    // in characters, from 1
	Field  string // "queues.pay.timeout"; empty: the whole text
	Text   string // what is wrong, and what would be right

	// Absent means that a secret is not on this machine. It may be on the server's.
	Absent bool
}

// String formats the problem as compilers do: file:line:column: field: text.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.Source)
	if p.Line > 0 {
		if p.Source == "" {
			b.WriteString("line ")
		} else {
			b.WriteString(":")
		}
		fmt.Fprintf(&b, "%d:%d", p.Line, p.Column)
	}
	for _, part := range []string{p.Field, p.Text} {
		if part == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(": ")
		}
		b.WriteString(part)
	}
	return b.String()
}

// Problems are mistakes as an error. There is at least one.
type Problems []Problem

// Error lists the problems, one on each line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Err returns the problems in the order of the text, each once, or nil if there are none.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	seen := map[Problem]bool{}
	ps = slices.DeleteFunc(ps, func(p Problem) bool {
		again := seen[p]
		seen[p] = true
		return again
	})
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return ps
}

// join merges errors. An error that is not Problems is returned alone, because it says why other
// mistakes could not be searched.
func join(errs ...error) error {
	var all Problems
	for _, err := range errs {
		var ps Problems
		switch {
		case errors.As(err, &ps):
			all = append(all, ps...)
		case err != nil:
			return err
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// Refused returns why a part of the configuration cannot be used, each mistake at its place. at is
// the path of the part, such as "queues.pay". The fields of a *[bellman.Invalid], and names before
// a colon in a text, are looked for below it. nil: err is nil.
func (c *Config) Refused(at string, err error) (ps Problems) {
	if err == nil {
		return nil
	}
	wrong, is := errors.AsType[*bellman.Invalid](err)
	if !is {
		return Problems{c.refused(at, err.Error(), err)}
	}
	for _, f := range wrong.Fields {
		ps = append(ps, c.refused(within(at, f.Field), f.Problem, f.Why))
	}
	return ps
}

// refused returns a problem of a field, at the place of the field or else of the nearest field
// around it.
func (c *Config) refused(field, text string, why error) Problem {
	field, text = locate(c.places, field, text)
	if single, first := strings.CutSuffix(field, "[0]"); first { // a list of one may be written without brackets
		if _, there := c.places[field]; !there {
			field = single
		}
	}
	at, there := c.places[field]
	for path := field; !there && path != ""; at, there = c.places[path] {
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	p := at.problem(field, text)
	p.Absent = errors.Is(why, sign.ErrAbsent)
	return p
}

// locate follows the names before a colon in a text, such as "query: url: …", as far as they have
// places below a field.
func locate(places map[string]place, field, text string) (at, rest string) {
	for {
		name, rest, more := strings.Cut(text, ": ")
		if _, there := places[within(field, name)]; !more || !there {
			return field, text
		}
		field, text = within(field, name), rest
	}
}

// A place is where a setting was read.
type place struct {
	source       string
	line, column int
}

// problem returns a problem at this place. The name of a flag or variable already names the
// setting, and is not repeated.
func (p place) problem(field, text string) Problem {
	if p.line == 0 && p.source != "" {
		field = ""
	}
	return Problem{Source: p.source, Line: p.line, Column: p.column, Field: field, Text: text}
}
