package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/coded"
)

func newProblem(status int, detail string, list ...client.Fault) *client.Problem {
	return &client.Problem{Title: http.StatusText(status), Status: status, Detail: detail, Errors: list}
}

func wrongField(location, message string) *client.Problem {
	return newProblem(http.StatusUnprocessableEntity, wrong(1), client.Fault{Location: location, Message: message})
}

// later returns the problem of a request that may succeed later.
func later(status int, after time.Duration, detail string) *client.Problem {
	p := newProblem(status, detail)
	p.RetryAfter = after
	return p
}

// missing returns err; if err is a not found, a problem that says what was not found.
func missing(err error, what string) error {
	if errors.Is(err, bellman.ErrNotFound) {
		return newProblem(http.StatusNotFound, "there is no "+what)
	}
	return err
}

// refuse returns the answer to an error. Unforeseen errors are logged, and answered with 500
// without any detail.
func (a *API) refuse(err error) *client.Problem {
	var invalid *bellman.Invalid
	var p *client.Problem
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &invalid):
		f := faults{at: single}
		f.take(invalid)
		return f.problem()
	case errors.Is(err, bellman.ErrNotFound):
		return newProblem(http.StatusNotFound, said(err))
	case errors.Is(err, bellman.ErrKeyTaken):
		return newProblem(http.StatusConflict, "the key exists in this queue with other content: compare with the task at instance, or give another key")
	case errors.Is(err, bellman.ErrAliasTaken):
		return newProblem(http.StatusConflict, "another order has this channel order number in this account")
	case errors.Is(err, bellman.ErrConflict):
		text := said(err)
		if text == said(bellman.ErrConflict) {
			text += ": it was changed meanwhile: read it again, and repeat the request if it still holds"
		}
		return newProblem(http.StatusConflict, text)
	case errors.Is(err, bellman.ErrOverloaded):
		text := "more is waiting than can be kept up with: nothing was accepted, try again"
		if _, is := errors.AsType[*coded.Error](err); is { // something else is too much, such as bulk resends
			text = said(err)
		}
		return later(http.StatusTooManyRequests, time.Second, text)
	case errors.Is(err, bellman.ErrFull):
		return later(http.StatusServiceUnavailable, 10*time.Second, "the store is full: nothing was accepted, try again when there is room")
	case errors.Is(err, bellman.ErrLocked):
		return later(http.StatusServiceUnavailable, time.Second,
			"an open database transaction of another program has added this key or number, or has locked the whole table: nothing was written, end that transaction and try again")
	case errors.Is(err, bellman.ErrUnreachable):
		return later(http.StatusServiceUnavailable, time.Second, "the database cannot be reached: nothing was accepted, try again")
	case errors.Is(err, bellman.ErrUnknown):
		return later(http.StatusServiceUnavailable, time.Second, "the store did not say whether this was written: ask again, with the same key if it is to create")
	case errors.Is(err, bellman.ErrClosed):
		return later(http.StatusServiceUnavailable, 5*time.Second, "this server is shutting down")
	case errors.Is(err, bellman.ErrFenced):
		return later(http.StatusServiceUnavailable, time.Second, "another node has taken over: try again")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return later(http.StatusServiceUnavailable, time.Second, "there was no answer in time: it may have been done all the same")
	}
	a.o.Log.Error("a request failed", "err", err)
	return newProblem(http.StatusInternalServerError, "something went wrong inside; the log says what")
}

// said returns the text of an error for callers.
func said(err error) string { return strings.ReplaceAll(err.Error(), "bellman: ", "") }

func write(w http.ResponseWriter, p *client.Problem) {
	h := w.Header()
	h["Content-Type"] = problemType
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(max(p.RetryAfter.Round(time.Second)/time.Second, 1))))
	}
	w.WriteHeader(p.Status)
	w.Write(marshal(p)) // an error means that the client has gone
}

// Shared by all answers, which saves allocations.
var (
	jsonType    = []string{"application/json"}
	problemType = []string{"application/problem+json"}
)
