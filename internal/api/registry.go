package api

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/registry"
	"github.com/bellmanhq/bellman/schedule"
	"github.com/bellmanhq/bellman/store"
)

// What the calls about merchants and those about accounts share.

// stated is an answer with its own status.
type stated[T any] struct {
	Status int
	Body   T
}

// put is the answer to a put of an entry.
func put[T any](entry T, isNew bool) *stated[T] {
	if isNew {
		return &stated[T]{http.StatusCreated, entry}
	}
	return &stated[T]{http.StatusOK, entry}
}

// registerPut registers the put of an entry.
func registerPut[In, T any](p part, op huma.Operation, serve func(context.Context, *In) (*stated[T], error)) {
	op.SkipValidateBody = true
	register(p, op, serve)
	responses := p.OpenAPI().Paths[op.Path].Put.Responses
	responses["200"] = jsonResponse(p, reflect.TypeFor[T](), "It was there already.")
	responses["201"] = jsonResponse(p, reflect.TypeFor[T](), "It is new.")
}

// overtaken returns the answer to a put of an entry that somebody changed, with the other wrong
// fields below a path.
func (a *API) overtaken(err error, at string) *client.Problem {
	p := a.refuse(err)
	if overtaken, is := errors.AsType[*registry.ChangedError](err); is && len(overtaken.Also) > 0 {
		p.Errors = faultsAt(overtaken.Also, at)
	}
	return p
}

// imported returns the status and the problem of one entry of a batch, whose fields are below a
// path. unread says why the entry could not be imported; nil: it could.
func (a *API) imported(r *registry.Imported, unread *client.Problem, at string) (status int, refused *client.Problem) {
	switch {
	case unread != nil:
		return unread.Status, unread
	case r.Err != nil:
		if invalid, is := errors.AsType[*bellman.Invalid](r.Err); is {
			list := faultsAt(invalid.Fields, at)
			refused = newProblem(http.StatusUnprocessableEntity, wrong(len(list)), list...)
		} else {
			refused = a.overtaken(r.Err, at)
		}
		return refused.Status, refused
	case r.Created:
		return http.StatusCreated, nil
	case r.Changed:
		return http.StatusOK, nil
	}
	return http.StatusNoContent, nil
}

func faultsAt(fields []bellman.FieldError, at string) []client.Fault {
	list := make([]client.Fault, len(fields))
	for i, f := range fields {
		list[i] = client.Fault{Location: at + f.Field, Message: f.Problem}
	}
	return list
}

// overlapOf returns how long former secrets stay valid; negative: the default.
func overlapOf(text string) (time.Duration, *client.Problem) {
	if text == "" {
		return -1, nil
	}
	d, err := schedule.ParseDuration(text)
	if err != nil {
		return 0, wrongField("body.overlap", err.Error())
	}
	return d, nil
}

// unreadBatch returns why a batch as a whole cannot be read; nil: it can.
func unreadBatch(faulty []bellman.FieldError, refused *client.Problem) *client.Problem {
	if refused == nil && faulty != nil {
		return newProblem(http.StatusUnprocessableEntity, wrong(len(faulty)), faultsAt(faulty, "body.")...)
	}
	return refused
}

// exporting writes the audit record of an export: once a minute, not for each of many pages.
func (a *API) exporting(ctx context.Context, by *Caller, what string) error {
	if _, ok := a.exports.Enter(by.who + " " + by.from + " " + what); !ok {
		return nil
	}
	return a.o.Record(ctx, store.AuditOf(by.by(""), time.Now(), "export", what))
}
