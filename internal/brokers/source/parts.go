package source

import (
	"bytes"
	"encoding/json"
)

// parts are those of a JSON body that a mapping names. A body is gone through once
// for all of them. After the last want it is safe for concurrent use.
type parts struct {
	root  place
	wants int
}

// A place is where a wanted part is, or where one is below.
type place struct {
	slots []int // of the parts that are wanted here
	names []string
	below []*place // by names
}

// A span is where a part stands in a body.
type span struct{ from, to int }

func (s span) has() bool             { return s.to > 0 }
func (s span) of(body []byte) []byte { return body[s.from:s.to] }

// want returns the slot of a part that names lead to, each the field of an object.
func (p *parts) want(names []string) int {
	at := &p.root
	for _, name := range names {
		next := at.child(name)
		if next == nil {
			next = new(place)
			at.names, at.below = append(at.names, name), append(at.below, next)
		}
		at = next
	}
	at.slots = append(at.slots, p.wants)
	p.wants++
	return p.wants - 1
}

func (p *place) child(name string) *place {
	for i := range p.names {
		if p.names[i] == name {
			return p.below[i]
		}
	}
	return nil
}

// forget drops what was found here and below: of fields of one name the last
// counts, as in encoding/json.
func (p *place) forget(found []span) {
	for _, slot := range p.slots {
		found[slot] = span{}
	}
	for _, next := range p.below {
		next.forget(found)
	}
}

// find returns where the parts stand, by their slots; nil: the body is no JSON, or
// nests deeper than anybody's does. It uses the memory of buf where that is enough.
func (p *parts) find(body []byte, buf []span) []span {
	s := scanner{body: body, found: append(buf[:0], make([]span, p.wants)...)}
	if !s.value(&p.root, maxNesting) {
		return nil
	}
	if s.space(); s.at != len(body) {
		return nil
	}
	return s.found
}

// maxNesting is how deep a body may nest to be gone through here.
const maxNesting = 100

// A scanner goes through JSON, and accepts nothing that encoding/json does not.
type scanner struct {
	body  []byte
	at    int
	found []span
}

func (s *scanner) space() {
	for s.at < len(s.body) {
		switch s.body[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

// next reports whether c is next, after space, and goes past it.
func (s *scanner) next(c byte) bool {
	s.space()
	return s.here(c)
}

func (s *scanner) here(c byte) bool {
	if s.at < len(s.body) && s.body[s.at] == c {
		s.at++
		return true
	}
	return false
}

// value goes past a value, and notes what is wanted of it; at may be nil.
func (s *scanner) value(at *place, depth int) bool {
	s.space()
	from := s.at
	if depth == 0 || from == len(s.body) {
		return false
	}
	var ok bool
	switch s.body[from] {
	case '{':
		ok = s.object(at, depth)
	case '[':
		ok = s.list(depth)
	case '"':
		ok = s.text()
	case 't':
		ok = s.word("true")
	case 'f':
		ok = s.word("false")
	case 'n':
		ok = s.word("null")
	default:
		ok = s.number()
	}
	if ok && at != nil {
		for _, slot := range at.slots {
			s.found[slot] = span{from, s.at}
		}
	}
	return ok
}

func (s *scanner) object(at *place, depth int) bool {
	s.at++
	if s.next('}') {
		return true
	}
	for {
		s.space()
		from := s.at
		if !s.text() {
			return false
		}
		var child *place
		if at != nil && at.names != nil {
			if child = at.child(name(s.body[from:s.at])); child != nil {
				child.forget(s.found)
			}
		}
		if !s.next(':') || !s.value(child, depth-1) {
			return false
		}
		if s.next('}') {
			return true
		}
		if !s.here(',') {
			return false
		}
	}
}

// name is what a quoted name means.
func name(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return ""
	}
	return text
}

func (s *scanner) list(depth int) bool {
	s.at++
	if s.next(']') {
		return true
	}
	for {
		if !s.value(nil, depth-1) {
			return false
		}
		if s.next(']') {
			return true
		}
		if !s.here(',') {
			return false
		}
	}
}

func (s *scanner) word(word string) bool {
	if len(s.body)-s.at < len(word) || string(s.body[s.at:s.at+len(word)]) != word {
		return false
	}
	s.at += len(word)
	return true
}

func (s *scanner) text() bool {
	if !s.here('"') {
		return false
	}
	for s.at < len(s.body) {
		c := s.body[s.at]
		s.at++
		switch {
		case c == '"':
			return true
		case c < ' ':
			return false
		case c == '\\' && !s.escape():
			return false
		}
	}
	return false
}

func (s *scanner) escape() bool {
	if s.at == len(s.body) {
		return false
	}
	c := s.body[s.at]
	s.at++
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		for range 4 {
			if s.at == len(s.body) || !isHex(s.body[s.at]) {
				return false
			}
			s.at++
		}
		return true
	}
	return false
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func (s *scanner) number() bool {
	s.here('-')
	if !s.here('0') && !s.digits() {
		return false
	}
	if s.here('.') && !s.digits() {
		return false
	}
	if s.here('e') || s.here('E') {
		if !s.here('+') {
			s.here('-')
		}
		return s.digits()
	}
	return true
}

// digits goes past one or more.
func (s *scanner) digits() bool {
	from := s.at
	for s.at < len(s.body) && '0' <= s.body[s.at] && s.body[s.at] <= '9' {
		s.at++
	}
	return s.at > from
}
