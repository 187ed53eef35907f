package api

import (
	"context"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/alarm"
	"github.com/bellmanhq/bellman/schedule"
)

// Alarms are the rules and alarms of the server.
type Alarms interface {
	// Rules returns the rules of this node.
	Rules() []alarm.Rule

	// List returns the raised alarms, then those that ended lately.
	List(ctx context.Context) ([]alarm.Alarm, error)
}

func (a *API) listAlarms(ctx context.Context, _ *struct{ Caller }) (*answer[client.Alarms], error) {
	out := client.Alarms{Rules: []client.AlarmRule{}, Alarms: []client.Alarm{}}
	if a.o.Alarms == nil {
		return ok(out)
	}
	for _, r := range a.o.Alarms.Rules() {
		out.Rules = append(out.Rules, client.AlarmRule{
			Name: r.Name, When: r.When, Queue: r.Queue, Above: r.Above, For: schedule.FormatDuration(r.For), To: r.To,
		})
	}
	all, err := a.o.Alarms.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		shown := client.Alarm{
			Name: one.Name, When: one.When, Queue: one.Queue, Endpoint: one.Endpoint, Above: one.Above, Value: one.Value,
			Since: client.At(one.Since), Until: optional(one.Until), Reason: one.Reason, To: one.To, Untold: one.Untold,
		}
		shown.Credential, shown.Expires = one.Credential, optional(one.Expires)
		if one.Affected != nil {
			shown.Affected = new(client.AlarmCase(*one.Affected))
		}
		if one.Decision != nil {
			shown.Decision = new(client.Decision(*one.Decision))
		}
		out.Alarms = append(out.Alarms, shown)
	}
	return ok(out)
}
