// Package wire writes the JSON of tasks and notifications.
package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
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
func Join(fields map[string]any, raw ...json.RawMessage) []byte {
	all := make(map[string]any)
	for _, one := range raw {
		var more map[string]json.RawMessage
		if len(one) > 0 && json.Unmarshal(one, &more) == nil {
			for name, value := range more {
				all[name] = value
			}
		}
	}
	maps.Copy(all, fields)
	body, err := Marshal(all)
	if err != nil { // cannot happen: raw JSON, texts and numbers
		panic(err)
	}
	return body
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
