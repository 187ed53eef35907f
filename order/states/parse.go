package states

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/bellmanhq/bellman/internal/flatxml"
	"github.com/bellmanhq/bellman/order"
)

// ParseJSON reads an object, and nothing after it. A number is a json.Number. It refuses a name that is
// there twice: who says two things of one payment says nothing.
func ParseJSON(body []byte) (map[string]any, error) {
	if fields := parseUsual(body); fields != nil {
		return fields, nil
	}
	return parseTokens(body)
}

// parseUsual is parseTokens in a third of its time, for an object without any mistake; otherwise nil.
func parseUsual(body []byte) map[string]any {
	if !json.Valid(body) {
		return nil
	}
	u := usual{rest: string(body)}
	fields, _ := u.value(0).(map[string]any)
	if u.wrong {
		return nil
	}
	return fields
}

// A usual reads valid JSON from its rest. Texts and numbers are parts of that.
type usual struct {
	rest  string
	wrong bool // a name is there twice, or it nests too deep
}

const space = " \t\r\n"

func (u *usual) value(depth int) any {
	u.wrong = u.wrong || depth == maxDepth
	u.rest = strings.TrimLeft(u.rest, space)
	switch u.rest[0] {
	case '{':
		fields := map[string]any{}
		for !u.wrong && u.more('}') {
			name := u.text()
			u.rest = strings.TrimLeft(u.rest, space)[len(":"):]
			_, twice := fields[name]
			fields[name] = u.value(depth + 1)
			u.wrong = u.wrong || twice
		}
		return fields
	case '[':
		var list []any
		for !u.wrong && u.more(']') {
			list = append(list, u.value(depth+1))
		}
		return list
	case '"':
		return u.text()
	}
	switch word := u.next(strings.IndexAny(u.rest, ",]}"+space)); word {
	case "true":
		return true
	case "false":
		return false
	case "null":
		return nil
	default:
		return json.Number(word)
	}
}

// next removes what stands before end from the rest and returns it; a negative end: all.
func (u *usual) next(end int) (text string) {
	if end < 0 {
		end = len(u.rest)
	}
	text, u.rest = u.rest[:end], u.rest[end:]
	return text
}

// more reports whether another value of an object or a list follows. The rest begins before its first value, or behind one.
func (u *usual) more(end byte) bool {
	u.rest = strings.TrimLeft(u.rest, space)
	if u.rest[0] != end { // its beginning, or a comma
		u.rest = strings.TrimLeft(u.rest[1:], space)
	}
	if u.rest[0] != end {
		return true
	}
	u.rest = u.rest[1:]
	return false
}

// text reads a text in quotes.
func (u *usual) text() string {
	end := 1
	for escaped := false; escaped || u.rest[end] != '"'; end++ {
		escaped = !escaped && u.rest[end] == '\\'
	}
	quoted := u.next(end + 1)
	text := quoted[1:end]
	if strings.IndexByte(text, '\\') < 0 && utf8.ValidString(text) {
		return text
	}
	var unquoted string // of valid JSON there is no error
	json.Unmarshal([]byte(quoted), &unquoted)
	return unquoted
}

// maxDepth is how deep objects and lists may nest.
const maxDepth = 100

// parseTokens is ParseJSON, token by token.
func parseTokens(body []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	value, err := parseValue(d, 0)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("something follows the value")
		}
	}
	if err == io.EOF {
		err = errors.New("it ends too early")
	}
	if err != nil {
		return nil, fmt.Errorf("the body is not JSON: %w", err)
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("the body is not a JSON object")
	}
	return fields, nil
}

func parseValue(d *json.Decoder, depth int) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	if depth == maxDepth {
		return nil, fmt.Errorf("it nests deeper than %d", maxDepth)
	}
	switch token {
	case json.Delim('{'):
		fields := map[string]any{}
		for d.More() {
			token, err := d.Token()
			if err != nil {
				return nil, err
			}
			name, _ := token.(string) // the decoder takes nothing else here
			if _, twice := fields[name]; twice {
				return nil, fmt.Errorf("field %.40q is there twice", name)
			}
			if fields[name], err = parseValue(d, depth+1); err != nil {
				return nil, err
			}
		}
		_, err = d.Token()
		return fields, err
	case json.Delim('['):
		var list []any
		for d.More() {
			value, err := parseValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err = d.Token()
		return list, err
	}
	return token, nil
}

// ParseXML reads the fields below the root of a document <xml>, as WeChat Pay v2 writes it. A field is a
// text, or nil if it has elements inside. It returns an error for a field that is there twice, and for a
// document type: no entity is expanded except the five of XML itself.
func ParseXML(body []byte) (map[string]any, error) {
	fields := map[string]any{}
	err := flatxml.Read(body, func(name, text string, nested bool) error {
		if _, twice := fields[name]; twice {
			return fmt.Errorf("field %.40q is there twice", name)
		}
		fields[name] = text
		if nested {
			fields[name] = nil // an element of elements has no text
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return fields, nil
}

// parseForm reads what ParseForm does, without line ends behind the last value.
func parseForm(body []byte) (map[string]any, error) {
	if len(body) >= order.MaxBody {
		return nil, errTooLong
	}
	return ParseForm(bytes.TrimRight(body, "\r\n"))
}

// ParseForm reads k=v&k=v as UnionPay writes it: nothing is escaped, and a value
// in braces or brackets may hold & and = itself. It refuses a name that is there
// twice, and a body that may have been cut.
func ParseForm(body []byte) (map[string]any, error) {
	text := string(body)
	if len(body) >= order.MaxBody {
		return nil, errTooLong
	}
	fields := map[string]any{}
	for text != "" {
		name, rest, found := strings.Cut(text, "=")
		if !found || name == "" || strings.ContainsAny(name, "&{}[]<> \r\n\"") {
			return nil, errors.New("the body is not a form: want k=v&k=v")
		}
		value := rest
		depth, end := 0, len(rest)
		for i, c := range rest {
			switch c {
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			if c == '&' && depth <= 0 {
				end = i
				break
			}
		}
		value, text = rest[:end], strings.TrimPrefix(rest[end:], "&")
		if depth > 0 {
			return nil, errors.New("the body is not a form: a brace is not closed")
		}
		if _, twice := fields[name]; twice {
			return nil, fmt.Errorf("field %.40q is there twice", name)
		}
		fields[name] = value
	}
	if len(fields) == 0 {
		return nil, errors.New("the body is empty")
	}
	return fields, nil
}

// either reads JSON where a body begins like it, else with parse.
func either(parse func([]byte) (map[string]any, error)) func([]byte) (map[string]any, error) {
	return func(body []byte) (map[string]any, error) {
		if bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) {
			return ParseJSON(body)
		}
		return parse(body)
	}
}
