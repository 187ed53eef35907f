package api

import (
	"context"
	"fmt"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/resend"
	"github.com/bellmanhq/bellman/store"
)

// A listing is the query of a list of tasks.
type listing struct {
	Caller
	Queue        string      `query:"queue" maxLength:"128"`
	State        string      `query:"state" enum:"pending,succeeded,failed,cancelled"`
	MerchantNo   string      `query:"merchant_no" maxLength:"128"`
	OrderNo      string      `query:"order_no" maxLength:"128"`
	Key          string      `query:"key" maxLength:"255"`
	Event        string      `query:"event" maxLength:"128"`
	URLHost      string      `query:"url_host" maxLength:"260" doc:"Host, or host:port, of the task's URL, in upper or lower case."`
	CreatedFrom  client.Time `query:"created_from" format:"date-time" doc:"Inclusive."`
	CreatedTo    client.Time `query:"created_to" format:"date-time" doc:"Exclusive."`
	Kind         string      `query:"kind" enum:"notify,order,poll" doc:"Every task is examined, so a page may have few tasks, or none, and be followed by more."`
	Result       string      `query:"result" enum:"accepted,refused,error_status,unreachable,timeout,blocked,unknown" doc:"Result of the last attempt; examined as for kind."`
	Status       int         `query:"status" minimum:"100" maximum:"599" doc:"HTTP status of the last attempt's answer; examined as for kind."`
	FinishedFrom client.Time `query:"finished_from" format:"date-time" doc:"Ended at this time or later; examined as for kind."`
	Limit        int         `query:"limit" minimum:"1" maximum:"200" default:"50"`
	Cursor       string      `query:"cursor" maxLength:"64" doc:"The next_cursor of a page of the same filter; default: the newest."`
}

func (in *listing) filter() client.Filter {
	return client.Filter{
		Queue: in.Queue, State: in.State, MerchantNo: in.MerchantNo, OrderNo: in.OrderNo, Key: in.Key,
		Event: in.Event, URLHost: in.URLHost, CreatedFrom: in.CreatedFrom, CreatedTo: in.CreatedTo,
		Kind: in.Kind, Result: in.Result, Status: in.Status, FinishedFrom: in.FinishedFrom,
	}
}

// PickOf converts the filter of a request for a store. field is the one that err is about.
func PickOf(in *client.Filter) (f resend.Pick, field string, err error) {
	f = resend.Pick{
		Filter: store.Filter{
			Queue: in.Queue, Key: in.Key, MerchantNo: in.MerchantNo, OrderNo: in.OrderNo, Event: in.Event,
			URLHost: in.URLHost, CreatedFrom: in.CreatedFrom.Time, CreatedTo: in.CreatedTo.Time,
		},
		Kind: in.Kind, Status: in.Status, FinishedFrom: in.FinishedFrom.Time,
	}
	if in.State != "" {
		f.State = new(bellman.State)
		if err := f.State.UnmarshalText([]byte(in.State)); err != nil {
			return f, "state", err
		}
	}
	if in.Result != "" {
		f.Result = new(bellman.Result)
		if err := f.Result.UnmarshalText([]byte(in.Result)); err != nil {
			return f, "result", err
		}
	}
	return f, "", nil
}

const (
	maxReads = 8                     // most short pages of a store in one page of a list …
	readTime = 25 * time.Millisecond // … and the time limit for reading them
	readRows = 200                   // tasks that are examined at once, if some may not match
)

func (a *API) list(ctx context.Context, in *listing) (*answer[client.TaskPage], error) {
	wanted := in.filter()
	if refused := in.narrow(&wanted); refused != nil {
		return nil, refused
	}
	before, refused := parseTaskCursor(in.Cursor, &wanted)
	if refused != nil {
		return nil, refused
	}
	f, field, err := PickOf(&wanted)
	if err != nil {
		return nil, wrongField("query."+field, err.Error())
	}
	if f.Backwards() {
		return nil, wrongField("query.created_from", backwards)
	}
	tasks, next, err := a.page(ctx, f.Filter, before, in.Limit, f.Picky(), func(t *bellman.Task) bool { return f.Takes(t) && in.sees(t) })
	if err != nil {
		return nil, err
	}
	page := client.TaskPage{Tasks: make([]client.Task, len(tasks)), NextCursor: taskCursor(next, &wanted)}
	for i, t := range tasks {
		page.Tasks[i] = a.Shown(t)
	}
	if len(page.Tasks) == 0 && page.NextCursor == "" && in.Cursor == "" && wanted.Queue != "" && a.kindOf(wanted.Queue) == "" {
		page.Warning = fmt.Sprintf("there is no queue %q, and no task of one of that name fits", cut(wanted.Queue))
	}
	return ok(page)
}

// backwards is what is wrong with created_from, as bulk resends report it.
const backwards = "is not before created_to, or not before now: want an earlier time"

// page reads up to limit tasks of a filter that takes accepts, the newest first; picky: it may
// accept few. It stops after a while: next is where to continue; zero: at the end.
func (a *API) page(ctx context.Context, f store.Filter, before bellman.ID, limit int, picky bool, takes func(*bellman.Task) bool) (tasks []*bellman.Task, next bellman.ID, err error) {
	began := time.Now()
	for range maxReads {
		ask := limit - len(tasks)
		if picky {
			ask = readRows
		}
		var some []*bellman.Task
		if some, next, err = a.o.Reader.List(ctx, f, before, ask); err != nil {
			return nil, next, err
		}
		for _, t := range some {
			if !takes(t) {
				continue
			}
			tasks = append(tasks, t)
			if len(tasks) == limit && picky { // the rest belongs to the next page
				next = t.ID
				break
			}
		}
		if next.IsZero() || len(tasks) >= limit || time.Since(began) >= readTime {
			break
		}
		before = next
	}
	return tasks, next, nil
}
