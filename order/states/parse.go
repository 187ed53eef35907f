package states

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

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

// parseUsual is parseTokens in half of its time, for an object without any mistake; otherwise nil.
func parseUsual(body []byte) map[string]any {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var fields map[string]any
	if d.Decode(&fields) != nil || len(bytes.Trim(body[d.InputOffset():], " \t\r\n")) > 0 {
		return nil
	}
	// Each name has one colon, so a name that is there twice leaves a colon over.
	if n, ok := names(fields, 0); !ok || n != colons(body) {
		return nil
	}
	return fields
}

// names returns the number of names in all objects of a value. ok is false if it nests too deep.
func names(value any, depth int) (n int, ok bool) {
	if depth == maxDepth {
		return 0, false
	}
	ok = true
	switch v := value.(type) {
	case map[string]any:
		n = len(v)
		for _, in := range v {
			more, shallow := names(in, depth+1)
			n, ok = n+more, ok && shallow
		}
	case []any:
		for _, in := range v {
			more, shallow := names(in, depth+1)
			n, ok = n+more, ok && shallow
		}
	}
	return n, ok
}

// colons returns the number of colons of valid JSON that are outside of texts.
func colons(body []byte) (n int) {
	text := false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case c == '"':
			text = !text
		case c == '\\':
			i++
		case c == ':' && !text:
			n++
		}
	}
	return n
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
