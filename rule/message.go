package rule

import (
	"net/http"

	"cel.dev/cel-go/cel"
)

// MaxMessageValue is the longest result of a field of a message, in bytes of JSON.
const MaxMessageValue = 2 << 20

// A Message is what the fields of a task are made of where it comes from a broker.
type Message struct {
	ID      string            // message_id: what makes it the same message when it comes again; may be empty
	Subject string            // subject: the routing key or subject that it was published with
	Header  map[string]string // headers, by lower-case names
	Body    []byte            // body, and json when it is that
}

// A Field makes one field of a task of a message. It is an expression as in a rule,
// with message_id and subject in the place of status and attempt, and it may yield
// anything that is JSON:
//
//	has(json.order) ? json.order.no : headers["order-no"]
//
// It is safe for concurrent use. Get one from CompileField.
type Field struct{ expression }

// CompileField makes a field of its text. The error says where the text is wrong,
// and what would be right.
func CompileField(text string) (*Field, error) {
	x, err := compileMaker(text, "json.order_no", "headers, json, body, message_id, subject", messageEnvironment)
	if err != nil {
		return nil, err
	}
	return &Field{x}, nil
}

// String returns the text that the field was made of.
func (f *Field) String() string { return f.text }

// A Reading is a message that fields are made of, one after the other: its JSON is
// parsed once for all. It is for one goroutine.
type Reading struct {
	evaluation
	message *Message
}

// Read returns the reading of a message, which must not change while it is used.
func Read(m *Message) *Reading {
	header := make(http.Header, len(m.Header))
	for name, value := range m.Header {
		header[name] = []string{value}
	}
	r := &Reading{message: m}
	r.evaluation = evaluation{answer: &Answer{Body: m.Body, Header: header}, facts: messageFacts{m}}
	return r
}

// JSON returns why the body is no JSON, or nil.
func (r *Reading) JSON() error {
	r.json()
	return r.notJSON
}

// Evaluate returns what encoding/json writes as the field of a message: nil, bool,
// string, int64, uint64, float64, []any or map[string]any, at most MaxMessageValue
// bytes of it. The error is ErrMissing if the message lacks what the expression
// names.
func (f *Field) Evaluate(r *Reading) (any, error) {
	out, err := f.run(&r.evaluation)
	if err != nil {
		return nil, err
	}
	b := builder{left: MaxMessageValue, most: MaxMessageValue}
	return b.value(out, maxDepth)
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
