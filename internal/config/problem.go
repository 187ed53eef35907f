package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Problem is one mistake in the configuration.
type Problem struct {
	Source string // name of the file, variable or flag; empty: the text given to Parse
	Line   int    // from 1; 0: the source has no lines
	Column int    // in characters, from 1
	Field  string // "queues.pay.timeout"; empty: the whole text
	Text   string // what is wrong, and what would be right
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

// join merges errors. An error that is not Problems is returned alone, because it says why other mistakes
// could not be searched.
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

// problem returns a problem at this place. The name of a flag or variable already names the setting, and is
// not repeated.
func (p place) problem(field, text string) Problem {
	if p.line == 0 && p.source != "" {
		field = ""
	}
	return Problem{Source: p.source, Line: p.line, Column: p.column, Field: field, Text: text}
}
