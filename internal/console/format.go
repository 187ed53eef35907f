package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/attention"
	"github.com/bellmanhq/bellman/internal/mask"
	"github.com/bellmanhq/bellman/internal/money"
	"github.com/bellmanhq/bellman/internal/resend"
	"github.com/bellmanhq/bellman/schedule"
)

// functions returns the functions that pages call, with the texts of one language.
func functions(l *language) template.FuncMap {
	return template.FuncMap{
		"t":      l.text,
		"named":  l.named,
		"at":     l.at,
		"since":  l.since,
		"asset":  asset,
		"took":   took,
		"gap":    schedule.FormatDuration,
		"number": grouped,
		"money":  money.Format,
		"plain":  plain,
		"wrap":   wrap,
		"node":   nodeName,
		"fault":  l.fault,
		"within": l.within,
		"short":  bounded,
		"url":    maskURL,
		"query":  query,
		"host":   hostShown,
		"stamp":  stamp,
		"shift":  func(x, by float64) string { return strconv.FormatFloat(x+by, 'f', 1, 64) },
		"tone":   tone,
		"wants":  l.wants,
		"share":  func(rate *float64) float64 { return *rate },
		"rate":   perSecond,
		"marks":  (*chart).Kinds,
		"said":   func(answer string) string { return bounded(plain(readable(mask.Body(answer, ""))), 80) },
		"ahead":  func(d time.Duration) string { return took(max(d, -d)) },
		"affected": func(kind string, n int) string {
			name := cmp.Or(affected[kind], "need.tasks")
			if n == 1 {
				return singular[name]
			}
			return name
		},
		"actions": func() []string {
			return []string{"resend", "restart", "cancel", "reschedule", "complete", "decide", "settle", "reconcile", "pause", "resume", "link", "revoke", "put", "delete", "rotate", "import", "reseal", "test", "backup", "move", "sign_in", "sign_out", "refused", "export", "open", "keys", "reveal"}
		},
		"account":       func(credential string) bool { return strings.HasPrefix(credential, "accounts.") },
		"differing":     differing,
		"registered":    registered,
		"auditlink":     auditLink,
		"auditjob":      auditJob,
		"endpointtasks": endpointTasks,
		"percent": func(share float64) string {
			return strconv.FormatFloat(100*share, 'f', 1, 64) + " %"
		},
		"megabytes":   func(bytes int64) string { return grouped(bytes >> 20) },
		"down":        func(y, by int) int { return y + by },
		"states":      func() []string { return stateNames },
		"schemes":     sign.Schemes,
		"lives":       func() []string { return lives },
		"outcomes":    func() []string { return outcomes },
		"pollclass":   func(state string) string { return cmp.Or(pollClasses[state], state) },
		"ends":        func() []string { return pollOutcomes },
		"orderstates": func() []string { return resend.OrderStates },
		"queried":     func() []string { return keptFields },
		"kinds":       func() []string { return kindNames },
		"results":     func() []string { return resultNames },
	}
}

// at writes a time in UTC; the script converts it to the viewer's zone.
func (l *language) at(t time.Time) template.HTML { return l.time(t, "at") }

// since writes a time that the script shows as "ago" or "in".
func (l *language) since(t time.Time) template.HTML { return l.time(t, "since") }

func (l *language) time(t time.Time, as string) template.HTML {
	if t.IsZero() {
		return "–"
	}
	t = t.UTC()
	// The values contain nothing from outside.
	return template.HTML(fmt.Sprintf(`<time datetime="%s" data-%s title="%s UTC">%s UTC</time>`,
		t.Format("2006-01-02T15:04:05.000Z"), as, t.Format("2006-01-02 15:04:05.000"), t.Format("2006-01-02 15:04:05")))
}

// took formats a duration with three digits and a unit.
func took(d time.Duration) string {
	switch {
	case d < 0:
		return "–"
	case d == 0:
		return "0 ms"
	case d < time.Millisecond:
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 2, 64) + " ms"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) + " s"
	}
	return schedule.FormatDuration(d.Round(time.Second))
}

// perSecond formats a rate: a configured one as it is, a measured one with four digits. 0: there is
// none.
func perSecond(rate float64) string {
	if rate == 0 {
		return "–"
	}
	const short = 12
	if text := schedule.FormatRate(rate); len(text) <= short {
		return text
	}
	about, _ := strconv.ParseFloat(strconv.FormatFloat(rate, 'g', 4, 64), 64) // cannot fail: FormatFloat wrote it
	return strconv.FormatFloat(about, 'f', -1, 64) + "/s"
}

// grouped formats the integer 1234567 as 1,234,567.
func grouped(n any) string {
	text := fmt.Sprint(n)
	digits := strings.TrimPrefix(text, "-")
	var b strings.Builder
	b.WriteString(text[:len(text)-len(digits)])
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// escaped are characters that JSON writes by their numbers, as PHP does with every Chinese
// character.
var escaped = regexp.MustCompile(`(?:\\u[0-9a-fA-F]{4})+`)

// readable replaces the numbers of characters in a JSON text by the characters.
func readable(text string) string {
	return escaped.ReplaceAllStringFunc(text, func(numbers string) string {
		var s string
		if json.Unmarshal([]byte(`"`+numbers+`"`), &s) != nil {
			return numbers
		}
		return s
	})
}

// affected are the texts for the number of what an item affects, if that is not tasks.
var affected = map[string]string{
	attention.OrdersUnknown: "need.orders", attention.AmountMismatch: "need.orders", attention.LatePayment: "need.orders", attention.DuplicatePayment: "need.orders", attention.PaymentWithoutOrder: "need.orders",
	attention.PollNeedsAction: "need.refunds", attention.BillDiffers: "need.differences", attention.NoticesRefused: "need.notices", attention.ShardsUnowned: "need.shards",
}

// singular are the texts for the number 1.
var singular = map[string]string{
	"need.tasks": "need.task", "need.orders": "need.order", "need.refunds": "need.refund", "need.differences": "need.difference", "need.notices": "need.notice", "need.shards": "need.shard",
}

// plain replaces control characters, and characters that change the direction of text, by their
// numbers. Line ends and tabs stay.
func plain(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hidden(r rune) bool {
	switch {
	case r == '\n', r == '\t', r == '\r':
		return false
	case r == '\u200d', r == '\u200c': // joiners within one character: emoji, Indic scripts
		return false
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' || r == '\ufeff' || r == '\u200b'
}

// wrap writes a text so that its long words, such as URLs and keys, are broken after a separator
// where a line ends. The text is what plain returns.
func wrap(s string) template.HTML {
	const here = "\u200b" // plain leaves none
	s = longWord.ReplaceAllStringFunc(s, func(word string) string { return separator.ReplaceAllString(word, "$0"+here) })
	return template.HTML(strings.ReplaceAll(template.HTMLEscapeString(s), here, "<wbr>"))
}

var (
	longWord  = regexp.MustCompile(`\S{17,}`)
	separator = regexp.MustCompile(`[/:.,?=_@&}]+`)
)

// nodeName writes the name of a node. The middle of a long one is hidden; its tooltip has it, and
// so has the clipboard when the name is copied.
func nodeName(name string) template.HTML {
	const head, tail = 12, 6
	r := []rune(plain(name))
	if len(r) <= head+tail+2 {
		return template.HTML(`<span class="node">` + template.HTMLEscapeString(string(r)) + `</span>`)
	}
	part := func(from, to int) string { return template.HTMLEscapeString(string(r[from:to])) }
	return template.HTML(`<span class="node" title="` + part(0, len(r)) + `">` + part(0, head) + `<span>` + part(head, len(r)-tail) + `</span>` + part(len(r)-tail, len(r)) + `</span>`)
}

// bounded returns s, cut after n characters.
func bounded(s string, n int) string {
	if len(s) <= n {
		return s
	}
	seen := 0
	for i := range s {
		if seen == n {
			return s[:i] + "…"
		}
		seen++
	}
	return s
}

// query returns an address with a query of the given names and values. Empty values are left out.
func query(path string, values ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(values); i += 2 {
		if values[i+1] != "" {
			q.Set(values[i], values[i+1])
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// pollClasses are the states of orders whose looks the states of polls have; others look as an
// order's of that name.
var pollClasses = map[string]string{"DONE": "PAID", "FAILED_THERE": "FAILED"}

var stateNames = []string{"pending", "succeeded", "failed", "cancelled"}

// kindNames are the kinds of tasks, resultNames the results of an attempt.
var (
	kindNames   = []string{"notify", "order", "poll"}
	resultNames = []string{"accepted", "refused", "error_status", "unreachable", "timeout", "blocked", "unknown"}
)

// stamp formats a time for a tooltip, which the script does not change.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2006-01-02 15:04:05.000") + " UTC"
}

// hostShown returns a short form of a task's address.
func hostShown(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return plain(u.Host)
}

// cutBytes returns at most n bytes of s, without cutting a character.
func cutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
