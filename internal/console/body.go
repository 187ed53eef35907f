package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/mask"
)

const (
	maxShown  = 64 << 10 // bytes of a body that are shown
	maxIndent = 50       // levels of JSON that are indented; deeper ones get the same indent
)

// A shownBody is a readable form of a body: JSON is indented, a form has one field a line, and
// secrets are masked.
type shownBody struct {
	Text   string
	Kind   string // json, form, text or binary; empty: no body
	Bytes  int    // size of the body itself
	Cut    bool   // the body is longer than what is shown
	Masked bool   // something in it is masked
}

// showBody returns a readable form of a request's or answer's body.
func showBody(body []byte, contentType string) shownBody {
	shown := shownBody{Bytes: len(body)}
	media, _, _ := strings.Cut(contentType, ";")
	switch {
	case len(body) == 0:
		return shown
	case !utf8.Valid(body):
		shown.Kind, shown.Text = "binary", strings.ToValidUTF8(string(body), "\uFFFD")
	default:
		if text, masked, ok := indent(body); ok {
			shown.Kind, shown.Text, shown.Masked = "json", text, masked
		} else if strings.EqualFold(strings.TrimSpace(media), "application/x-www-form-urlencoded") {
			shown.Kind = "form"
			shown.Text, shown.Masked = showForm(string(body))
		} else {
			shown.Kind = "text"
			shown.Text, shown.Masked = mask.Text(string(body))
		}
	}
	if len(shown.Text) > maxShown {
		shown.Text, shown.Cut = cutBytes(shown.Text, maxShown), true
	}
	shown.Text = plain(shown.Text)
	return shown
}

// indent indents JSON. Numbers, the order of fields, and duplicate fields stay as they are. It
// stops shortly after maxShown bytes, because indenting makes a deep body much longer.
func indent(data []byte) (text string, masked, ok bool) {
	trimmed := bytes.TrimSpace(data)
	if len(trimmed) == 0 || (trimmed[0] != '{' && trimmed[0] != '[') || !json.Valid(trimmed) {
		return "", false, false
	}
	p := &indenter{in: json.NewDecoder(bytes.NewReader(trimmed))}
	p.in.UseNumber()
	p.to = json.NewEncoder(&p.out)
	p.to.SetEscapeHTML(false)
	if err := p.value(0); err != nil && !errors.Is(err, errShown) {
		return "", false, false
	}
	return p.out.String(), p.masked, true
}

// errShown ends the indenting when enough is written.
var errShown = errors.New("console: enough is shown")

type indenter struct {
	in     *json.Decoder
	out    bytes.Buffer
	to     *json.Encoder // writes into out
	masked bool
}

func (p *indenter) line(depth int) {
	p.out.WriteByte('\n')
	for range min(depth, maxIndent) {
		p.out.WriteString("  ")
	}
}

func (p *indenter) value(depth int) error {
	if p.out.Len() > maxShown {
		return errShown
	}
	token, err := p.in.Token()
	if err != nil {
		return err
	}
	open, is := token.(json.Delim)
	if !is {
		return p.plain(token)
	}
	p.out.WriteString(open.String())
	n := 0
	for ; p.in.More(); n++ {
		if n > 0 {
			p.out.WriteByte(',')
		}
		p.line(depth + 1)
		if open == '{' {
			err = p.member(depth + 1)
		} else {
			err = p.value(depth + 1)
		}
		if err != nil {
			return err
		}
	}
	end, err := p.in.Token()
	if err != nil {
		return err
	}
	if n > 0 {
		p.line(depth)
	}
	return p.plain(end)
}

func (p *indenter) member(depth int) error {
	name, err := p.in.Token()
	if err != nil {
		return err
	}
	if err := p.plain(name); err != nil {
		return err
	}
	p.out.WriteString(": ")
	text, _ := name.(string)
	if !mask.Name(text) {
		return p.value(depth)
	}
	var hidden json.RawMessage
	if err := p.in.Decode(&hidden); err != nil {
		return err
	}
	p.masked = true
	return p.plain(client.Masked)
}

// plain writes a name, a string, a number, true, false or null.
func (p *indenter) plain(token json.Token) error {
	if d, is := token.(json.Delim); is {
		p.out.WriteString(d.String())
		return nil
	}
	if err := p.to.Encode(token); err != nil {
		return err
	}
	p.out.Truncate(p.out.Len() - 1) // without the line end
	return nil
}

// showForm writes a form with one field a line.
func showForm(raw string) (text string, masked bool) {
	hidden := mask.Form(raw)
	lines := strings.Split(hidden, "&")
	for i, line := range lines {
		name, value, has := strings.Cut(line, "=")
		if !has {
			continue
		}
		n, err1 := url.QueryUnescape(name)
		v, err2 := url.QueryUnescape(value)
		if err1 == nil && err2 == nil {
			lines[i] = n + " = " + v
		}
	}
	return strings.Join(lines, "\n"), hidden != raw
}
