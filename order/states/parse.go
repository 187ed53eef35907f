package states

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/bellmanhq/bellman/internal/ascii"
	"github.com/bellmanhq/bellman/order"
)

// parseJSON reads an object, and nothing after it. It refuses a name that is
// there twice: who says two things of one payment says nothing.
func parseJSON(body []byte) (map[string]any, error) {
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
	if depth == 100 {
		return nil, errors.New("it nests deeper than 100")
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

// parseXML reads the fields below the root of a document <xml>, in CDATA or not.
// It refuses a field that is there twice, and a document type: no entity is
// expanded but XML's own five.
func parseXML(body []byte) (map[string]any, error) {
	d := xml.NewDecoder(bytes.NewReader(body))
	d.CharsetReader = ascii.Of
	fields := map[string]any{}
	var path []string
	var text strings.Builder
	roots, nested := 0, false
	for {
		token, err := d.RawToken()
		switch {
		case err == io.EOF && len(path) == 0 && roots == 1:
			return fields, nil
		case err == io.EOF:
			return nil, errors.New("the body is not XML: it ends too early")
		case err != nil:
			return nil, fmt.Errorf("the body is not XML: %w", err)
		}
		switch t := token.(type) {
		case xml.Directive:
			return nil, errors.New("the body has a document type")
		case xml.StartElement:
			name := nameOf(t.Name)
			switch len(path) {
			case 0:
				if roots++; name != "xml" || roots > 1 {
					return nil, fmt.Errorf("the body is not one document <xml>: it has <%.40s>", name)
				}
			case 1:
				if _, twice := fields[name]; twice {
					return nil, fmt.Errorf("field %.40q is there twice", name)
				}
				text.Reset()
				nested = false
			case 20:
				return nil, errors.New("the body nests deeper than 20")
			default:
				nested = true
			}
			path = append(path, name)
		case xml.EndElement:
			last := len(path) - 1
			if last < 0 || path[last] != nameOf(t.Name) {
				return nil, fmt.Errorf("the body is not XML: </%.40s> closes nothing", nameOf(t.Name))
			}
			if path = path[:last]; last == 1 {
				fields[nameOf(t.Name)] = text.String()
				if nested {
					fields[nameOf(t.Name)] = nil // an element of elements, which has no text
				}
			}
		case xml.CharData:
			switch {
			case len(path) == 2:
				text.Write(t)
			case len(path) == 0 && len(bytes.Trim(t, " \t\r\n")) > 0:
				return nil, errors.New("the body is not XML: text around the document")
			}
		}
	}
}

func nameOf(n xml.Name) string {
	if n.Space != "" {
		return n.Space + ":" + n.Local
	}
	return n.Local
}

// parseForm reads k=v&k=v as UnionPay writes it: nothing is escaped, and a value
// in braces or brackets may hold & and = itself. It refuses a name that is there
// twice, and a body that may have been cut.
func parseForm(body []byte) (map[string]any, error) {
	text := strings.TrimRight(string(body), "\r\n")
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
			return parseJSON(body)
		}
		return parse(body)
	}
}
