package server

import (
	"context"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/api"
	"github.com/bellmanhq/bellman/resend"
)

// resends shows bulk resends to the API in its own words.
type resends struct{ jobs *resend.Jobs }

func (r resends) Count(ctx context.Context, f bellman.Filter) (api.ResendCount, error) {
	d, err := r.jobs.Count(ctx, f, 0)
	if err != nil {
		return api.ResendCount{}, err
	}
	c := api.ResendCount{Tasks: d.Tasks, More: d.More, Merchants: d.Merchants, Oldest: d.Oldest, Newest: d.Newest}
	for _, m := range d.Top {
		c.Top = append(c.Top, api.MerchantCount(m))
	}
	return c, nil
}

func (r resends) Start(ctx context.Context, in api.ResendJob) (api.ResendJob, error) {
	j, err := r.jobs.Start(ctx, resend.Job{Filter: in.Filter, Mode: in.Mode, Rate: in.Rate, Who: in.Who, Reason: in.Reason})
	return shown(j), err
}

func (r resends) Get(ctx context.Context, id bellman.ID) (api.ResendJob, error) {
	j, err := r.jobs.Get(ctx, id)
	return shown(j), err
}

func (r resends) List(ctx context.Context, limit int) ([]api.ResendJob, error) {
	jobs, err := r.jobs.List(ctx, limit)
	all := make([]api.ResendJob, len(jobs))
	for i, j := range jobs {
		all[i] = shown(j)
	}
	return all, err
}

func (r resends) Cancel(ctx context.Context, id bellman.ID, by bellman.By) (api.ResendJob, error) {
	j, err := r.jobs.Cancel(ctx, id, by)
	return shown(j), err
}

func shown(j resend.Job) api.ResendJob {
	return api.ResendJob{
		ID: j.ID, Filter: j.Filter, Mode: j.Mode, Rate: j.Rate, Who: j.Who, Reason: j.Reason,
		State: string(j.State), Created: j.Created, Updated: j.Updated, Finished: j.Finished,
		Examined: j.Examined, Resent: j.Resent, Skipped: j.Skipped, Failed: j.Failed, LastError: j.LastError,
	}
}
