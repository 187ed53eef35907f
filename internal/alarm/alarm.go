package alarm

import "time"

// A Rule is a condition of which people want to be told.
type Rule struct {
	Name  string        // unique
	When  string        // overdue, endpoint_failing, orders_unknown, tasks_failed, store_slow, overloaded, node_silent
	Queue string        // whose tasks are meant; empty: of all queues
	Above float64       // the figure that is still fine: seconds where When is overdue or store_slow, else a count; 0 where there is no figure
	For   time.Duration // how long it must have held
	To    string        // the queue whose tasks tell
}

// An Alarm is a condition that began to hold, and may be over. Its JSON is how it is
// kept.
type Alarm struct {
	ID       string    `json:"id"` // the rule's name, and behind a slash what it is of, where a rule has several
	Name     string    `json:"name"`
	When     string    `json:"when"`
	Queue    string    `json:"queue,omitempty"`
	Endpoint string    `json:"endpoint,omitempty"`
	Above    float64   `json:"above"`
	Value    float64   `json:"value"`            // the figure when it was raised
	Since    time.Time `json:"since"`            // when the condition began to hold
	Until    time.Time `json:"until,omitzero"`   // when it held no longer; zero: it is raised
	Ended    time.Time `json:"ended,omitzero"`   // when that was certain, and told
	Reason   string    `json:"reason,omitempty"` // why it ended: over, rule_removed or rule_changed
	To       string    `json:"to"`               // the queue whose tasks tell
	Untold   string    `json:"untold,omitempty"` // why no task of it tells the latest of this; empty: one does
}

// Raised reports whether the alarm is not over.
func (a *Alarm) Raised() bool { return a.Until.IsZero() }
