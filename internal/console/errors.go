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

// A failure is the page of an error.
type failure struct {
	*view
	Status int
	Why    string
	Detail string // details in the words of the error; may be empty
}

// A refusal is an error with the status and the text of its page.
type refusal struct {
	status int
	why    string // name of the text
	values []any  // of the text
}

func (r *refusal) Error() string { return r.why }

// fail returns the error of a page with a status and the text of this name.
func fail(status int, why string, values ...any) error { return &refusal{status, why, values} }

// recordRefused makes an audit record of a refused request: at most one a minute for each name and
// address, and a bounded number in all.
func (q *request) recordRefused(who, target string) {
	left, ok := q.denied.Enter(who + " " + access.Network(q.o.Proxies.From(q.r)).String())
	if !ok {
		return
	}
	by := bellman.By{Who: who, From: q.visitor.From}
	if left > 0 {
		by.Reason = fmt.Sprintf("%d before it have no record", left)
	}
	q.o.Record(q.r.Context(), store.AuditOf(by, time.Now(), "refused", target)) // Record logs its own errors
}

// refuse answers with the page of an error. An unexpected error is logged, and the page reveals
// nothing about it.
func (q *request) refuse(err error) {
	status, why, detail := q.meaning(err)
	if status == http.StatusForbidden {
		q.recordRefused(q.visitor.Who, q.r.Pattern)
	}
	title := "page.failure"
	if status == http.StatusNotFound {
		title = "page.missing"
	}
	q.render(status, "failure", &failure{view: q.view(title), Status: status, Why: why, Detail: detail})
}

// meaning returns the status, the text in the visitor's language and the details of an error. An
// error without a code is internal, and its details are not shown.
func (q *request) meaning(err error) (status int, why, detail string) {
	say := q.visitor.lang.say
	detail, _ = q.visitor.lang.coded(err)
	var invalid *bellman.Invalid
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		return refused.status, say(refused.why, refused.values...), ""
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
	case errors.Is(err, bellman.ErrLocked):
		return http.StatusServiceUnavailable, say("error.locked"), ""
	case errors.Is(err, bellman.ErrUnreachable):
		q.o.Log.Warn("console: the store cannot be reached", "path", q.r.URL.Path, "err", err)
		return http.StatusServiceUnavailable, say("error.unreachable"), ""
	case errors.Is(err, bellman.ErrUnknown), errors.Is(err, bellman.ErrFenced), errors.Is(err, bellman.ErrClosed),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		q.o.Log.Warn("console: the outcome of a request is unknown", "path", q.r.URL.Path, "err", err)
		return http.StatusServiceUnavailable, say("error.again"), ""
	}
	q.o.Log.Error("console: a request failed", "path", q.r.URL.Path, "err", err)
	return http.StatusInternalServerError, say("error.inside"), ""
}

func (q *request) noPage() error { return fail(http.StatusNotFound, "error.no_page") }
