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

const wantName = "want {order_no}, {merchant_no} or {vars.NAME}"

// placeholder is what looks like one, right or wrong; a brace of JSON does not.
var placeholder = regexp.MustCompile(`\{[A-Za-z_][^{}",:\n]*\}`)

// name is what stands between the braces of a right one.
var name = regexp.MustCompile(`^(order_no|merchant_no|vars\.[A-Za-z0-9_.-]+)$`)

// A template is text with places for an order's values.
type template []part

// A part is literal text, or a place for a value.
type part struct {
	text string // as it is sent; of a place: empty
	name string // whose value: order_no, merchant_no, vars.NAME; empty: none

	// put writes a value for its place. A problem says what is wrong with it.
	put func(value string) (text, problem string)
}

// scan finds the placeholders of a text. Their put is for whoever knows where they
// stand.
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
		for _, begun := range []string{"{order_no", "{merchant_no", "{vars."} {
			if strings.Contains(p.text, begun) {
				return nil, fmt.Errorf("%s has no closing brace", begun)
			}
		}
	}
	return t, nil
}

// strict refuses braces that are no placeholder, where they mean nothing else.
func (t template) strict() error {
	for _, p := range t {
		if strings.ContainsAny(p.text, "{}") {
			return fmt.Errorf("a brace begins or ends no placeholder: %s", wantName)
		}
	}
	return nil
}

// fixed reports whether there is no placeholder.
func (t template) fixed() bool {
	return !slices.ContainsFunc(t, func(p part) bool { return p.name != "" })
}

// with returns the text with the same value in each place, unescaped.
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

// expand writes the text for an order. What is wrong with a value is noted once.
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
	}
	value, known = o.Vars[strings.TrimPrefix(name, "vars.")]
	return value, known
}

// note notes a wrong field, once.
func note(bad *bellman.Invalid, field, problem string) {
	if !slices.ContainsFunc(bad.Fields, func(f bellman.FieldError) bool { return f.Field == field }) {
		bad.Add(field, problem)
	}
}
