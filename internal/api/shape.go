package api

import (
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/mask"
	"github.com/bellmanhq/bellman/order/poll"
	"github.com/bellmanhq/bellman/schedule"
)

// Shown returns a task as all calls of the API answer it.
func (a *API) Shown(t *bellman.Task) client.Task {
	order := standing(t)
	out := client.Task{
		ID: t.ID.String(), Queue: t.Queue, Kind: t.Kind.String(), Key: t.Key,
		MerchantNo: t.MerchantNo, OrderNo: t.OrderNo, Event: t.Event, URL: mask.URL(t.URL), Method: method(t),
		State: t.State.String(), Reason: t.Reason, Attempts: int(t.Attempts), Step: int(t.Step),
		Due: optional(t.Due), Created: client.At(t.Created()), Updated: client.At(t.Changed()), Finished: optional(t.Finished),
		Schedule: t.Schedule, Success: t.Success, Timeout: duty(t.Timeout), MaxAge: duty(t.MaxAge), Repeat: t.Repeat,
		OrderingKey: t.OrderingKey, Supersedes: t.Supersedes, CreatedBy: t.CreatedBy(),
		OrderState: order.State, LatePayment: order.Late, Payment: payment(&order),
	}
	if n, finite := a.attempts(t); finite {
		out.MaxAttempts = &n
	}
	if t.Kind == bellman.KindPoll {
		p := poll.StandingOf(t)
		out.RefNo, out.PollState, out.AtChannel = p.RefNo, p.State, atChannel(&p)
	}
	out.Last = last(t.Last)
	return out
}

func last(a *bellman.Attempt) *client.LastAttempt {
	if a == nil {
		return nil
	}
	return &client.LastAttempt{
		Number: a.Number, Trigger: a.Trigger.String(), Action: a.Action, Reading: a.Reading,
		Result: a.Result.String(), Status: a.Status, Error: a.Error, Started: client.At(a.Started),
	}
}

// queries reports whether a task queries a channel: it is an order or a poll.
func queries(t *bellman.Task) bool { return t.Kind == bellman.KindOrder || t.Kind == bellman.KindPoll }

// method returns the method of a task. For an order or poll, its queue decides.
func method(t *bellman.Task) string {
	if t.Method == "" && !queries(t) {
		return "POST"
	}
	return t.Method
}

// duty formats an optional duration.
func duty(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return schedule.FormatDuration(d)
}

func optional(t time.Time) *client.Time {
	if t.IsZero() {
		return nil
	}
	at := client.At(t)
	return &at
}

func (a *API) detail(t *bellman.Task, log []bellman.Attempt) *client.TaskDetail {
	return &client.TaskDetail{Task: a.Shown(t), Request: a.request(t), AttemptLog: each(log, attempt)}
}

// each returns the API's forms of a list; never nil.
func each[T, Out any](list []T, form func(*T) Out) []Out {
	out := make([]Out, len(list))
	for i := range list {
		out[i] = form(&list[i])
	}
	return out
}

func attempt(t *bellman.Attempt) client.Attempt {
	return client.Attempt{
		Number: t.Number, Trigger: t.Trigger.String(), Due: client.At(t.Due), Started: client.At(t.Started),
		LatenessMS: t.Lateness().Milliseconds(), TookMS: t.Took.Milliseconds(), Timing: timing(t.Timing), Action: t.Action,
		Reading: t.Reading, Result: t.Result.String(), Status: t.Status, Response: mask.Body(t.Response, ""), Error: t.Error, Node: t.Node,
		ResponseHeaders: mask.Headers(t.Headers()),
	}
}

func timing(t bellman.Timing) client.Timing {
	return client.Timing{DNSMS: milliseconds(t.DNS), ConnectMS: milliseconds(t.Connect), TLSMS: milliseconds(t.TLS), FirstByteMS: milliseconds(t.FirstByte)}
}

// milliseconds returns d with microseconds.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func pause(p *figures.Pause) *client.Pause {
	if p == nil {
		return nil
	}
	return &client.Pause{At: client.At(p.At), Who: p.Who, Reason: p.Reason}
}

func counts(c figures.Counts) client.Counts {
	out := client.Counts{Added: c.Added, Succeeded: c.Succeeded, Failed: c.Failed, Attempts: map[string]int64{}}
	for result, n := range c.Attempts {
		out.Attempts[result.String()] = n
	}
	return out
}

func percentiles(p figures.Percentiles) client.Percentiles {
	return client.Percentiles{
		Count: p.Count, P50MS: milliseconds(p.P50), P90MS: milliseconds(p.P90), P99MS: milliseconds(p.P99), MaxMS: milliseconds(p.Max),
	}
}

func queue(q *figures.Queue) client.Queue {
	return client.Queue{
		Name: q.Name, Kind: q.Kind, Schedule: q.Schedule, Success: q.Success,
		Timeout: schedule.FormatDuration(q.Timeout), MaxAge: duty(q.MaxAge), Delay: duty(q.Delay),
		Concurrency: q.Concurrency, Rate: q.Rate,
		PerEndpoint: client.PerEndpoint{Concurrency: q.EndpointConcurrency, Rate: q.EndpointRate},
		Paused:      pause(q.Pause),
		Depth: client.Depth{
			Pending: q.Depth.Pending, Succeeded: q.Depth.Succeeded, Failed: q.Depth.Failed, Cancelled: q.Depth.Cancelled,
		},
		OldestOverdue: optional(q.OldestOverdue), Waiting: q.Waiting, Held: q.Held, InFlight: q.InFlight, LastMinute: counts(q.LastMinute),
	}
}

func endpoint(e *figures.Endpoint) client.Endpoint {
	out := client.Endpoint{
		Endpoint: e.Endpoint, InFlight: e.InFlight, Limit: e.Limit, Rate: e.Rate, Waiting: e.Waiting,
		Oldest: optional(e.Oldest), Breaker: e.Breaker, Paused: pause(e.Pause),
	}
	if e.SuccessRate >= 0 {
		out.SuccessRate = &e.SuccessRate
	}
	out.Hour = hour(e.Hour)
	return out
}

func hour(r *figures.Recent) *client.Hour {
	if r == nil {
		return nil
	}
	out := &client.Hour{Attempts: r.Attempts, FailingSince: optional(r.Since), LastFailure: failure(r.Failure)}
	if rate := r.Rate(); rate >= 0 {
		out.SuccessRate = &rate
	}
	return out
}

// attempts returns the largest number of attempts of a task; not finite if its schedule has no end,
// or a close protocol follows.
func (a *API) attempts(t *bellman.Task) (n int, finite bool) {
	if queries(t) {
		return 0, false
	}
	s, err := a.o.Schedules.Parse(t.Schedule)
	if err != nil { // a task's schedule was parsed before
		return 0, false
	}
	return s.Attempts()
}
