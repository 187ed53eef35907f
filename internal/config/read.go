package config

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/bellmanhq/bellman/internal/nearest"
)

// A reader walks a YAML document along tables of fields, and collects all mistakes.
type reader struct {
	source   string
	problems Problems
	anchors  map[string]ast.Node
	places   map[string]place
	kept     []keptSecret
}

// A field is one setting of a T.
type field[T any] struct {
	name string // with dots between groups: "flow.high"

	// set reads the text of a scalar. Its error says what is wrong and what would be right.
	set func(into *T, text string) error

	// read reads a field that is no scalar; nil for scalars.
	read func(r *reader, path string, n ast.Node, into *T)
}

// body parses a text and returns its root; nil if it is empty, or no YAML, which is reported.
func (r *reader) body(text string) ast.Node {
	file, err := parser.ParseBytes([]byte(strings.TrimPrefix(text, "\ufeff")), 0, parser.AllowDuplicateMapKey())
	if err != nil {
		p := place{source: r.source, line: 1, column: 1}
		message := err.Error()
		if wrong, is := errors.AsType[yaml.Error](err); is {
			message = wrong.GetMessage()
			if t := wrong.GetToken(); t != nil && t.Position != nil {
				p.line, p.column = t.Position.Line, t.Position.Column
			}
		}
		line, _, _ := strings.Cut(strings.Join(strings.SplitAfter(text, "\n")[min(p.line-1, strings.Count(text, "\n")):], ""), "\n")
		r.problems = append(r.problems, p.problem("", "not YAML: "+message+advice(message, line)))
		return nil
	}
	var body ast.Node
	for _, d := range file.Docs {
		switch {
		case d.Body == nil || d.Body.Type() == ast.NullType || d.Body.Type() == ast.CommentType:
		case body != nil:
			r.note(d.Body, "", "a second document: want one")
		default:
			body = d.Body
		}
	}
	if body != nil {
		ast.Walk(anchors(r.anchors), body)
	}
	return body
}

// advice returns what to do about a mistake of YAML that the parser found in a line; empty: nothing
// is known.
func advice(message, line string) string {
	switch {
	case strings.Contains(message, "'\t'"):
		return ": indent with spaces"
	case strings.Contains(line, "：") && !strings.Contains(line, ": "):
		return wideColon
	case strings.Contains(line, "{") && (strings.Contains(message, "'}'") || strings.Contains(message, "flow mapping")):
		return `: close each {, and quote a value with {, } or a comma: url: "http://HOST/{order_no}"`
	case strings.Contains(message, "not allowed in this context"):
		return ": indent the line exactly as those beside it"
	}
	return ""
}

const (
	unknownField = "unknown field: want "
	wideColon    = `: want the colon ":" and a space, not "："`
)

// anchors collects the nodes of anchors (&name).
type anchors map[string]ast.Node

func (a anchors) Visit(n ast.Node) ast.Visitor {
	if anchor, ok := n.(*ast.AnchorNode); ok && anchor.Name != nil {
		a[anchor.Name.GetToken().Value] = anchor.Value
	}
	return a
}

// fill reads the mapping n into a T, and returns false if it reported a problem. path is the path
// of n.
func fill[T any](r *reader, n ast.Node, path string, fields []field[T], into *T) (ok bool) {
	noted := len(r.problems)
	fillGroup(r, n, path, "", fields, into)
	return len(r.problems) == noted
}

// fillGroup reads the mapping of a group of fields. group is the beginning of their names.
func fillGroup[T any](r *reader, n ast.Node, path, group string, fields []field[T], into *T) {
	for _, e := range r.entries(n, path) {
		name, at := group+e.name, e.at
		r.places[at] = r.place(e.value)
		f, isGroup := find(fields, name)
		switch {
		case f == nil && isGroup:
			fillGroup(r, e.value, at, name+".", fields, into)
		case f == nil:
			want := among(fields, group)
			if near := nearest.Of(e.name, 2, strings.Split(strings.ReplaceAll(want, " or ", ", "), ", ")...); near != "" {
				want = near + "? Known are " + want
			}
			r.note(e.key, at, unknownField+want)
		case f.read != nil:
			f.read(r, at, e.value, into)
		default:
			if text, ok := r.scalar(e.value, at); ok {
				if err := f.set(into, text); err != nil {
					r.note(e.value, at, err.Error())
				}
			}
		}
	}
}

// find returns a field, or reports that the name is a group of fields.
func find[T any](fields []field[T], name string) (f *field[T], isGroup bool) {
	for i := range fields {
		if fields[i].name == name {
			return &fields[i], false
		}
		isGroup = isGroup || strings.HasPrefix(fields[i].name, name+".")
	}
	return nil, isGroup
}

// among lists the names in a group.
func among[T any](fields []field[T], group string) string {
	var names []string
	for _, f := range fields {
		rest, in := strings.CutPrefix(f.name, group)
		name, _, _ := strings.Cut(rest, ".")
		if in && (len(names) == 0 || names[len(names)-1] != name) {
			names = append(names, name)
		}
	}
	return nearest.Either(names)
}

// spaced returns advice about the colon of a text that was meant as name: value; empty: the text
// has none.
func spaced(n ast.Node) string {
	s, _ := n.(*ast.StringNode)
	switch {
	case s == nil:
	case strings.Contains(s.Value, "："):
		return wideColon
	case strings.Contains(s.Value, ":"):
		return ", with a space after the colon"
	}
	return ""
}

func within(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// An entry is one line of a mapping, or one element of a list.
type entry struct {
	name       string // empty in a list
	at         string // path of the value
	key, value ast.Node
}

// entries returns the entries of a mapping, including those merged with << that it does not
// override. It reports names that occur twice.
func (r *reader) entries(n ast.Node, path string) []entry { return r.merged(n, path, 0) }

func (r *reader) merged(n ast.Node, path string, depth int) []entry {
	var values []*ast.MappingValueNode
	switch m := r.resolve(n, path).(type) {
	case nil:
		return nil
	case *ast.MappingNode:
		values = m.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{m}
	case *ast.NullNode:
		r.note(n, path, "is empty: give it a value, {} for every default, or leave it out")
		return nil
	default:
		r.note(n, path, "want fields, each as name: value"+spaced(n))
		return nil
	}
	var own, brought []entry
	lines := map[string]int{}
	for _, v := range values {
		switch key := v.Key.(type) {
		case *ast.MergeKeyNode:
			if depth > 8 {
				r.note(v.Key, path, "<< goes in a circle, or too deep: want at most 8 levels")
				continue
			}
			brought = append(brought, r.merged(v.Value, path, depth+1)...)
		case ast.ScalarNode:
			name := scalarText(key)
			at := within(path, name)
			if first, twice := lines[name]; twice {
				r.note(key, at, fmt.Sprintf("is set twice, first on line %d: want it once", first))
				continue
			}
			lines[name] = r.place(key).line
			own = append(own, entry{name, at, key, v.Value})
		default:
			r.note(v.Key, path, "want a plain name before the colon")
		}
	}
	for _, e := range brought {
		if _, has := lines[e.name]; !has {
			lines[e.name] = r.place(e.key).line
			own = append(own, e)
		}
	}
	return own
}

func (r *reader) elements(n ast.Node, path string) (all []entry) {
	switch l := r.resolve(n, path).(type) {
	case nil:
	case *ast.SequenceNode:
		for i, element := range l.Values {
			all = append(all, entry{"", fmt.Sprintf("%s[%d]", path, i), element, element})
		}
	default:
		r.note(n, path, "want a list: [a, b], or lines that begin with -")
	}
	return all
}

// texts yields the entries whose values are scalars, with their texts. It reports all others.
func (r *reader) texts(entries []entry) iter.Seq2[entry, string] {
	return func(yield func(entry, string) bool) {
		for _, e := range entries {
			if text, ok := r.scalar(e.value, e.at); ok && !yield(e, text) {
				return
			}
		}
	}
}

func (r *reader) scalar(n ast.Node, path string) (text string, ok bool) {
	switch s := r.resolve(n, path).(type) {
	case nil:
		return "", false
	case *ast.NullNode:
		r.note(n, path, "is empty: give it a value, or leave it out")
		return "", false
	case ast.ScalarNode:
		return scalarText(s), true
	default:
		r.note(n, path, "want a single value, not a list and not fields")
		return "", false
	}
}

// scalarText returns a scalar as written, without quotes. This also holds for numbers, so a hash of
// digits stays as it is.
func scalarText(n ast.ScalarNode) string {
	switch s := n.(type) {
	case *ast.StringNode:
		return s.Value
	case *ast.LiteralNode:
		return s.Value.Value
	}
	return n.GetToken().Value
}

// resolve follows anchors and aliases; nil, with a report, if they lead nowhere.
func (r *reader) resolve(n ast.Node, path string) ast.Node {
	at := n
	for range 8 {
		switch s := n.(type) {
		case *ast.AnchorNode:
			n = s.Value
		case *ast.AliasNode:
			name := s.Value.GetToken().Value
			if n = r.anchors[name]; n == nil {
				r.note(at, path, fmt.Sprintf("*%.40s names nothing: want an &%.40s before it", name, name))
				return nil
			}
		case *ast.TagNode:
			r.note(at, path, "tags such as "+fmt.Sprintf("%.20q", s.GetToken().Value)+" have no meaning here: leave it out")
			return nil
		default:
			return n
		}
	}
	r.note(at, path, "goes in a circle of aliases: want a value")
	return nil
}

func (r *reader) note(n ast.Node, path, text string) {
	r.problems = append(r.problems, r.place(n).problem(path, text))
}

// noteAt reports a problem at the place where a setting was read.
func (r *reader) noteAt(path, text string) {
	r.problems = append(r.problems, r.places[path].problem(path, text))
}

func (r *reader) place(n ast.Node) place {
	switch m := n.(type) {
	case *ast.MappingNode:
		if !m.IsFlowStyle && len(m.Values) > 0 {
			n = m.Values[0].Key
		}
	case *ast.MappingValueNode:
		n = m.Key
	}
	p := place{source: r.source, line: 1, column: 1}
	if t := n.GetToken(); t != nil && t.Position != nil {
		p.line, p.column = max(t.Position.Line, 1), max(t.Position.Column, 1)
	}
	return p
}
