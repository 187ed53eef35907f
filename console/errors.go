package console

import (
	"context"
	"errors"
	"net/http"

	"github.com/bellmanhq/bellman"
)

// A failure is the page that says why there is no other.
type failure struct {
	*view
	Status int
	Why    string
	Detail string // in the words of whoever refused it; may be empty
}

// fail answers with the text of this name instead of a page.
func (q *request) fail(status int, why string, values ...any) {
	q.render(status, "failure", &failure{view: q.view("page.failure"), Status: status, Why: q.visitor.lang.say(why, values...)})
}

// refuse answers with what an error means. What nobody foresaw is logged, and says
// nothing of the inside.
func (q *request) refuse(err error) {
	status, why, detail := q.meaning(err)
	q.render(status, "failure", &failure{view: q.view("page.failure"), Status: status, Why: why, Detail: detail})
}

// meaning is how an error is answered, in the visitor's language, and what whoever
// refused it said.
func (q *request) meaning(err error) (status int, why, detail string) {
	say := q.visitor.lang.say
	var invalid *bellman.Invalid
	switch {
	case errors.As(err, &invalid):
		return http.StatusUnprocessableEntity, say("error.invalid"), q.visitor.lang.invalid(invalid)
	case errors.Is(err, bellman.ErrNotFound):
		return http.StatusNotFound, say("error.not_found"), ""
	case errors.Is(err, bellman.ErrConflict):
		return http.StatusConflict, say("error.conflict"), err.Error()
	case errors.Is(err, bellman.ErrOverloaded), errors.Is(err, bellman.ErrFull):
		return http.StatusServiceUnavailable, say("error.busy"), err.Error()
	case errors.Is(err, bellman.ErrUnknown), errors.Is(err, bellman.ErrFenced), errors.Is(err, bellman.ErrClosed),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable, say("error.again"), err.Error()
	}
	q.log.Error("console: a request failed", "path", q.r.URL.Path, "err", err)
	return http.StatusInternalServerError, say("error.inside"), ""
}

func (q *request) noPage() { q.fail(http.StatusNotFound, "error.no_page") }
