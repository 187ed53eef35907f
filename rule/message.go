package rule

import (
	"net/http"

	"cel.dev/cel-go/cel"
)

// MaxMessageValue is the greatest length of a Field's result, in bytes of JSON.
const MaxMessageValue = 2 << 20

// A Message is a broker's message, from which the fields of a task are made.
type Message struct {
	ID      string            // message_id: the same if the message is delivered again; may be empty
	Subject string            // subject: the routing key or subject of the message
	Header  map[string]string // headers, by lower-case names
	Body    []byte            // body, and json if it is JSON
}

// A Field is an expression that makes one field of a task from a message. Its variables are those
// of a rule, with message_id and subject in place of status and attempt. Its result is JSON:
//
//	has(json.order) ? json.order.no : headers["order-no"]
//
// It is safe for concurrent use. Only CompileField makes one.
type Field struct{ expression }

// CompileField returns the Field of a text. An error says where the text is wrong, and what would
// be right.
func CompileField(text string) (*Field, error) {
	x, err := compileMaker(text, "json.order_no", "headers, json, body, message_id, subject", messageEnvironment)
	if err != nil {
		return nil, err
	}
	return &Field{x}, nil
}

// A Reading evaluates several Fields for one message and parses its JSON once. It is not safe for
// concurrent use.
type Reading struct {
	evaluation evaluation
	message    *Message
}

// Read returns the Reading of a message. The message must not change while the Reading is used.
func Read(m *Message) *Reading {
	header := make(http.Header, len(m.Header))
	for name, value := range m.Header {
		header[name] = []string{value}
	}
	r := &Reading{message: m}
	r.evaluation = evaluation{answer: &Answer{Body: m.Body, Header: header}, facts: messageFacts{m}}
	return r
}

// JSON returns why the body is not JSON; nil: it is JSON.
func (r *Reading) JSON() error {
	r.evaluation.json()
	return r.evaluation.notJSON
}

// Evaluate returns a value for encoding/json: nil, bool, string, int64, uint64, float64, []any or
// map[string]any, of at most MaxMessageValue bytes of JSON. The error wraps ErrMissing if the
// message lacks a field that the expression names.
func (f *Field) Evaluate(r *Reading) (any, error) {
	return f.build(&r.evaluation, MaxMessageValue)
}

func messageVariables() []cel.EnvOption {
	return []cel.EnvOption{
		cel.Variable("message_id", cel.StringType),
		cel.Variable("subject", cel.StringType),
	}
}

type messageFacts struct{ *Message }

func (m messageFacts) resolve(name string) (any, bool) {
	switch name {
	case "message_id":
		return m.ID, true
	case "subject":
		return m.Subject, true
	}
	return nil, false
}
