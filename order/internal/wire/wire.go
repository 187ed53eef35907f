// Package wire writes the JSON of tasks and notifications.
package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Marshal writes JSON without escaping HTML characters: < stays <.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// Join makes one object of the objects raw and of fields. A later object overrides an earlier one,
// and fields overrides all. An empty raw object has no field. The raw objects must be valid.
//
// It writes what Marshal writes of a map, in a fraction of the time, because each decision of an order is written by it.
func Join(fields map[string]any, raw ...json.RawMessage) []byte {
	all := make(map[string][]byte, len(fields)+8)
	size := 2
	for _, one := range raw {
		size += len(one)
		if object := bytes.TrimSpace(one); len(object) > 0 && object[0] == '{' {
			members(object[1:], all)
		}
	}
	for name, value := range fields {
		all[name] = appendJSON(nil, value)
		size += len(name) + len(all[name]) + 4
	}
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	body := append(make([]byte, 0, size), '{')
	for i, name := range names {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(appendJSON(body, name), ':')
		if value := all[name]; bytes.ContainsAny(value, " \t\r\n") {
			body = appendJSON(body, json.RawMessage(value)) // without white space
		} else {
			body = append(body, value...)
		}
	}
	return append(body, '}')
}

// members adds the names and values of a valid object, of which the text begins after its brace.
func members(text []byte, all map[string][]byte) {
	for {
		text = bytes.TrimLeft(text, ", \t\r\n")
		if len(text) == 0 || text[0] == '}' {
			return
		}
		end := valueEnd(text)
		name := string(text[1 : end-1])
		if !plain(name) && json.Unmarshal(text[:end], &name) != nil {
			return
		}
		text = bytes.TrimLeft(text[end:], ": \t\r\n")
		end = valueEnd(text)
		all[name], text = text[:end], text[end:]
	}
}

// valueEnd returns where the value ends with which a part of valid JSON begins.
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
func appendJSON(to []byte, value any) []byte {
	if text, is := value.(string); is && plain(text) {
		return append(append(append(to, '"'), text...), '"')
	}
	body, err := Marshal(value)
	if err != nil { // cannot happen: valid JSON, texts and numbers
		panic(err)
	}
	return append(to, body...)
}

// plain reports whether a text stands in JSON as it is.
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

// Parse reads the progress of a task, of which what is the name: JSON that Encode wrote. Empty data leaves
// to as it is. check returns an error for a value that cannot be.
func Parse(data []byte, to any, what string, check func() error) error {
	if len(data) == 0 {
		return nil
	}
	err := json.Unmarshal(data, to)
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
