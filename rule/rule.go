// Package rule judges HTTP answers. A [Rule] is the name of a preset or a CEL expression, and
// decides whether an answer is accepted. A [Value] is an expression that makes JSON from an answer,
// a [Field] one that makes JSON from a broker's message.
//
// The package makes no request and has no schedule. Compile a text once, when a caller submits it,
// so that the caller gets the error. Then call [Rule.Accepts] for each answer. [Permanent],
// [Throttles] and [RetryAfter] are the same for all rules.
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
//	json     dyn     the body as JSON, null if it is not JSON; whole numbers are int, or uint if int is too small, others double
//	headers  map     names in lower case; several values of one name joined with ", "
//	attempt  int     which attempt was answered, 1 for the first
//
// The functions are CEL's own on numbers and text (size, contains, startsWith, endsWith, matches,
// string, int, double), has, all, exists and exists_one. CEL's strings extension adds charAt,
// indexOf, lastIndexOf, lowerAscii, upperAscii, replace, reverse, split, substring and trim. This
// package adds:
//
//	json_field(path, "exists")          the body is JSON and has this field, which may be null
//	json_field(path, "eq", value)       … and it equals value
//	json_field(path, "in", [values])    … and it equals one of them
//	json_field(path, "regex", pattern)  … and it is text, or a number, that holds a match of pattern (RE2)
//	text_contains(word)                 the body contains word; ASCII letters match in upper and lower case
//
// A path is field names and positions in lists, separated by dots: "data.items.0.code". json_field
// never fails: if there is no such field, it is false. Path, operation and pattern are literals.
//
// # Bounds
//
// Callers choose rules, and receivers choose answers, so the cost of both is bounded. A text has at
// most [MaxText] bytes. A compiled pattern has at most 1,000 instructions of RE2, all patterns of a
// text together 2,000. Functions whose result can be larger than their arguments are left out.
// Lists hold constants only. One side of ==, !=, in and + must be known to be text, a number, a
// bool or null. An evaluation ends with an error at a cost of 1,000,000, which is about 0.1 s. If
// an evaluation ends with an error, the answer is not accepted.
package rule

import (
	"net/http"
	"strings"

	"cel.dev/cel-go/common/types"

	"github.com/bellmanhq/bellman/internal/coded"
)

const (
	// MaxText is the greatest length of a rule, in bytes.
	MaxText = 2048

	// MaxBody is how much of a body a rule reads, in bytes.
	MaxBody = 64 << 10
)

// An Answer is the answer to one attempt.
type Answer struct {
	Status  int         // HTTP status
	Body    []byte      // bytes after the first MaxBody are ignored
	Header  http.Header // may be nil
	Attempt int         // number of the attempt, 1 for the first
}

// A Rule decides which answers are accepted. It is safe for concurrent use. Only Compile makes one.
type Rule struct {
	expression
	plain func(*Answer) bool // a preset; nil for an expression
}

// Compile returns the rule of a preset's name or an expression. An error says where the text is
// wrong, and what would be right.
func Compile(text string) (*Rule, error) {
	text = strings.TrimSpace(text)
	if p := find(text); p != nil {
		return &Rule{expression: expression{text: text}, plain: p.accepts}, nil
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

// Accepts reports whether the rule accepts a. An error says why the expression could not be
// evaluated; the answer is then not accepted. It wraps ErrMissing if the expression
// names a field that a lacks. A preset returns no error.
func (r *Rule) Accepts(a *Answer) (bool, error) {
	a = a.cut()
	if r.plain != nil {
		return r.plain(a), nil
	}
	out, err := r.run(&evaluation{answer: a})
	return err == nil && out == types.True, err
}

// cut returns the answer with at most MaxBody bytes of its body.
func (a *Answer) cut() *Answer {
	if len(a.Body) <= MaxBody {
		return a
	}
	short := *a
	short.Body = a.Body[:MaxBody]
	return &short
}

// isName reports whether text looks like the name of a preset.
func isName(text string) bool {
	for _, c := range text {
		if c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// isKnown reports whether a single name is an expression: a constant or a variable.
func isKnown(name string) bool {
	switch name {
	case "true", "false", "status", "body", "json", "headers", "attempt":
		return true
	}
	return false
}
