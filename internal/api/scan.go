package api

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth is the deepest nesting of JSON.
const maxDepth = 256

var (
	errDepth = fmt.Errorf("nested deeper than %d objects and arrays", maxDepth)
	errEnd   = errors.New("unexpected end of the text")
	errHalf  = errors.New(`has half of a surrogate pair (\ud800 to \udfff alone), which is no character`)
)

// A scanner reads one JSON text (RFC 8259), value by value. Start it with scan.
// It accepts duplicate names and half surrogate pairs: the caller names the fields that have them.
type scanner struct{ in jsontext.Decoder }

// scan returns a scanner at the first value of data, which must be UTF-8.
func scan(data []byte) (*scanner, error) {
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("not UTF-8 at byte %d", firstInvalid(data))
	}
	s := &scanner{}
	s.in.Reset(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return s, nil
}

func firstInvalid(data []byte) int {
	for i, r := range string(data) {
		if r == utf8.RuneError && !bytes.HasPrefix(data[i:], []byte("\uFFFD")) {
			return i
		}
	}
	return len(data)
}

// peek returns how the next value begins: one of {["0tfn, or 0 for the end and for no value.
func (s *scanner) peek() jsontext.Kind { return s.in.PeekKind() }

// left returns how many bytes follow.
func (s *scanner) left() int { return len(s.in.UnreadBuffer()) }

// end returns an error if anything follows.
func (s *scanner) end() error {
	_, err := s.in.ReadToken()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return readable(err)
	}
	return fmt.Errorf("unexpected text after the JSON value, before byte %d", s.in.InputOffset())
}

// members calls f at each member's value of the object at the scanner; f must read the value.
func (s *scanner) members(f func(name []byte) error) error {
	if _, err := s.in.ReadToken(); err != nil {
		return readable(err)
	}
	for s.peek() == '"' {
		name, err := s.unquoted()
		if err != nil {
			return err
		}
		if err := f(name); err != nil {
			return err
		}
	}
	_, err := s.in.ReadToken()
	return readable(err)
}

// elements calls f at each element of the array at the scanner; f must read it.
func (s *scanner) elements(f func() error) error {
	if _, err := s.in.ReadToken(); err != nil {
		return readable(err)
	}
	for kind := s.peek(); kind != ']' && kind != 0; kind = s.peek() {
		if err := f(); err != nil {
			return err
		}
	}
	_, err := s.in.ReadToken()
	return readable(err)
}

// text reads the string at the scanner.
func (s *scanner) text() (string, error) {
	b, err := s.unquoted()
	return string(b), err
}

// unquoted returns the string as a part of the scanner's data, if it has no escapes.
func (s *scanner) unquoted() ([]byte, error) {
	raw, err := s.in.ReadValue()
	if err != nil {
		return nil, readable(err)
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1], nil
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return nil, errHalf
	}
	return text, nil
}

// value skips the value at the scanner, and returns its part of the scanner's data.
func (s *scanner) value() ([]byte, error) {
	raw, err := s.in.ReadValue()
	if err != nil {
		return nil, readable(err)
	}
	if bytes.Count(raw, []byte("{"))+bytes.Count(raw, []byte("[")) <= maxDepth {
		return raw, nil
	}
	nested := scanner{}
	nested.in.Reset(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		if nested.in.StackDepth() > maxDepth {
			return nil, errDepth
		}
		if _, err := nested.in.ReadToken(); err != nil { // only the end: the value was read before
			return raw, nil
		}
	}
}

// strict returns an error unless data is one JSON text in which no object has a field twice, and no
// text has half of a surrogate pair. In the outermost object, the value of the field named free
// must only be JSON: it is passed on unchanged.
func strict(data []byte, free string) error {
	s, err := scan(data)
	if err != nil {
		return err
	}
	if s.peek() != '{' {
		raw, err := s.value()
		if err != nil {
			return err
		}
		return or(unique(raw), s.end)
	}
	seen := map[string]bool{}
	return or(s.members(func(field []byte) error {
		name := string(field)
		if seen[name] {
			return fmt.Errorf("field %.40q is given twice", name)
		}
		seen[name] = true
		raw, err := s.value()
		if err == nil && name != free {
			err = unique(raw)
		}
		if err != nil {
			return fmt.Errorf("field %.40q: %w", name, err)
		}
		return nil
	}), s.end)
}

// unique returns an error if an object in a value has a field twice, or a text has half of a
// surrogate pair.
func unique(raw []byte) error {
	_, err := jsontext.NewDecoder(bytes.NewBuffer(raw)).ReadValue()
	if e, is := errors.AsType[*jsontext.SyntacticError](err); is {
		e.ByteOffset = 0 // the offset within raw means nothing to a caller
	}
	return readable(err)
}

// readable returns a decoder's error for callers: what is wrong, at which byte, in which value.
func readable(err error) error {
	e, is := errors.AsType[*jsontext.SyntacticError](err)
	if !is {
		if errors.Is(err, io.EOF) {
			return errEnd
		}
		return err
	}
	text := strings.TrimPrefix(e.Err.Error(), "jsontext: ")
	switch {
	case errors.Is(e.Err, io.ErrUnexpectedEOF):
		text = errEnd.Error()
	case strings.HasPrefix(text, "invalid character ',' at start of"):
		text = "a comma with no value before or after it"
	case errors.Is(e.Err, jsontext.ErrDuplicateName):
		text = "a field is given twice"
	}
	if e.ByteOffset > 0 {
		text = fmt.Sprintf("%s at byte %d", text, e.ByteOffset)
	}
	if e.JSONPointer != "" {
		text += ", in " + cut(string(e.JSONPointer))
	}
	return errors.New(text)
}
