package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/store"
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
	if status == http.StatusForbidden {
		q.recordRefused(q.visitor.Who, q.r.Pattern)
	}
	q.render(status, "failure", &failure{view: q.view("page.failure"), Status: status, Why: q.visitor.lang.say(why, values...)})
}

// recordRefused keeps a record of what somebody was refused: one a minute for each name and
// address, and a bounded number in all.
func (q *request) recordRefused(who, target string) {
	left, ok := q.denied.Enter(who + " " + access.Network(q.proxies.From(q.r)).String())
	if !ok {
		return
	}
	by := bellman.By{Who: who, From: q.visitor.From}
	if left > 0 {
		by.Reason = fmt.Sprintf("%d before it have no record", left)
	}
	q.record(q.r.Context(), store.AuditOf(by, time.Now(), "refused", target)) // whoever keeps it logs what fails
}

// refuse answers with what an error means. What nobody foresaw is logged, and says
// nothing of the inside.
func (q *request) refuse(err error) {
	status, why, detail := q.meaning(err)
	q.render(status, "failure", &failure{view: q.view("page.failure"), Status: status, Why: why, Detail: detail})
}

// meaning is how an error is answered, in the visitor's language, and what whoever
// refused it said. What has no code is of the inside, and says nothing to people.
func (q *request) meaning(err error) (status int, why, detail string) {
	say := q.visitor.lang.say
	detail, _ = q.visitor.lang.coded(err)
	var invalid *bellman.Invalid
	switch {
	case errors.As(err, &invalid):
		return http.StatusUnprocessableEntity, say("error.invalid"), q.visitor.lang.invalid(invalid)
	case errors.Is(err, bellman.ErrNotFound):
		return http.StatusNotFound, say("error.not_found"), ""
	case errors.Is(err, bellman.ErrSuperseded):
		return http.StatusConflict, say("error.superseded"), ""
	case errors.Is(err, bellman.ErrConflict):
		return http.StatusConflict, say("error.conflict"), detail
	case errors.Is(err, bellman.ErrOverloaded):
		return http.StatusServiceUnavailable, say("error.busy"), detail
	case errors.Is(err, bellman.ErrFull):
		return http.StatusServiceUnavailable, say("error.full"), ""
	case errors.Is(err, bellman.ErrUnreachable):
		q.log.Warn("console: the store cannot be reached", "path", q.r.URL.Path, "err", err)
		return http.StatusServiceUnavailable, say("error.unreachable"), ""
	case errors.Is(err, bellman.ErrUnknown), errors.Is(err, bellman.ErrFenced), errors.Is(err, bellman.ErrClosed),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		q.log.Warn("console: the outcome of a request is unknown", "path", q.r.URL.Path, "err", err)
		return http.StatusServiceUnavailable, say("error.again"), ""
	}
	q.log.Error("console: a request failed", "path", q.r.URL.Path, "err", err)
	return http.StatusInternalServerError, say("error.inside"), ""
}

func (q *request) noPage() { q.fail(http.StatusNotFound, "error.no_page") }
