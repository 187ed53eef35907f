package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bellmanhq/bellman/rule"
)

// A Mapping converts a message to the JSON of a task, as POST /v1/tasks accepts it. It is safe for
// concurrent use.
type Mapping struct {
	fields []mapped
	parts  parts
}

// A mapped is the expression of one field of a task.
type mapped struct {
	name  string
	text  bool // the field is text; a whole number is converted
	field *rule.Field
	plain *plain // nil: CEL evaluates it

	// raw is the path to the part of the body that is copied byte for byte, so that numbers keep
	// their digits. nil: the value of the expression is used.
	raw []string
}

// fields are the fields that can be mapped; true: the field is text.
var fields = map[string]bool{
	"queue": true, "key": true, "merchant_no": true, "order_no": true, "event": true, "url": true, "method": true,
	"body": true, "due": true, "delay": true, "schedule": true, "success": true, "timeout": true, "max_age": true,
	"repeat": true, "order_created": true, "expires": true, "code_life": true, "ref_no": true, "expires_at": true, "channel_order_no": true, "account": true, "currency": true, "amount": false, "ordering_key": true, "supersedes": false, "json": false, "headers": false, "vars": false, "notify": false,
}

// ErrNoField reports a mapping of a field that no task has.
var ErrNoField = errors.New("is no field of a task")

// CheckField returns the error of one field of a mapping, or nil.
func CheckField(name, text string) error {
	if _, known := fields[name]; !known {
		return fmt.Errorf("%w: want %s", ErrNoField, strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
	}
	_, err := rule.CompileField(text)
	return err
}

// CompileMapping compiles expressions, which are given by field.
func CompileMapping(texts map[string]string) (*Mapping, error) {
	m := new(Mapping)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if err := CheckField(name, texts[name]); err != nil {
			return nil, fmt.Errorf("map.%s: %w", name, err)
		}
		f, err := rule.CompileField(texts[name])
		if err != nil {
			return nil, fmt.Errorf("map.%s: %w", name, err)
		}
		one := mapped{name: name, text: fields[name], field: f, plain: plainOf(f.String(), &m.parts)}
		if !one.text && part.MatchString(f.String()) {
			one.raw = strings.Split(f.String(), ".")[1:]
			if one.raw == nil {
				one.raw = []string{}
			}
		}
		m.fields = append(m.fields, one)
	}
	return m, nil
}

// Task returns the JSON of a message's task. A field whose expression is null is left out, except
// json.
func (m *Mapping) Task(message *rule.Message) ([]byte, error) {
	return m.AppendTask(make([]byte, 0, len(message.Body)+256), message)
}

// AppendTask appends the result of Task to b.
func (m *Mapping) AppendTask(b []byte, message *rule.Message) ([]byte, error) {
	var some [8]span // enough for most mappings
	var found []span
	if m.parts.wants > 0 {
		found = m.parts.find(message.Body, some[:0])
	}
	var reading *rule.Reading
	b = append(b, '{')
	start := len(b)
	for i := range m.fields {
		f := &m.fields[i]
		before := len(b)
		if before > start {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), f.name...), '"', ':')
		from, sure := len(b), false
		if f.plain != nil {
			b, sure = f.plain.append(b, f, message, found)
		}
		if !sure {
			if reading == nil {
				reading = rule.Read(message)
			}
			value, err := f.of(reading, message.Body)
			if errors.Is(err, rule.ErrMissing) {
				return nil, fmt.Errorf("map.%s: the message lacks what %s names", f.name, f.field)
			}
			if err != nil {
				return nil, fmt.Errorf("map.%s: %w", f.name, err)
			}
			b = append(b[:from], value...)
		}
		if len(b) == from {
			b = b[:before]
		}
	}
	return append(b, '}'), nil
}

// of returns the JSON of a field; nil: the field is left out.
func (f *mapped) of(reading *rule.Reading, body []byte) ([]byte, error) {
	if f.raw != nil {
		if err := reading.JSON(); err != nil {
			return nil, fmt.Errorf("the body is not JSON: %w", err)
		}
		return f.find(body)
	}
	value, err := f.field.Evaluate(reading)
	if err != nil {
		return nil, err
	}
	if value == nil && f.name != "json" {
		return nil, nil
	}
	if f.text {
		switch v := value.(type) {
		case string:
		case int64:
			value = strconv.FormatInt(v, 10)
		case uint64:
			value = strconv.FormatUint(v, 10)
		default:
			return nil, fmt.Errorf("yields %s: want text, or a whole number", kind(value))
		}
	}
	return json.Marshal(value)
}

// find returns the part of a body at the path raw. The body must be valid JSON.
func (f *mapped) find(body []byte) ([]byte, error) {
	found := bytes.TrimSpace(body)
	for _, name := range f.raw {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(found, &object); err != nil {
			return nil, fmt.Errorf("there is no %s: what would have it is no object", name)
		}
		var has bool
		if found, has = object[name]; !has {
			return nil, fmt.Errorf("%w: %s", rule.ErrMissing, name)
		}
	}
	if f.name != "json" && string(found) == "null" {
		return nil, nil
	}
	return found, nil
}

func kind(value any) string {
	switch v := value.(type) {
	case bool:
		return "a bool"
	case float64:
		if math.Abs(v) >= 1<<63 {
			return "a number beyond 64 bits, whose digits are not kept"
		}
		return "a number that is not whole"
	case []any:
		return "a list"
	}
	return "an object"
}
