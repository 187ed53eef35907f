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

// ParseJSON reads an object, and nothing after it. A number is a json.Number. It refuses a name
// that is there twice: who says two things of one payment says nothing.
func ParseJSON(body []byte) (map[string]any, error) {
	if fields := parseUsual(body); fields != nil {
		return fields, nil
	}
	return parseTokens(body)
}

// parseUsual is parseTokens in a fraction of its time, for an object without any mistake; otherwise
// nil.
func parseUsual(body []byte) map[string]any {
	u := usual{text: string(body)}
	fields, _ := u.value(0).(map[string]any)
	if u.next(); u.at < len(u.text) || u.wrong {
		return nil
	}
	return fields
}

// A usual reads JSON. Texts and numbers that it returns are parts of the text.
type usual struct {
	text  string
	at    int  // how far the text is read
	wrong bool // it is no valid JSON, a name is there twice, or it nests too deep
}

// next skips white space and returns the byte behind it; 0: there is none.
func (u *usual) next() byte {
	for ; u.at < len(u.text); u.at++ {
		switch c := u.text[u.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// take reads the byte c behind white space, and reports whether it is there.
func (u *usual) take(c byte) bool {
	if u.next() != c {
		return false
	}
	u.at++
	return true
}

func (u *usual) value(depth int) any {
	u.wrong = u.wrong || depth == maxDepth
	switch u.next() {
	case '{':
		u.at++
		size := 0
		if depth == 0 {
			size = usualFields
		}
		fields := make(map[string]any, size)
		for more := !u.take('}'); more && !u.wrong; more = u.more('}') {
			if u.next() != '"' {
				u.wrong = true
				break
			}
			name := u.quoted()
			_, twice := fields[name]
			u.wrong = u.wrong || twice || !u.take(':')
			fields[name] = u.value(depth + 1)
		}
		return fields
	case '[':
		u.at++
		var list []any
		for more := !u.take(']'); more && !u.wrong; more = u.more(']') {
			list = append(list, u.value(depth+1))
		}
		return list
	case '"':
		return u.quoted()
	}
	begin := u.at
	for u.at < len(u.text) && strings.IndexByte(",]} \t\r\n", u.text[u.at]) < 0 {
		u.at++
	}
	switch word := u.text[begin:u.at]; word {
	case "true":
		return true
	case "false":
		return false
	case "null":
		return nil
	default:
		u.wrong = u.wrong || !isNumber(word)
		return json.Number(word)
	}
}

// usualFields is for how many fields an object has room at first. Channels answer with ten to
// twenty. A map for 15 takes twice the memory of one for 14.
const usualFields = 14

// more reads a comma, or the end of an object or a list, and reports whether another value follows.
func (u *usual) more(end byte) bool {
	if u.take(',') {
		return true
	}
	u.wrong = u.wrong || !u.take(end)
	return false
}

// quoted reads a text in quotes.
func (u *usual) quoted() string {
	begin, escaped, ascii := u.at, false, true
	for u.at++; u.at < len(u.text); u.at++ {
		switch c := u.text[u.at]; {
		case c == '"':
			u.at++
			text := u.text[begin+1 : u.at-1]
			if !escaped && (ascii || utf8.ValidString(text)) {
				return text
			}
			var unquoted string
			if json.Unmarshal([]byte(u.text[begin:u.at]), &unquoted) != nil {
				u.wrong = true
			}
			return unquoted
		case c == '\\':
			escaped = true
			u.at++
		case c < ' ':
			u.wrong = true
			return ""
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	u.at, u.wrong = len(u.text), true
	return ""
}

// isNumber reports whether a word is a number of JSON.
func isNumber(word string) bool {
	digits := func(text string) string { return strings.TrimLeft(text, "0123456789") }
	word = strings.TrimPrefix(word, "-")
	rest := digits(word)
	if len(rest) == len(word) || word[0] == '0' && len(rest)+1 < len(word) {
		return false
	}
	if fraction, is := strings.CutPrefix(rest, "."); is {
		if rest = digits(fraction); len(rest) == len(fraction) {
			return false
		}
	}
	if rest == "" || rest[0] != 'e' && rest[0] != 'E' {
		return rest == ""
	}
	if rest = rest[1:]; rest != "" && (rest[0] == '+' || rest[0] == '-') {
		rest = rest[1:]
	}
	return rest != "" && digits(rest) == ""
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

// ParseXML reads the fields below the root of a document <xml>, as WeChat Pay v2 writes it. A field
// is a text, or nil if it has elements inside. It returns an error for a field that is there twice,
// and for a document type: no entity is expanded except the five of XML itself.
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

// ParseForm reads k=v&k=v as UnionPay writes it: nothing is escaped, and a value in braces or
// brackets may contain & and =. It rejects a duplicate name, and a body that may have been cut.
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
