package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is how deep JSON may be nested.
const maxDepth = 256

// A scanner walks through one JSON text (RFC 8259) and refuses what is not
// exactly that. Start it with scan.
type scanner struct {
	data []byte
	pos  int
}

// A syntaxError says where a text stops being JSON.
type syntaxError struct {
	at      int // byte offset
	problem string
	half    bool // a text has half of a surrogate pair, and was read over
}

func (e *syntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.problem, e.at) }

func (s *scanner) fail(problem string) error {
	if s.pos >= len(s.data) {
		problem = "unexpected end of the text"
	}
	return &syntaxError{at: s.pos, problem: problem}
}

// scan returns a scanner at the first value of data, which must be UTF-8.
func scan(data []byte) (*scanner, error) {
	if !utf8.Valid(data) {
		return nil, &syntaxError{at: firstInvalid(data), problem: "not UTF-8"}
	}
	s := &scanner{data: data}
	s.space()
	return s, nil
}

func firstInvalid(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return len(data)
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// peek returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

// end makes sure that nothing follows.
func (s *scanner) end() error {
	s.space()
	if s.pos < len(s.data) {
		return s.fail("unexpected text after the JSON value")
	}
	return nil
}

// members calls f at the value of each member of the object that begins here;
// f must read the value.
func (s *scanner) members(f func(name []byte) error) error {
	s.pos++ // {
	s.space()
	if s.peek() == '}' {
		s.pos++
		return nil
	}
	for {
		if s.peek() != '"' {
			return s.fail("want a field's name in quotes")
		}
		name, err := s.unquoted()
		if err != nil {
			return err
		}
		s.space()
		if s.peek() != ':' {
			return s.fail("want a colon after a field's name")
		}
		s.pos++
		s.space()
		if err := f(name); err != nil {
			return err
		}
		s.space()
		switch s.peek() {
		case ',':
			s.pos++
			s.space()
		case '}':
			s.pos++
			return nil
		default:
			return s.fail("want a comma or a closing brace after a value")
		}
	}
}

// elements calls f at each element of the array that begins here; f must read it.
func (s *scanner) elements(f func() error) error {
	s.pos++ // [
	s.space()
	if s.peek() == ']' {
		s.pos++
		return nil
	}
	for {
		if err := f(); err != nil {
			return err
		}
		s.space()
		switch s.peek() {
		case ',':
			s.pos++
			s.space()
		case ']':
			s.pos++
			return nil
		default:
			return s.fail("want a comma or a closing bracket after a value")
		}
	}
}

// text reads the string that begins here.
func (s *scanner) text() (string, error) {
	b, err := s.unquoted()
	return string(b), err
}

// unquoted is text as a part of data, where it has no escapes.
func (s *scanner) unquoted() ([]byte, error) {
	raw, plain, err := s.quoted()
	if err != nil || plain {
		return inner(raw), err
	}
	var t string
	if err := json.Unmarshal(raw, &t); err != nil {
		return nil, s.fail("bad text in quotes")
	}
	if strings.ContainsRune(t, utf8.RuneError) && hasHalf(raw) {
		return nil, &syntaxError{at: s.pos, problem: "text with " + halfPair, half: true}
	}
	return []byte(t), nil
}

const halfPair = `half of a surrogate pair (\ud800 to \udfff alone), which is no character,`

// hasHalf reports whether a text in quotes has an escape \ud800 to \udfff that is
// not one of a pair.
func hasHalf(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		if i++; raw[i] != 'u' {
			continue
		}
		first := escaped(raw[i+1:])
		i += 4
		if !utf16.IsSurrogate(first) {
			continue
		}
		if !bytes.HasPrefix(raw[i+1:], []byte(`\u`)) || utf16.DecodeRune(first, escaped(raw[i+3:])) == utf8.RuneError {
			return true
		}
		i += 6
	}
	return false
}

// escaped is the number that the four digits after \u are.
func escaped(digits []byte) rune {
	n, _ := strconv.ParseUint(string(digits[:4]), 16, 16) // they were looked at
	return rune(n)
}

// inner is what stands between quotes.
func inner(raw []byte) []byte {
	if len(raw) < 2 {
		return nil
	}
	return raw[1 : len(raw)-1]
}

// quoted reads over the string that begins here; plain if it has no escapes.
func (s *scanner) quoted() (raw []byte, plain bool, err error) {
	start := s.pos
	plain = true
	s.pos++ // "
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			return s.data[start:s.pos], plain, nil
		case c < 0x20:
			return nil, false, s.fail("a control character in quotes, which must be escaped,")
		case c == '\\':
			plain = false
			if err := s.escape(); err != nil {
				return nil, false, err
			}
		default:
			s.pos++
		}
	}
	return nil, false, s.fail("")
}

func (s *scanner) escape() error {
	s.pos++ // \
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos++
		return nil
	case 'u':
		s.pos++
		for range 4 {
			switch c := s.peek(); {
			case c >= '0' && c <= '9', c >= 'a' && c <= 'f', c >= 'A' && c <= 'F':
				s.pos++
			default:
				return s.fail("want four hexadecimal digits after \\u")
			}
		}
		return nil
	}
	return s.fail("unknown escape in quotes")
}

// value reads over the value that begins here and returns it as it stands.
func (s *scanner) value(depth int) ([]byte, error) {
	start := s.pos
	if depth > maxDepth {
		return nil, s.fail(fmt.Sprintf("more than %d levels", maxDepth))
	}
	var err error
	switch c := s.peek(); {
	case c == '"':
		_, _, err = s.quoted()
	case c == '{':
		err = s.members(func([]byte) error { _, err := s.value(depth + 1); return err })
	case c == '[':
		err = s.elements(func() error { _, err := s.value(depth + 1); return err })
	case c == '-' || (c >= '0' && c <= '9'):
		err = s.number()
	case c == 't':
		err = s.word("true")
	case c == 'f':
		err = s.word("false")
	case c == 'n':
		err = s.word("null")
	default:
		err = s.fail("want a value")
	}
	if err != nil {
		return nil, err
	}
	return s.data[start:s.pos], nil
}

func (s *scanner) word(want string) error {
	if len(s.data)-s.pos < len(want) || string(s.data[s.pos:s.pos+len(want)]) != want {
		return s.fail("want a value")
	}
	s.pos += len(want)
	return nil
}

func (s *scanner) number() error {
	if s.peek() == '-' {
		s.pos++
	}
	switch c := s.peek(); {
	case c == '0':
		s.pos++
	case c >= '1' && c <= '9':
		s.digits()
	default:
		return s.fail("want a digit")
	}
	if s.peek() == '.' {
		s.pos++
		if !s.digits() {
			return s.fail("want a digit after the point")
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		if !s.digits() {
			return s.fail("want a digit in the exponent")
		}
	}
	return nil
}

func (s *scanner) digits() bool {
	start := s.pos
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.pos++
	}
	return s.pos > start
}

// strict makes sure that data is one JSON text in which no object has a field
// twice, and no text half of a surrogate pair. The value of a field named free, of the outermost object, may be what
// it likes: it is passed on as it stands.
func strict(data []byte, free string) error {
	s, err := scan(data)
	if err != nil {
		return err
	}
	if err := s.unique(0, free); err != nil {
		return err
	}
	return s.end()
}

func (s *scanner) unique(depth int, free string) error {
	if depth > maxDepth {
		return s.fail(fmt.Sprintf("more than %d levels", maxDepth))
	}
	switch s.peek() {
	case '{':
		seen := map[string]bool{}
		return s.members(func(field []byte) error {
			name := string(field)
			if seen[name] {
				return s.fail(fmt.Sprintf("field %.40q is given twice", name))
			}
			seen[name] = true
			if depth == 0 && name == free {
				_, err := s.value(1)
				return err
			}
			err := s.unique(depth+1, "")
			if half := new(syntaxError); errors.As(err, &half) && half.half {
				half.problem, half.half = fmt.Sprintf("field %.40q has ", name)+halfPair, false
			}
			return err
		})
	case '"':
		_, err := s.unquoted()
		return err
	case '[':
		return s.elements(func() error { return s.unique(depth+1, "") })
	}
	_, err := s.value(depth)
	return err
}
