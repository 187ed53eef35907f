package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Problem is one mistake.
type Problem struct {
	Source string // the file's, variable's or flag's name; empty: the text given to Parse
	Line   int    // 1 for the first; 0 where there are no lines
	Column int    // in characters; 1 for the first
	Field  string // "queues.pay.timeout"; empty: the text as a whole
	Text   string // what is wrong, and what would be right
}

// String writes the problem as compilers do: file:line:column: field: text.
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

// Problems are mistakes as an error. One is never empty.
type Problems []Problem

// Error lists every problem, one a line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// err returns the problems in the order of the text, or nil if there are none.
func (ps Problems) err() error {
	if len(ps) == 0 {
		return nil
	}
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return ps
}

// join makes one error of several. One that is no Problems comes alone, for it
// says why the others could not be looked for.
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

// A place is where a setting was read.
type place struct {
	source       string
	line, column int
}

// problem is one at this place. A flag or variable is its setting's name
// already, and does not repeat it.
func (p place) problem(field, text string) Problem {
	if p.line == 0 && p.source != "" {
		field = ""
	}
	return Problem{Source: p.source, Line: p.line, Column: p.column, Field: field, Text: text}
}
