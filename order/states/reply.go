package states

import (
	"encoding/json"
	"errors"

	"github.com/bellmanhq/bellman/order"
)

var errTooLong = errors.New("the body is longer than 64 KiB")

// A reply is an answer whose body was parsed. A number is a json.Number, exactly
// as it was written.
type reply struct {
	status int
	fields map[string]any // nil if the body is not what the preset reads
	unread error          // why fields is nil
}

func read(a *order.Answer, parse func([]byte) (map[string]any, error)) reply {
	r := reply{status: a.Status}
	if len(a.Body) > order.MaxBody {
		r.unread = errTooLong
	} else {
		r.fields, r.unread = parse(a.Body)
	}
	return r
}

// field returns what is at a path of names; nil if nothing is.
func (r reply) field(path ...string) any {
	var value any = r.fields
	for _, name := range path {
		fields, _ := value.(map[string]any)
		value = fields[name]
	}
	return value
}

// text returns the text at a path; empty if there is none.
func (r reply) text(path ...string) string {
	text, _ := r.field(path...).(string)
	return text
}

// word returns the text or number at a path as text; empty if there is neither.
func (r reply) word(path ...string) string {
	switch v := r.field(path...).(type) {
	case string:
		return v
	case json.Number:
		return string(v)
	}
	return ""
}

// objectOf returns a reply whose body is v, for an element of a list.
func objectOf(v any) reply {
	fields, _ := v.(map[string]any)
	return reply{fields: fields}
}

// within returns a reply whose body is the object at a path.
func (r reply) within(path ...string) reply {
	r.fields, _ = r.field(path...).(map[string]any)
	return r
}
