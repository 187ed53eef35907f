package console

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/internal/mask"
)

type attemptView struct {
	*view
	Task    *bellman.Task
	Attempt *bellman.Attempt
	Answer  shownBody
	Said    []field // the header of the answer, with *** for values that may be secret; nil: it is not kept
	Parts   []timePart
	Reused  bool // the connection was there already

	Sent    *deliver.Sent // the request, built again; nil: see Missing
	Missing string        // why the request cannot be built again
	Header  []field       // of Sent, with *** for values that are not kept
	Body    shownBody     // of Sent
	Signed  shownBody     // of Sent

	Before, After int // the numbers of the previous and the next attempt; 0: there is none
}

// A timePart is a part of the time that an attempt took.
type timePart struct {
	Name string // of its text
	Took time.Duration
}

func (q *request) attemptPage() error {
	t, err := q.task()
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(q.r.PathValue("number"))
	if err != nil || number < 1 || number > int(t.Attempts) {
		return fail(http.StatusNotFound, "error.no_attempt", "n", t.Attempts)
	}
	log, err := q.o.Reader.Attempts(q.r.Context(), t.ID, number-1, 1)
	if err != nil {
		return err
	}
	if len(log) == 0 || log[0].Number != number {
		return fail(http.StatusNotFound, "error.no_attempt", "n", t.Attempts)
	}
	a := &log[0]
	v := &attemptView{view: q.view("page.attempt"), Task: t, Attempt: a, Answer: showBody([]byte(a.Response), ""), Said: sorted(mask.Headers(a.Headers()))}
	v.Title = strconv.Itoa(number) + " · " + v.Title
	v.Parts, v.Reused = partsOf(a)
	if v.Before = number - 1; number < int(t.Attempts) {
		v.After = number + 1
	}
	q.addSent(v)
	return q.render(http.StatusOK, "attempt", v)
}

// partsOf returns the parts of the time that an attempt took. The last part is the rest.
func partsOf(a *bellman.Attempt) (parts []timePart, reused bool) {
	rest := a.Took
	for _, p := range []timePart{{"attempt.dns", a.Timing.DNS}, {"attempt.connect", a.Timing.Connect}, {"attempt.tls", a.Timing.TLS}, {"attempt.first", a.Timing.FirstByte}} {
		if p.Took > 0 {
			parts = append(parts, p)
			rest -= p.Took
		}
	}
	last := "attempt.rest"
	if a.Timing.FirstByte > 0 {
		last = "attempt.last"
	}
	made := a.Timing.DNS+a.Timing.Connect+a.Timing.TLS > 0
	return append(parts, timePart{last, max(rest, 0)}), !made && a.Status > 0
}

// addSent adds the request of an attempt.
func (q *request) addSent(v *attemptView) {
	if q.o.Sent == nil {
		v.Missing = q.visitor.lang.say("attempt.unknown")
		return
	}
	s, err := q.o.Sent(q.r.Context(), v.Task, v.Attempt, false)
	if err != nil {
		v.Missing = q.visitor.lang.problem(err)
		return
	}
	s.URL = mask.URL(s.URL)
	v.Sent = &s
	header := make(map[string]string, len(s.Header)+len(s.Signature))
	for name, values := range s.Header {
		header[name] = strings.Join(values, ", ")
	}
	for _, name := range s.Signature {
		header[name] = client.Masked
	}
	v.Header = sorted(header)
	v.Body = showBody(s.Body, s.Header.Get("Content-Type"))
	v.Signed = shownBody{Text: plain(cutBytes(string(s.Signed), maxShown)), Cut: len(s.Signed) > maxShown}
}

// Masked reports whether the request was masked, so that the signed text differs from the real one.
func (v *attemptView) Masked() bool {
	return strings.Contains(string(v.Sent.Body)+v.Sent.URL, client.Masked) ||
		slices.ContainsFunc(v.Header, func(f field) bool { return f.Value == client.Masked && !slices.Contains(v.Sent.Signature, f.Name) })
}

// wants returns which answers a rule accepts, in words; the rule itself if it is an expression.
func (l *language) wants(rule string) string {
	if text, known := l.texts["wants."+rule]; known {
		return text
	}
	return l.say("wants", "rule", plain(rule))
}
