// Package rule judges answers: a preset's name or a CEL expression over an HTTP
// answer says whether it is the one that was waited for. A [Value] is such an
// expression that makes JSON of an answer.
//
// It makes no request and knows no schedule. Compile a text once, when it is
// given, so that a mistake is an answer to whoever gave it; then ask
// [Rule.Accepts] about each answer. [Permanent] and [RetryAfter] read what an
// answer says apart from its rule.
//
// # Expressions
//
// An expression is CEL (https://cel.dev) and yields a bool:
//
//	status == 200 && body.trim() == "success"
//	status == 200 && json_field("data.code", "in", ["SUCCESS", "0"])
//	status in [200, 204] || headers["x-received"] == "yes"
//
// Its variables:
//
//	status   int     the HTTP status
//	body     string  the body; bytes that are no UTF-8 read as U+FFFD
//	json     dyn     the body as JSON, or null when it is none; whole numbers are int, or uint above it, others double
//	headers  map     names in lower case; several values of one name joined with ", "
//	attempt  int     which attempt was answered, 1 for the first
//
// Its functions are CEL's own on numbers and text (size, contains, startsWith,
// endsWith, matches, string, int, double), has, all, exists and exists_one, from
// CEL's strings extension charAt, indexOf, lastIndexOf, lowerAscii, upperAscii,
// replace, reverse, split, substring and trim, and:
//
//	json_field(path, "exists")          the body is JSON and has this field, be it null
//	json_field(path, "eq", value)       … and it equals value
//	json_field(path, "in", [values])    … and it equals one of them
//	json_field(path, "regex", pattern)  … and it is text, or a number, that holds a match of pattern (RE2)
//	text_contains(word)                 the body contains word, in whatever ASCII case
//
// A path is field names with dots between them, and positions in lists:
// "data.items.0.code". json_field never fails: what is not there is false. Path,
// operation and pattern are written out, not computed.
//
// # Bounds
//
// A rule comes from whoever creates a task, and the answer from whoever receives
// it, so neither may cost more than a moment, whatever they are. A text has at
// most [MaxText] bytes, each pattern at most 1,000 instructions of RE2 when it is compiled,
// and all patterns of a text together at most 2,000. Functions whose result can outgrow their arguments are
// left out, lists hold constants only, and of the two sides of ==, !=, in and +
// one must be known to be text, a number, a bool or null. Each evaluation
// counts its cost, and ends with an error at 1,000,000: about a tenth of a
// second. An evaluation that ends with an error accepts nothing.
package rule

import (
	"net/http"
	"strings"

	"cel.dev/cel-go/common/types"

	"github.com/bellmanhq/bellman/internal/coded"
)

const (
	// MaxText is the longest rule, in bytes.
	MaxText = 2048

	// MaxBody is how much of a body a rule looks at, in bytes.
	MaxBody = 64 << 10
)

// An Answer is what came back from an attempt.
type Answer struct {
	Status  int         // HTTP status
	Body    []byte      // what follows the first 64 KiB is not looked at
	Header  http.Header // may be nil
	Attempt int         // which attempt was answered, 1 for the first
}

// A Rule says which answers are accepted. It is safe for concurrent use. Get
// one from Compile.
type Rule struct {
	expression
	plain func(*Answer) bool // a preset; nil for an expression
}

// Compile makes a rule of a preset's name or of an expression. The error says
// where the text is wrong, and what would be right.
func Compile(text string) (*Rule, error) {
	text = strings.TrimSpace(text)
	if p := find(text); p != nil {
		r := &Rule{expression: expression{text: text}, plain: p.accepts}
		if p.Warning != "" {
			r.warnings = []string{p.Warning}
		}
		return r, nil
	}
	switch {
	case text == "":
		return nil, coded.Errorf("rule.empty", "rule: no text: want a preset's name, such as success_text, or an expression, such as status == 200")
	case len(text) > MaxText:
		return nil, coded.Errorf("rule.long", "rule: %d bytes long: want at most %d", len(text), MaxText)
	case isName(text) && !isKnown(text):
		return nil, coded.Errorf("rule.preset", "rule: no preset is called %q: want one of %s, or an expression", text, strings.Join(names(), ", "))
	}
	return compileExpression(text)
}

// Accepts reports whether a is the answer that was waited for. The error says
// why an expression could not be evaluated, ErrMissing among others; then the
// answer is not accepted. A preset never fails.
func (r *Rule) Accepts(a *Answer) (bool, error) {
	a = a.cut()
	if r.plain != nil {
		return r.plain(a), nil
	}
	out, err := r.evaluate(a, nil)
	return err == nil && out == types.True, err
}

// cut returns the answer with no more of its body than is looked at.
func (a *Answer) cut() *Answer {
	if len(a.Body) <= MaxBody {
		return a
	}
	short := *a
	short.Body = a.Body[:MaxBody]
	return &short
}

// String returns the text that the rule was made of.
func (r *Rule) String() string { return r.text }

// Warnings says, a sentence each, in what way the rule accepts more than its
// author may think. Most rules have none.
func (r *Rule) Warnings() []string { return r.warnings }

// isName reports whether text looks like the name of a preset.
func isName(text string) bool {
	for _, c := range text {
		if c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// isKnown reports whether a lone name means something in an expression.
func isKnown(name string) bool {
	switch name {
	case "true", "false", "status", "body", "json", "headers", "attempt":
		return true
	}
	return false
}
