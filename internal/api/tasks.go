package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/mask"
	"github.com/bellmanhq/bellman/rule"
	"github.com/bellmanhq/bellman/schedule"
	"github.com/bellmanhq/bellman/store"
)

// registerCreate registers the two calls that create. Handlers of this package serve both;
// create-task has a huma handler for tests.
func (a *API) registerCreate(h part) {
	op := scoped(operation("create-task", http.MethodPost, "/v1/tasks", access.MayCreate, "Create a task. It is durable when 201 is answered."))
	op.MaxBodyBytes = maxJSON + 1
	op.DefaultStatus = http.StatusCreated
	huma.Register(h.API, op, func(context.Context, *struct {
		Caller
		Body client.CreateTask
	}) (*created, error) {
		return nil, errors.New("API.create serves it: this describes it")
	})
	doc := h.OpenAPI().Paths["/v1/tasks"].Post
	doc.RequestBody.Content["application/json"].Example = client.CreateTask{
		Queue: "merchant-notify", Key: "M1001/20261120000001/paid", MerchantNo: "M1001", OrderNo: "20261120000001", Event: "payment.succeeded",
		URL: "https://merchant.example/notify", JSON: []byte(`{"order_no":"20261120000001","state":"SUCCESS"}`),
	}
	doc.Responses["200"] = jsonResponse(h, reflect.TypeFor[client.Task](), "The key was there already with the same content; nothing was created.")

	op = scoped(operation("create-tasks", http.MethodPost, "/v1/tasks/batch", access.MayCreate, "Create up to 1,000 tasks. A bad one does not stop the others."))
	op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
		"application/json": {Schema: h.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[client.Batch](), true, "Batch")},
	}}
	op.Responses = map[string]*huma.Response{"200": jsonResponse(h, reflect.TypeFor[client.Batched](), "One result per task, in order.")}
	h.OpenAPI().AddOperation(&op)
	h.Adapter().Handle(&op, nil)
}

type created struct {
	Status   int
	Location string `header:"Location"`
	Body     client.Task
}

// An ID is a task's id in a path.
type ID struct {
	ID string `path:"id" format:"uuid" doc:"The task's id."`
}

const wantID = "want a UUID such as 0192f3a4-5b6c-7d8e-9f01-23456789abcd"

func parseID(text string) (bellman.ID, error) {
	id, err := bellman.ParseID(text)
	if err != nil {
		return id, wrongField("path.id", wantID)
	}
	return id, nil
}

// registerTasks registers the calls on one task, and the list.
func (a *API) registerTasks(h part) {
	register(h, scoped(operation("get-task", http.MethodGet, taskPath, access.MayGet, "A task with its request and its log of attempts.")), a.get)
	register(h, scoped(operation("list-tasks", http.MethodGet, "/v1/tasks", access.MayRead, "Tasks that fit, newest first.")), a.list)
	register(h, scoped(operation("resend-task", http.MethodPost, taskPath+"/resend", access.MayOperate, "One attempt now, from any state.")),
		func(ctx context.Context, in *struct {
			Caller
			ID
			Body *client.ResendTask
		}) (*answer[client.Task], error) {
			body := given(in.Body)
			return a.act(ctx, &in.Caller, &in.ID, operates, func(id bellman.ID) (*bellman.Task, error) {
				mode := engine.ResendOnce
				if body.Mode != "" {
					mode = engine.ResendMode(body.Mode)
				}
				return a.o.Engine.Resend(ctx, id, mode, in.by(body.Reason))
			})
		})
	cancel := scoped(operation("cancel-task", http.MethodPost, taskPath+"/cancel", access.MayOperate|access.MayReport, "End a task; one that had ended before a resend keeps that end. An attempt in flight may still arrive."))
	cancel.Description = "Needs the role " + access.MayOperate.String() + "; submit may cancel orders."
	register(h, cancel,
		func(ctx context.Context, in *struct {
			Caller
			ID
			Body *client.Because
		}) (*answer[client.Task], error) {
			return a.act(ctx, &in.Caller, &in.ID, cancels, func(id bellman.ID) (*bellman.Task, error) {
				return a.o.Engine.Cancel(ctx, id, in.by(given(in.Body).Reason))
			})
		})
	complete := scoped(operation("complete-task", http.MethodPost, taskPath+"/complete", access.MayOperate|access.MayReport, "End a task as succeeded: the answer came another way."))
	complete.Description = "Needs the role " + access.MayOperate.String() + "; for the task of an order " + access.MayReport.String() + "."
	register(h, complete,
		func(ctx context.Context, in *struct {
			Caller
			ID
			Body *client.CompleteTask
		}) (*answer[client.Task], error) {
			body := given(in.Body)
			body.Reason = cmp.Or(body.Reason, "callback")
			return a.act(ctx, &in.Caller, &in.ID, completes, func(id bellman.ID) (*bellman.Task, error) {
				return a.complete(ctx, id, &body, in.by(body.Reason))
			})
		})
	register(h, scoped(operation("reschedule-task", http.MethodPost, taskPath+"/reschedule", access.MayOperate, "Move a task's next attempt: give due or delay.")),
		func(ctx context.Context, in *struct {
			Caller
			ID
			Body client.RescheduleTask
		}) (*answer[client.Task], error) {
			due, refused := moveTo(&in.Body, time.Now())
			if refused != nil {
				return nil, refused
			}
			return a.act(ctx, &in.Caller, &in.ID, operates, func(id bellman.ID) (*bellman.Task, error) {
				return a.o.Engine.Reschedule(ctx, id, due, in.by(in.Body.Reason))
			})
		})
}

// given returns a body that may be missing.
func given[T any](body *T) T {
	if body == nil {
		return *new(T)
	}
	return *body
}

func moveTo(in *client.RescheduleTask, now time.Time) (time.Time, *client.Problem) {
	f := faults{at: single}
	delay := duration(&f, "delay", in.Delay, 0, schedule.MaxDuration)
	due := in.Due.Time
	switch {
	case (in.Delay == "") == due.IsZero():
		f.add("due", "give either due or delay")
	case in.Delay != "":
		due = now.Add(delay)
	case due.Sub(now) > schedule.MaxDuration:
		f.add("due", "is more than ten years ahead: want a time before that")
	}
	return due, f.problem()
}

// A needs is the set of rights that allow an act. One of them is enough.
type needs struct {
	tasks  access.Rights
	orders access.Rights // for the task of an order
}

var (
	operates  = needs{access.MayOperate, access.MayOperate}
	cancels   = needs{access.MayOperate, access.MayOperate | access.MayReport}
	completes = needs{access.MayOperate, access.MayReport}
	decides   = needs{access.MayDecide, access.MayDecide}
)

// act acts on a task, and returns it afterwards.
func (a *API) act(ctx context.Context, by *Caller, ref *ID, need needs, do func(bellman.ID) (*bellman.Task, error)) (*answer[client.Task], error) {
	id, err := parseID(ref.ID)
	if err != nil {
		return nil, err
	}
	if err := a.reach(ctx, &by.holder, id, need); err != nil {
		return nil, err
	}
	t, err := do(id)
	if err != nil {
		return nil, missing(err, "task "+id.String())
	}
	if t.Last == nil && t.Attempts > 0 {
		if whole, err := a.o.Reader.Task(ctx, id); err == nil && whole.Version >= t.Version {
			t = whole // includes its last attempt; the answer is also right without it
		}
	}
	return ok(a.Shown(t))
}

// newestAttempts is the number of attempts that are shown of a task.
const newestAttempts = 200

func (a *API) get(ctx context.Context, in *struct {
	Caller
	ID
	After  int  `query:"attempts_after" minimum:"0" maximum:"2147483647" doc:"Shows up to 200 attempts with numbers above this one; default: the newest 200."`
	Number int  `query:"attempt" minimum:"0" maximum:"2147483647" doc:"Shows only the attempt with this number, with its request; default: all, without their requests."`
	Reveal bool `query:"reveal" doc:"Shows the request, addresses and answers without masks. Needs the role admin and writes an audit record."`
}) (*answer[*client.TaskDetail], error) {
	id, err := parseID(in.ID.ID)
	if err != nil {
		return nil, err
	}
	t, err := a.o.Reader.Task(ctx, id)
	if err != nil {
		return nil, missing(err, "task "+id.String())
	}
	if !in.sees(t) {
		return nil, in.outside("this task is outside this key's scope")
	}
	after, limit := in.After, newestAttempts
	switch {
	case in.Number > 0 && after > 0:
		return nil, wrongField("query.attempt", "give either attempt or attempts_after")
	case in.Number > 0:
		after, limit = in.Number-1, 1
	case after == 0:
		after = max(int(t.Attempts)-newestAttempts, 0)
	}
	log, err := a.o.Reader.Attempts(ctx, id, after, limit)
	if err != nil {
		return nil, err
	}
	if in.Number > 0 && (len(log) == 0 || log[0].Number != in.Number) {
		return nil, missing(bellman.ErrNotFound, fmt.Sprintf("attempt %d of task %v", in.Number, id))
	}
	shown := a.detail(t, log)
	if in.Number > 0 {
		shown.AttemptLog[0].Sent = a.shownSent(ctx, t, &log[0], in.Reveal && in.may&access.MayAdmin != 0) // otherwise reveal is refused below
	}
	if in.Reveal {
		if err := a.reveal(ctx, &in.Caller, t, log, shown); err != nil {
			return nil, err
		}
	}
	if t.OrderingKey != "" && !t.State.Ended() {
		chain, err := a.o.Reader.Chain(ctx, t.Queue, t.OrderingKey, id, 1)
		if err != nil && !errors.Is(err, bellman.ErrNotFound) { // the task has just ended
			return nil, err
		}
		if first := chain.Before(id); !first.IsZero() && a.reaches(ctx, &in.holder, first) {
			shown.WaitsFor = first.String()
		}
	}
	return ok(shown)
}

// reveal replaces what is masked of a task, for a caller with that right, and writes an audit
// record.
func (a *API) reveal(ctx context.Context, by *Caller, t *bellman.Task, log []bellman.Attempt, shown *client.TaskDetail) error {
	if by.may&access.MayAdmin == 0 {
		return newProblem(http.StatusForbidden, "this key may not reveal: it takes the role "+access.MayAdmin.String())
	}
	if err := a.o.Record(ctx, store.AuditOf(by.by(""), time.Now(), "reveal", t.ID.String())); err != nil {
		return err
	}
	a.unmask(t, log, shown)
	maps.Copy(shown.Request.Headers, t.Header) // an order has none
	return nil
}

// shownSent returns the request of an attempt, built again.
func (a *API) shownSent(ctx context.Context, t *bellman.Task, attempt *bellman.Attempt, reveal bool) *client.Sent {
	if a.o.Sent == nil {
		return nil
	}
	s, err := a.o.Sent(ctx, t, attempt, reveal)
	if err != nil {
		return &client.Sent{Missing: err.Error()}
	}
	out := &client.Sent{Method: s.Method, URL: s.URL, Headers: map[string]string{}, Body: string(s.Body), Success: s.Success, SignScheme: s.Scheme, Signed: string(s.Signed)}
	if !reveal {
		out.URL = mask.URL(s.URL)
	}
	for name, values := range s.Header {
		out.Headers[name] = strings.Join(values, ", ")
	}
	for _, name := range s.Signature {
		out.Headers[name] = client.Masked
	}
	for _, p := range rule.Presets() {
		if p.Name == s.Success {
			out.Accepts = p.Accepts
		}
	}
	return out
}

// unmask replaces masked addresses, bodies and answers.
func (a *API) unmask(t *bellman.Task, log []bellman.Attempt, shown *client.TaskDetail) {
	shown.Task.URL = t.URL
	for i := range log {
		shown.AttemptLog[i].Response, shown.AttemptLog[i].ResponseHeaders = log[i].Response, log[i].Headers()
	}
	if !queries(t) {
		shown.Request.URL, shown.Request.Body = t.URL, string(t.Body)
		return
	}
	if ask := orderAsk(t); shown.Request.Notify != nil {
		shown.Request.Notify.URL, shown.Request.Notify.JSON = ask.Notify.URL, ask.Notify.JSON
	}
}
