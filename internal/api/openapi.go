package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/danielgtaylor/huma/v2/validation"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/store"
)

// maxSmall limits the bodies of all calls except creates.
const maxSmall = 64 << 10

func init() {
	// Names of fields are exactly in lower case. huma has only this global setting.
	huma.ValidateStrictCasing = true
}

// An adapter registers huma's operations: behind the check of the caller's key, by id and by key,
// and with a handler of this package where there is one.
type adapter struct {
	api    *API
	direct map[string]func(*response, *http.Request) // handlers by operation id
}

func (ad *adapter) ServeHTTP(w http.ResponseWriter, r *http.Request) { ad.api.mux.ServeHTTP(w, r) }

// Handle is called by huma for each operation.
func (ad *adapter) Handle(op *huma.Operation, handle func(huma.Context)) {
	a := ad.api
	serve := ad.direct[op.OperationID]
	if serve == nil {
		serve = func(w *response, r *http.Request) { a.viaHuma(w, r, op, handle) }
	}
	a.mux.HandleFunc(op.Method+" "+op.Path, a.guard(op, serve))
	if rest, ok := strings.CutPrefix(op.Path, taskPath); ok {
		a.mux.HandleFunc(op.Method+" "+keyedPath+rest, a.guard(op, func(w *response, r *http.Request) {
			id, err := a.lookup(r, &w.holder)
			if err != nil {
				write(w, a.refuse(err))
				return
			}
			r.SetPathValue("id", id.String())
			serve(w, r)
		}))
	}
}

const (
	taskPath  = "/v1/tasks/{id}"
	keyedPath = "/v1/queues/{queue}/keys/{key}"
)

// lookup finds the task of a path with queue and key. A key can be guessed, so a task that the
// caller does not reach is answered as one that does not exist.
func (a *API) lookup(r *http.Request, by *holder) (bellman.ID, error) {
	queue, key := r.PathValue("queue"), r.PathValue("key")
	if !by.scope.HasQueue(queue) {
		return bellman.ID{}, by.outsideQueue(queue)
	}
	id, err := bellman.ID{}, bellman.ErrNotFound
	if len(key) <= bellman.MaxKey && len(queue) <= bellman.MaxName*4 {
		id, err = store.Lookup(r.Context(), a.o.Reader, queue, key)
	}
	what := fmt.Sprintf("task with the key %q in the queue %q", cut(key), cut(queue))
	if by.limited() {
		what += " in the scope of this key, " + by.limits()
		if err == nil {
			var t *bellman.Task
			if t, err = a.o.Reader.Task(r.Context(), id); err == nil && !by.sees(t) {
				err = bellman.ErrNotFound
			}
		}
	}
	return id, missing(err, what)
}

// viaHuma prepares a request for huma: it reads the body with a limit, and requires strict JSON
// whatever its Content-Type is.
func (a *API) viaHuma(w *response, r *http.Request, op *huma.Operation, handle func(huma.Context)) {
	if op.RequestBody != nil {
		body, refused := readBody(w, r, int(op.MaxBodyBytes)-1, nil)
		if refused != nil {
			write(w, refused)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
	}
	handle(humago.NewContext(op, r, w))
}

// A Caller is the caller of a request. Every input embeds it, and gets the check for unknown
// parameters with it.
type Caller struct {
	holder
	from     string
	foreign  bool // a page of another site makes the request
	response *response
}

// Resolve is called by huma, as the last of its checks.
func (c *Caller) Resolve(ctx huma.Context) []error {
	r, w := humago.Unwrap(ctx)
	c.response = w.(*response)
	c.holder, c.from = c.response.holder, c.response.from
	c.foreign = foreign(r)
	var errs []error
	for _, f := range queryFaults(r, ctx.Operation().Parameters...) {
		errs = append(errs, &huma.ErrorDetail{Location: f.Location, Message: f.Message})
	}
	return errs
}

// refusesPart notes that a part of the request is refused, if the reason is the limits of its key.
// The other parts are answered, so that the answer as a whole does not show it.
func (c *Caller) refusesPart(p *client.Problem) {
	if p != nil && p.Status == http.StatusForbidden {
		c.response.part = true
	}
}

func (c *Caller) by(reason string) bellman.By {
	return bellman.By{Who: c.who, Reason: reason, From: c.from}
}

// An answer is an output with a body.
type answer[T any] struct{ Body T }

func ok[T any](body T) (*answer[T], error) { return &answer[T]{body}, nil }

// answered returns the answer with a result, unless there is an error.
func answered[T any](body T, err error) (*answer[T], error) { return &answer[T]{body}, err }

// fail returns the answer to an error of an operation.
func (a *API) fail(err error) error {
	p := a.refuse(err)
	if p.RetryAfter == 0 {
		return p
	}
	seconds := fmt.Sprint(int(max(p.RetryAfter.Seconds(), 1)))
	return huma.ErrorWithHeaders(p, http.Header{"Retry-After": {seconds}})
}

// A part is a part of the API that a server may lack: then its calls are answered with 501.
type part struct {
	huma.API
	fail func(error) error // returns the answer to an error of a call
	lack string            // what the answer says; empty: the server has it
}

func partOf(all part, has bool, lack string) part {
	if !has {
		all.lack = lack
	}
	return all
}

// register registers a call of a part. Errors of serve, which need not be problems, become answers
// here.
func register[I, O any](p part, op huma.Operation, serve func(context.Context, *I) (*O, error)) {
	if p.lack != "" {
		serve = func(context.Context, *I) (*O, error) { return nil, newProblem(http.StatusNotImplemented, p.lack) }
	}
	huma.Register(p.API, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := serve(ctx, in)
		if err != nil {
			return nil, p.fail(err)
		}
		return out, nil
	})
}

// operation describes one call.
func operation(id, method, path string, need access.Rights, summary string) huma.Operation {
	op := huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary,
		MaxBodyBytes: maxSmall + 1,
		Metadata:     map[string]any{"need": need},
	}
	op.Security = []map[string][]string{} // no key is needed
	if need != access.Open {
		op.Security = []map[string][]string{{"key": {}}}
		op.Description = "Needs the role " + need.String() + "."
	}
	return op
}

// scoped marks an operation that keeps to the scope of a key. All other operations reject keys
// whose scope is limited.
func scoped(op huma.Operation) huma.Operation {
	op.Metadata["scoped"] = true
	return op
}

// register registers all routes, and the document that describes them.
func (a *API) register() error {
	format := huma.Format{Marshal: huma.DefaultJSONFormat.Marshal, Unmarshal: unmarshal}
	config := huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "bellman", Version: a.o.Version,
				License:     &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
				Description: described,
			},
			Servers: []*huma.Server{{URL: "http://127.0.0.1:2355", Description: "Where bellman serve listens unless it is told otherwise."}},
			Components: &huma.Components{
				Schemas:         huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer),
				SecuritySchemes: map[string]*huma.SecurityScheme{"key": {Type: "http", Scheme: "bearer", Description: "A key of the configuration, which may be limited to some queues and merchants. Where there are no keys, everybody may do everything."}},
			},
		},
		Formats:       map[string]huma.Format{"application/json": format, "json": format}, // application/problem+json
		DefaultFormat: "application/json",
		Transformers:  []huma.Transformer{ours},
	}
	ad := &adapter{api: a, direct: map[string]func(*response, *http.Request){
		"create-task":    a.create,
		"create-tasks":   a.createBatch,
		"events":         a.events,
		"reconcile-file": a.reconcileFile,
		"openapi":        a.openapi,
		"healthz":        a.healthz,
		"readyz":         a.readyz,
	}}
	if a.o.Metrics != nil {
		ad.direct["metrics"] = func(w *response, r *http.Request) { a.o.Metrics.ServeHTTP(w, r) }
	}
	h := part{API: huma.NewAPI(config, ad), fail: a.fail}
	a.registerCreate(h)
	a.registerTasks(h)
	a.registerOrders(h)
	a.registerOperate(h)
	a.registerResends(h)
	a.registerReconciliations(h)
	a.registerLinks(h)
	a.registerNotices(h)
	a.registerMerchants(h)
	a.registerAccounts(h)
	a.registerProbes(h)
	a.mux.HandleFunc("/", a.noSuchPath)
	a.doc = h.OpenAPI()
	text, err := document(a.doc)
	if err != nil {
		return fmt.Errorf("write the OpenAPI document: %w", err)
	}
	a.docText = text
	return nil
}

// unmarshal decodes strict JSON.
func unmarshal(data []byte, v any) error {
	if kept, is := v.(interface{ keep(data []byte) }); is {
		kept.keep(data)
		return nil
	}
	if _, first := v.(*any); first { // huma decodes twice; the first time is a check
		if err := strict(data, "json"); err != nil {
			return err
		}
	}
	return json.Unmarshal(data, v)
}

// ours converts huma's problems to those of this package.
func ours(_ huma.Context, _ string, v any) (any, error) {
	m, is := v.(*huma.ErrorModel)
	if !is {
		return v, nil
	}
	p := newProblem(m.Status, m.Detail)
	for _, e := range m.Errors[:min(len(m.Errors), maxFaults)] {
		p.Errors = append(p.Errors, fault(e))
	}
	switch {
	case m.Status == http.StatusUnprocessableEntity:
		p.Detail = wrong(len(m.Errors))
	case m.Status == http.StatusBadRequest && len(m.Errors) == 1:
		p.Detail, p.Errors = "malformed JSON: "+m.Errors[0].Message, nil
	}
	return p, nil
}

// bounds are the ranges of numbers, by field: huma's message names only one bound.
var bounds = map[string]string{
	"limit": "want 1 to 200", "status": "want 100 to 599", "concurrency": "want 1 to 100000", "attempts": "want 1 or more", "amount": "want 1 or more", "attempts_after": "want 0 to 2147483647", "attempt": "want 0 to 2147483647",
}

var outOfBounds = regexp.MustCompile(`^expected number [<>]= `)

// fault converts a mistake that huma found. A missing field gets its own path, like all others.
func fault(e *huma.ErrorDetail) client.Fault {
	var name string
	if _, err := fmt.Sscanf(e.Message, "expected required property %s to be present", &name); err == nil {
		return client.Fault{Location: e.Location + "." + name, Message: "is required"}
	}
	message := e.Message
	switch {
	case message == validation.MsgUnexpectedProperty:
		message = "there is no such field"
	case message == validation.MsgExpectedRFC3339DateTime:
		text, _ := e.Value.(string)
		message = noTime(text)
	case strings.HasPrefix(message, "invalid value: parsing time "): // in a query
		message = "want RFC 3339 in UTC such as 2026-11-20T15:04:05Z; write + as %2B"
	case strings.HasPrefix(message, "expected string to be RFC 4122 uuid"):
		message = wantID
	case message == "invalid integer", message == validation.MsgExpectedInteger:
		message = "want a whole number"
	case message == validation.MsgExpectedString:
		message = "want text in quotes"
	case message == validation.MsgExpectedObject:
		message = "want an object"
	case strings.HasPrefix(message, validation.MsgExpectedArray): // wrong type or length
		message = fmt.Sprintf("want an array of 1 to %d %s", client.MaxBatch, e.Location[strings.LastIndexByte(e.Location, '.')+1:])
	case message == "expected length >= 1":
		message = "is empty"
	default:
		if known, is := bounds[e.Location[strings.LastIndexByte(e.Location, '.')+1:]]; is && outOfBounds.MatchString(message) {
			message = known
		}
		for _, of := range []struct{ theirs, ours string }{
			{validation.MsgExpectedMaxLength, "is longer than %d characters"},
			{validation.MsgExpectedMinimumNumber, "want %d or more"},
			{validation.MsgExpectedMaximumNumber, "want %d at most"},
		} {
			var n int
			if _, err := fmt.Sscanf(message, strings.ReplaceAll(of.theirs, "%v", "%d"), &n); err == nil {
				message = fmt.Sprintf(of.ours, n)
			}
		}
		if names, is := strings.CutPrefix(message, `expected value to be one of "`); is {
			message = "want one of " + strings.TrimSuffix(names, `"`)
		}
	}
	return client.Fault{Location: cut(e.Location), Message: message}
}
