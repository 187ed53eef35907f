// Package wire writes and reads the JSON of tasks and notifications, and the names of readings.
package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// Marshal writes JSON without escaping HTML characters: < stays <.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// Unmarshal does what that of encoding/json does, in half of the time.
func Unmarshal(text []byte, to any) error { return jsonv1.Unmarshal(text, to) }

// UnmarshalStrict is Unmarshal for untrusted text: it rejects duplicate names and invalid UTF-8,
// and names must have the case of the fields.
func UnmarshalStrict(text []byte, to any) error { return jsonv2.Unmarshal(text, to) }

// Swallowed returns the first of names whose signed field seems to be inside value; empty: none. A
// signature over fields name=value that are joined with & and not escaped does not cover where a
// value ends. An attacker who sees such a message and chose one of its values can move the ends:
// then a value contains the real &name=, and the field of that name is the attacker's.
func Swallowed(value string, names ...string) string {
	i := slices.IndexFunc(names, func(name string) bool { return strings.Contains(value, "&"+name+"=") })
	if i < 0 {
		return ""
	}
	return names[i]
}

// Join makes one object of the objects raw and of fields. A later object overrides an earlier one,
// and fields overrides all. An empty raw object has no field. The raw objects must be valid.
//
// It writes what Marshal writes of a map, in a fraction of the time, because each decision of an
// order is written by it.
func Join(fields map[string]any, raw ...json.RawMessage) []byte {
	body, err := join(fields, raw)
	if err != nil { // cannot happen: valid JSON, texts and numbers
		panic(err)
	}
	return body
}

// Object writes what Marshal writes of a map, as Join does. A value that JSON does not have is an
// error.
func Object(fields map[string]any) ([]byte, error) { return join(fields, nil) }

func join(fields map[string]any, raw []json.RawMessage) (body []byte, err error) {
	all := make([]member, 0, 24) // most fit on the stack
	size := 2
	for _, one := range raw {
		size += len(one)
		if object := bytes.TrimSpace(one); len(object) > 0 && object[0] == '{' {
			all = members(object[1:], all)
		}
	}
	for name, value := range fields {
		all = append(all, member{name: name, value: value})
		size += len(name) + 24
	}
	slices.SortStableFunc(all, func(a, b member) int { return strings.Compare(a.name, b.name) })
	body = append(make([]byte, 0, size), '{')
	for i, m := range all {
		if i+1 < len(all) && all[i+1].name == m.name {
			continue // overridden
		}
		if len(body) > 1 {
			body = append(body, ',')
		}
		body = append(AppendText(body, m.name), ':')
		switch {
		case m.text == nil:
			body, err = appendJSON(body, m.value)
		case bytes.ContainsAny(m.text, " \t\r\n"):
			body, err = appendJSON(body, json.RawMessage(m.text)) // without white space
		default:
			body = append(body, m.text...)
		}
		if err != nil {
			return nil, err
		}
	}
	return append(body, '}'), nil
}

// A member is one of an object.
type member struct {
	name  string
	text  []byte // JSON; nil: value
	value any
}

// members appends the members of a valid object. text is what follows its opening brace.
func members(text []byte, all []member) []member {
	for {
		text = bytes.TrimLeft(text, ", \t\r\n")
		if len(text) == 0 || text[0] == '}' {
			return all
		}
		end := valueEnd(text)
		name := string(text[1 : end-1])
		if !plain(name) {
			var unquoted string // name stays off the heap
			if json.Unmarshal(text[:end], &unquoted) != nil {
				return all
			}
			name = unquoted
		}
		text = bytes.TrimLeft(text[end:], ": \t\r\n")
		end = valueEnd(text)
		all, text = append(all, member{name: name, text: text[:end]}), text[end:]
	}
}

// valueEnd returns the length of the value that text, a part of valid JSON, begins with.
func valueEnd(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case ',', '}', ']':
			if depth == 0 { // behind a number or a word
				return i
			}
			if c != ',' {
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
	}
	return len(text)
}

// appendJSON appends a value as JSON.
func appendJSON(to []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case string:
		return AppendText(to, v), nil
	case int64:
		return strconv.AppendInt(to, v, 10), nil
	}
	text, err := Marshal(value)
	return append(to, text...), err
}

// AppendText appends a text as Marshal writes it.
func AppendText(to []byte, text string) []byte {
	begin, from, ascii := len(to), 0, true
	to = append(to, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"', c == '\\':
			to = append(append(to, text[from:i]...), '\\')
			from = i
		case c < ' ':
			return appendMarshalled(to[:begin], text)
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	if !ascii && (!utf8.ValidString(text) || strings.Contains(text, "\u2028") || strings.Contains(text, "\u2029")) {
		return appendMarshalled(to[:begin], text)
	}
	return append(append(to, text[from:]...), '"')
}

func appendMarshalled(to []byte, text string) []byte {
	quoted, _ := Marshal(text) // every text is a value
	return append(to, quoted...)
}

// plain reports whether a text needs no escaping in JSON.
func plain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// When writes a time in UTC, with milliseconds.
func When(t time.Time) string {
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// Word returns the name of a value, or the kind and the number of one that has no name.
func Word(names []string, i int, kind string) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", kind, i)
}

// Parse reads the progress of a task that Encode wrote. Empty data leaves to unchanged. check
// returns an error for values that do not belong together. what names the progress in errors.
func Parse(data []byte, to any, what string, check func() error) error {
	if len(data) == 0 {
		return nil
	}
	err := Unmarshal(data, to)
	if err == nil {
		err = check()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Encode writes the progress of a task.
func Encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil { // cannot happen: it has no value that JSON lacks
		panic(err)
	}
	return data
}
