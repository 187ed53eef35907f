package console

import (
	"regexp"
	"strings"

	"github.com/bellmanhq/bellman"
)

// labels are the texts under which forms show the API's fields.
var labels = map[string]string{
	"filter": "field.filter", "filter.kind": "field.kind", "filter.status": "field.status", "filter.created_from": "field.from", "filter.created_to": "field.to",
	"mode": "resend.mode", "rate": "resend.rate", "due": "act.when", "outcome": "act.outcome", "reason": "act.reason", "queue": "field.queue", "life": "link.life",
	"merchant_no": "field.merchant_no", "order_no": "field.order_no", "name": "merchant.name", "notify_url": "merchant.url", "sign": "merchant.sign",
	"sign.scheme": "merchant.sign", "sign.secrets": "merchant.keys", "sign.serial": "merchant.serial", "secret": "merchant.secret", "overlap": "merchant.overlap",
	"schedule": "field.schedule", "success": "field.success", "timeout": "field.timeout",
	"per_endpoint.concurrency": "queue.concurrency", "per_endpoint.rate": "queue.rate",
}

// A problem is one that a field can have, as whoever refused it words it, and the text
// that says so, of which $1 and what follows are {a}, {b} and {c}.
type problem struct {
	says *regexp.Regexp
	text string
}

// problems are those that a form can meet, of which others do not say more. What is not
// among them is shown in the words in which it came.
var problems = []problem{
	{regexp.MustCompile(`^want an absolute URL that begins with`), "problem.url"},
	{regexp.MustCompile(`^is empty: want at least one of queue`), "problem.filter"},
	{regexp.MustCompile(`^is not before created_to`), "problem.from"},
	{regexp.MustCompile(`^is more than ten years ahead`), "problem.ahead"},
	{regexp.MustCompile(`^is required`), "problem.required"},
	{regexp.MustCompile(`^is longer than (\d+) characters`), "problem.long"},
	{regexp.MustCompile(`^has a control character`), "problem.control"},
	{regexp.MustCompile(`^(\S+) is out of range: want (\S+) to (\S+)`), "problem.range"},
	{regexp.MustCompile(`^want (\d\w*) to (\d\w*)`), "problem.between"},
	{regexp.MustCompile(`^want a rate such as`), "problem.rate"},
	{regexp.MustCompile(`^duration (".*"): want`), "problem.duration"},
	{regexp.MustCompile(`^no preset is called (".*"): want`), "problem.preset"},
	{regexp.MustCompile(`^item (\d+) (".*"): want`), "problem.item"},
	{regexp.MustCompile(`^(\S+) a second: want above 0 and at most (\d+)`), "problem.speed"},
	{regexp.MustCompile(`^is missing: `), "problem.missing"},
}

// problem says what is wrong with a field in the visitor's language.
func (l *language) problem(in string) string {
	for _, p := range problems {
		if found := p.says.FindStringSubmatch(in); found != nil {
			var values []any
			for i, part := range found[1:] {
				values = append(values, string(rune('a'+i)), part)
			}
			return l.say(p.text, values...)
		}
	}
	return in
}

// invalid says what is wrong with which fields, as forms name them.
func (l *language) invalid(e *bellman.Invalid) string {
	texts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		name, _, _ := strings.Cut(f.Field, "[") // one of several
		if label, is := labels[name]; is {
			name = l.say(label)
		} else {
			name = f.Field
		}
		texts[i] = name + ": " + l.problem(f.Problem)
	}
	return strings.Join(texts, "; ")
}
