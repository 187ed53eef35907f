package api

import (
	"context"
	"net/http"
	"reflect"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/resend"
	"github.com/bellmanhq/bellman/schedule"
)

// newestResends is the number of bulk resends in a list.
const newestResends = 50

func (a *API) registerResends(h part) {
	p := partOf(h, a.o.Resends != nil, "this server runs no bulk resends")
	op := scoped(operation("start-resend", http.MethodPost, "/v1/resends", access.MayOperate, "Send many tasks again, as a durable job; or say how many that would be."))
	op.DefaultStatus = http.StatusAccepted
	register(p, op, a.startResend)
	responses := p.OpenAPI().Paths["/v1/resends"].Post.Responses
	responses["202"] = jsonResponse(p, reflect.TypeFor[client.Resend](), "The job, which is durable.")
	responses["200"] = jsonResponse(p, reflect.TypeFor[client.ResendCount](), "With dry_run: what it would touch.")

	register(p, scoped(operation("list-resends", http.MethodGet, "/v1/resends", access.MayRead, "The newest 50 bulk resends.")), a.listResends)
	register(p, scoped(operation("get-resend", http.MethodGet, "/v1/resends/{id}", access.MayRead, "A bulk resend and its progress.")),
		func(ctx context.Context, in *struct {
			Caller
			ResendID
		}) (*answer[client.Resend], error) {
			return a.onResend(ctx, &in.Caller, in.ID, a.o.Resends.Get)
		})
	register(p, scoped(operation("cancel-resend", http.MethodPost, "/v1/resends/{id}/cancel", access.MayOperate, "End a bulk resend. What was sent again stays so.")),
		func(ctx context.Context, in *struct {
			Caller
			ResendID
			Body *client.Because
		}) (*answer[client.Resend], error) {
			return a.onResend(ctx, &in.Caller, in.ID, func(ctx context.Context, id bellman.ID) (resend.Job, error) {
				return a.o.Resends.Cancel(ctx, id, in.by(given(in.Body).Reason))
			})
		})
}

// A ResendID is the id of a bulk resend in a path.
type ResendID struct {
	ID string `path:"id" format:"uuid" doc:"The bulk resend's id."`
}

func (a *API) onResend(ctx context.Context, by *Caller, ref string, do func(context.Context, bellman.ID) (resend.Job, error)) (*answer[client.Resend], error) {
	id, err := parseID(ref)
	if err != nil {
		return nil, err
	}
	if by.limited() {
		switch job, err := a.o.Resends.Get(ctx, id); {
		case err != nil:
			return nil, missing(err, "bulk resend "+id.String())
		case !by.covers(&job.Filter):
			return nil, by.outside("this bulk resend is outside this key's scope")
		}
	}
	job, err := do(ctx, id)
	return answered(resendJSON(&job), missing(err, "bulk resend "+id.String()))
}

func (a *API) startResend(ctx context.Context, in *struct {
	Caller
	Body client.BulkResend
}) (*stated[any], error) {
	if refused := in.narrow(&in.Body.Filter); refused != nil {
		return nil, refused
	}
	f := faults{at: single}
	which, field, err := PickOf(&in.Body.Filter)
	if err != nil {
		f.add("filter."+field, err.Error())
	}
	rate, good := schedule.ParseRate(in.Body.Rate)
	if !good || rate != 0 && !(rate >= schedule.MinRate && rate <= resend.MaxRate) {
		f.add("rate", "want a rate such as 50/s, 30/m or 100/h, from 1/h to 10000/s")
	}
	if refused := f.problem(); refused != nil {
		return nil, refused
	}
	if in.Body.DryRun {
		count, err := a.o.Resends.Count(ctx, which, 0, 0)
		if err != nil {
			return nil, err
		}
		return &stated[any]{http.StatusOK, resendCount(&count)}, nil
	}
	job, err := a.o.Resends.Start(ctx, resend.Job{
		Filter: which, Mode: engine.ResendMode(in.Body.Mode), Rate: rate, Who: in.who, Reason: in.Body.Reason, From: in.from,
	})
	if err != nil {
		return nil, err
	}
	return &stated[any]{http.StatusAccepted, resendJSON(&job)}, nil
}

func (a *API) listResends(ctx context.Context, in *struct{ Caller }) (*answer[client.Resends], error) {
	jobs, err := a.o.Resends.List(ctx, newestResends)
	if err != nil {
		return nil, err
	}
	out := client.Resends{Resends: make([]client.Resend, 0, len(jobs))}
	for i := range jobs {
		if in.covers(&jobs[i].Filter) {
			out.Resends = append(out.Resends, resendJSON(&jobs[i]))
		}
	}
	return ok(out)
}

func resendJSON(j *resend.Job) client.Resend {
	return client.Resend{
		ID: j.ID.String(), Filter: shownFilter(&j.Filter), Mode: string(j.Mode),
		Rate: schedule.FormatRate(j.Rate), Who: j.Who, Reason: j.Reason,
		State: string(j.State), Created: client.At(j.Created), Updated: client.At(j.Updated), Finished: optional(j.Finished),
		Total: j.Total, More: j.More, Examined: j.Examined, Resent: j.Resent, Skipped: j.Skipped, Failed: j.Failed, LastError: j.LastError,
	}
}

func shownFilter(f *resend.Pick) client.Filter {
	out := client.Filter{
		Queue: f.Queue, Key: f.Key, MerchantNo: f.MerchantNo, OrderNo: f.OrderNo, Event: f.Event,
		URLHost: f.URLHost, CreatedFrom: client.At(f.CreatedFrom), CreatedTo: client.At(f.CreatedTo),
		Kind: f.Kind, Status: f.Status, FinishedFrom: client.At(f.FinishedFrom),
	}
	if f.Result != nil {
		out.Result = f.Result.String()
	}
	if f.State != nil {
		out.State = f.State.String()
	}
	return out
}

func resendCount(c *resend.Count) client.ResendCount {
	return client.ResendCount{
		Tasks: c.Tasks, More: c.More, Merchants: c.Merchants, Oldest: optional(c.Oldest), Newest: optional(c.Newest),
		Top: each(c.Top, func(m *resend.MerchantCount) client.MerchantCount { return client.MerchantCount(*m) }),
	}
}
