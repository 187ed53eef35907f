package api

import (
	"context"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/attention"
	"github.com/bellmanhq/bellman/internal/mask"
	"github.com/bellmanhq/bellman/schedule"
)

// An Attention lists what needs a person.
type Attention interface {
	List(ctx context.Context) (attention.List, error)
}

func (a *API) listAttention(ctx context.Context, _ *struct{ Caller }) (*answer[client.Attentions], error) {
	out := client.Attentions{At: client.At(time.Now()), Items: []client.Attention{}, Whole: client.Whole{Silent: []string{}}}
	if a.o.Attention == nil {
		return ok(out)
	}
	list, err := a.o.Attention.List(ctx)
	if err != nil {
		return nil, err
	}
	out.At, out.More, out.Nodes, out.Silent = client.At(list.At), list.More, list.Nodes, append(out.Silent, list.Silent...)
	for i := range list.Items {
		out.Items = append(out.Items, needed(&list.Items[i]))
	}
	return ok(out)
}

func needed(i *attention.Item) client.Attention {
	out := client.Attention{
		Kind: i.Kind, Name: i.Name, Queue: i.Queue, Since: optional(i.Since), Urgent: i.Urgent, Tasks: i.Tasks, More: i.More, Amounts: []client.AttentionAmount{},
		Why: i.Why, Failure: failure(i.Failure), Who: i.Who, Rate: i.Rate, Expires: optional(i.Expires), MerchantNo: i.MerchantNo, OrderNo: i.OrderNo, RefNo: i.RefNo, Task: i.Task,
		Alarm: i.Alarm, Untold: i.Untold, Page: i.Page(),
	}
	if i.Late != 0 {
		out.Off = schedule.FormatDuration(i.Late.Round(time.Millisecond))
	}
	for _, sum := range i.Amounts {
		out.Amounts = append(out.Amounts, client.AttentionAmount(sum))
	}
	return out
}

func failure(f *figures.Failure) *client.AttentionFailure {
	if f == nil {
		return nil
	}
	return &client.AttentionFailure{Started: client.At(f.At), Task: f.Task.String(), Result: f.Result.String(), Status: f.Status, Error: f.Error, Response: mask.Body(f.Response, "")}
}
