package gateway

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"mime"
	"regexp"
	"strings"
)

const (
	typeJSON = "application/json"
	typeXML  = "application/xml"
	typeForm = "application/x-www-form-urlencoded"
	typeText = "text/plain; charset=utf-8"
)

// compileBody parses a body. Its kind comes from Content-Type, or from what the body looks like.
func (r *request) compileBody(text string) error {
	t, err := scan(text)
	if err != nil {
		return err
	}
	r.body = t
	media := looks(text)
	if given, ok := r.find("Content-Type"); !ok {
		r.header = append(r.header, header{"Content-Type", template{{text: media}}})
	} else if !given.fixed() {
		return errors.New("its Content-Type has a placeholder: what the body is has to be known")
	} else if media, _, err = mime.ParseMediaType(given.with(nil)); err != nil {
		return errors.New("its Content-Type is none: want one such as application/json")
	}
	switch {
	case t.fixed():
		return nil
	case strings.HasSuffix(media, "/json"), strings.HasSuffix(media, "+json"):
		return compileJSON(t)
	case strings.HasSuffix(media, "/xml"), strings.HasSuffix(media, "+xml"):
		return compileXML(t)
	case media == typeForm:
		if err := t.strict(); err != nil {
			return err
		}
		t[0].text = strings.TrimLeft(t[0].text, " \r\n")
		t[len(t)-1].text = strings.TrimRight(t[len(t)-1].text, " \r\n")
		return compileForm(t)
	}
	return errors.New("has placeholders and is no JSON, no form and no XML: a value cannot be escaped for it")
}

var (
	begins    = regexp.MustCompile("^" + placeholder.String())
	parameter = regexp.MustCompile(`^[^\s=&<]+=`)
)

// looks returns the kind that a body looks like.
func looks(body string) string {
	body = strings.TrimSpace(body)
	switch {
	case strings.HasPrefix(body, "["), strings.HasPrefix(body, "{") && !begins.MatchString(body):
		return typeJSON
	case strings.HasPrefix(body, "<"):
		return typeXML
	case parameter.MatchString(body):
		return typeForm
	}
	return typeText
}

// compileJSON sets how values are written into JSON: escaped within a string, and elsewhere as a
// number.
func compileJSON(t template) error {
	inText, escaped, filled, wasFilled := false, false, false, false
	for i := range t {
		p := &t[i]
		switch {
		case p.name == "":
		case inText:
			p.put, filled = inJSON, true
		default:
			p.put, wasFilled = asNumber, false
		}
		for _, c := range []byte(p.text) {
			switch {
			case inText && escaped:
				escaped = false
			case inText && c == '\\':
				escaped = true
			case inText && c == '"':
				inText, wasFilled = false, filled
			case inText, c == ' ', c == '\t', c == '\r', c == '\n':
			case c == '"':
				inText, filled, wasFilled = true, false, false
			case c == ':' && wasFilled:
				return errors.New("a placeholder stands in the name of a field: want it in a value")
			default:
				wasFilled = false
			}
		}
	}
	// Two samples find wrong places: "x" after a backslash is no valid escape, and these numbers do
	// not fit beside other digits.
	for _, number := range []string{"-0.5e1", "-0"} {
		sample := t.with(func(p part) string {
			if _, problem := p.put("x"); problem != "" {
				return number
			}
			return "x"
		})
		if !json.Valid([]byte(sample)) {
			return errors.New(`is no JSON: want placeholders within a text, as in "{order_no}", or alone where a number is wanted`)
		}
	}
	return nil
}

func inJSON(value string) (text, problem string) {
	b, err := json.Marshal(value)
	if err != nil {
		return "", "cannot be written as JSON" // a string can always be written
	}
	return string(b[1 : len(b)-1]), ""
}

func asNumber(value string) (text, problem string) {
	if value == "" || strings.Trim(value, "0123456789+-.eE") != "" || !json.Valid([]byte(value)) {
		return "", "want a number, which the channel's template has a place for"
	}
	return value, ""
}

// compileXML sets how values are written into XML: into text, or into the value of an attribute.
func compileXML(t template) error {
	inTag, quote := false, byte(0)
	for i := range t {
		p := &t[i]
		if p.name != "" {
			if inTag && quote == 0 {
				return fmt.Errorf("{%s} stands in a tag: want it in text, or in the quotes of an attribute", p.name)
			}
			p.put = inXML
			continue
		}
		if strings.Contains(p.text, "<!") {
			return errors.New("has a CDATA section, a comment or a DOCTYPE beside placeholders: want plain text, which is escaped")
		}
		for _, c := range []byte(p.text) {
			switch {
			case quote != 0:
				if c == quote {
					quote = 0
				}
			case inTag && (c == '"' || c == '\''):
				quote = c
			case c == '<':
				inTag = true
			case c == '>':
				inTag = false
			}
		}
	}
	d := xml.NewDecoder(strings.NewReader(t.with(func(part) string { return "x" })))
	elements := 0
	for {
		token, err := d.Token()
		if err == io.EOF && elements > 0 {
			return nil
		}
		if err != nil {
			return errors.New("is no XML in UTF-8")
		}
		if _, ok := token.(xml.StartElement); ok {
			elements++
		}
	}
}

func inXML(value string) (text, problem string) {
	if strings.ContainsFunc(value, func(r rune) bool {
		return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF
	}) {
		return "", "has a control character, which XML cannot hold"
	}
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(value)); err != nil {
		return "", "cannot be written as XML" // a string can always be written
	}
	return b.String(), ""
}
