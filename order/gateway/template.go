package gateway

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
)

const wantName = "want {order_no}, {merchant_no} or {vars.NAME}, or {ref_no} of a poll"

// placeholder matches everything that looks like a placeholder, valid or not, but not the braces of
// JSON.
var placeholder = regexp.MustCompile(`\{[A-Za-z_][^{}",:\n]*\}`)

// name matches the content of a valid placeholder.
var name = regexp.MustCompile(`^(order_no|merchant_no|ref_no|vars\.[A-Za-z0-9_.-]+)$`)

// A template is text with placeholders for an order's values.
type template []part

// A part is literal text or a placeholder.
type part struct {
	text string // literal text, as it is sent; empty for a placeholder
	name string // order_no, merchant_no, ref_no or vars.NAME; empty for literal text

	// put returns a value in the form of its place, or what is wrong with the value.
	put func(value string) (text, problem string)
}

// scan finds the placeholders of a text. The caller sets their put.
func scan(text string) (template, error) {
	var t template
	at := 0
	for _, m := range placeholder.FindAllStringIndex(text, -1) {
		if at < m[0] {
			t = append(t, part{text: text[at:m[0]]})
		}
		found := text[m[0]+1 : m[1]-1]
		if !name.MatchString(found) {
			return nil, fmt.Errorf("{%.40s} is unknown: %s", found, wantName)
		}
		t = append(t, part{name: found})
		at = m[1]
	}
	if at < len(text) {
		t = append(t, part{text: text[at:]})
	}
	for _, p := range t {
		for _, begun := range []string{"{order_no", "{merchant_no", "{ref_no", "{vars."} {
			if strings.Contains(p.text, begun) {
				return nil, fmt.Errorf("%s has no closing brace", begun)
			}
		}
	}
	return t, nil
}

// strict returns an error for braces that are not placeholders.
func (t template) strict() error {
	for _, p := range t {
		if strings.ContainsAny(p.text, "{}") {
			return fmt.Errorf("a brace begins or ends no placeholder: %s", wantName)
		}
	}
	return nil
}

// fixed reports whether the template has no placeholder.
func (t template) fixed() bool {
	return !slices.ContainsFunc(t, func(p part) bool { return p.name != "" })
}

// with returns the text with the result of value in each place, unescaped.
func (t template) with(value func(p part) string) string {
	var b strings.Builder
	for _, p := range t {
		if p.name != "" {
			b.WriteString(value(p))
		}
		b.WriteString(p.text)
	}
	return b.String()
}

// expand writes the text for an order. It adds invalid values to bad, each once.
func (t template) expand(o *order.Order, bad *bellman.Invalid) string {
	if len(t) == 1 && t[0].name == "" {
		return t[0].text
	}
	var b strings.Builder
	for _, p := range t {
		if p.name == "" {
			b.WriteString(p.text)
			continue
		}
		value, known := valueOf(o, p.name)
		switch {
		case !known:
			note(bad, p.name, "is missing: the queue's channel needs it")
			continue
		case !utf8.ValidString(value):
			note(bad, p.name, "is not UTF-8")
			continue
		}
		text, problem := p.put(value)
		if problem != "" {
			note(bad, p.name, problem)
		}
		b.WriteString(text)
	}
	return b.String()
}

func valueOf(o *order.Order, name string) (value string, known bool) {
	switch name {
	case "order_no":
		return o.OrderNo, true
	case "merchant_no":
		return o.MerchantNo, true
	case "ref_no":
		return o.RefNo, o.RefNo != ""
	}
	value, known = o.Vars[strings.TrimPrefix(name, "vars.")]
	return value, known
}

// note adds a wrong field to bad, once.
func note(bad *bellman.Invalid, field, problem string) {
	if !bad.Has(field) {
		bad.Add(field, problem)
	}
}
