package source

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bellmanhq/bellman/rule"
)

// A plain expression is evaluated without CEL: most mappings only name a part of the body, a header
// or a constant. If the result could differ from CEL's in any way, CEL evaluates the expression.
type plain struct {
	constant []byte                     // JSON; nil: the expression is no constant
	fact     func(*rule.Message) string // nil: it is no property of the message
	header   string                     // name of a header; empty: it is no header
	slot     int                        // of the part of the body that it names, if it is none of the others
}

var (
	part    = regexp.MustCompile(`^json(\.[A-Za-z_][A-Za-z0-9_]*)*$`)
	literal = regexp.MustCompile(`^("[^"\\]*"|'[^'\\]*')$`)
	header  = regexp.MustCompile(`^headers(?:\.([a-z_][a-z0-9_]*)|\["([^"\\]+)"\]|\['([^'\\]+)'\])$`)
)

// plainOf returns the plain form of an expression; nil: it needs CEL.
func plainOf(text string, to *parts) *plain {
	switch {
	case text == "message_id":
		return &plain{fact: func(m *rule.Message) string { return m.ID }}
	case text == "subject":
		return &plain{fact: func(m *rule.Message) string { return m.Subject }}
	case literal.MatchString(text):
		return &plain{constant: appendText(nil, text[1:len(text)-1])}
	case part.MatchString(text):
		return &plain{slot: to.want(strings.Split(text, ".")[1:])}
	}
	if names := header.FindStringSubmatch(text); names != nil {
		return &plain{header: names[1] + names[2] + names[3]}
	}
	return nil
}

// longPlain is the longest text that is not checked by CEL's rules, in bytes.
const longPlain = 64 << 10

// append appends the JSON of a field to b; nothing if the field is left out. It returns false if
// CEL must evaluate the expression.
func (p *plain) append(b []byte, f *mapped, m *rule.Message, found []span) ([]byte, bool) {
	switch {
	case p.constant != nil:
		return append(b, p.constant...), true
	case p.fact != nil:
		text := p.fact(m)
		return appendText(b, text), len(text) <= longPlain
	case p.header != "":
		text, has := m.Header[p.header]
		return appendText(b, text), has && len(text) <= longPlain
	case found == nil || !found[p.slot].has():
		return b, false
	}
	value := found[p.slot].of(m.Body)
	switch {
	case f.name != "json" && string(value) == "null":
		return b, true
	case !f.text:
		return append(b, value...), true
	case len(value) > longPlain:
		return b, false
	case value[0] == '"':
		return appendQuoted(b, value)
	}
	if whole, err := strconv.ParseInt(string(value), 10, 64); err == nil {
		return append(strconv.AppendInt(append(b, '"'), whole, 10), '"'), true
	}
	if whole, err := strconv.ParseUint(string(value), 10, 64); err == nil {
		return append(strconv.AppendUint(append(b, '"'), whole, 10), '"'), true
	}
	return b, false
}

// appendQuoted appends text that is already quoted.
func appendQuoted(b, quoted []byte) ([]byte, bool) {
	if utf8.Valid(quoted) {
		return append(b, quoted...), true
	}
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return b, false
	}
	return appendText(b, text), true
}

// appendText appends text as a JSON string.
func appendText(b []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(text) // cannot fail: any text can be written as JSON
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), text...), '"')
}
