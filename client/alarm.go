package client

import (
	"context"
	"net/http"
)

// An AlarmRule is a condition of which people are told.
type AlarmRule struct {
	Name  string  `json:"name" example:"notify-overdue"`
	When  string  `json:"when" enum:"overdue,endpoint_failing,orders_unknown,tasks_failed,store_slow,overloaded,node_silent"`
	Queue string  `json:"queue" doc:"Whose tasks are meant; empty: of all queues."`
	Above float64 `json:"above" doc:"The figure that is still fine: seconds of overdue and store_slow, else a count."`
	For   string  `json:"for" doc:"How long it must have held."`
	To    string  `json:"to" doc:"The queue whose tasks tell."`
}

// An Alarm is a condition that began to hold, and may be over.
type Alarm struct {
	Name     string  `json:"name"`
	When     string  `json:"when"`
	Queue    string  `json:"queue" doc:"Empty: all queues."`
	Endpoint string  `json:"endpoint" doc:"Where it is of one; * for those beyond the most that are told one by one."`
	Above    float64 `json:"above"`
	Value    float64 `json:"value" doc:"The figure when it was raised."`
	Since    Time    `json:"since" format:"date-time"`
	Until    *Time   `json:"until" format:"date-time" doc:"null: it is raised."`
	Reason   string  `json:"reason" doc:"Why it ended: over, rule_removed or rule_changed; empty: it is raised."`
	To       string  `json:"to" doc:"The queue whose tasks tell."`
	Untold   string  `json:"untold" doc:"Why no task tells the latest of it; empty: one does."`
}

// Alarms are the rules of the node that answers, and what all nodes know of alarms.
type Alarms struct {
	Rules  []AlarmRule `json:"rules" nullable:"false"`
	Alarms []Alarm     `json:"alarms" nullable:"false" doc:"Those that are raised, and then those that ended within a day; the newest first."`
}

// Alarms reads which alarms are raised, or ended within a day, and by which rules.
func (c *Client) Alarms(ctx context.Context) (*Alarms, error) {
	return one[Alarms](ctx, c, http.MethodGet, "/v1/alarms", nil, nil)
}
