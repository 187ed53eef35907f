package alarm

import "time"

// A Rule is a condition that raises an alarm.
type Rule struct {
	Name  string        // unique
	When  string        // a condition, such as overdue
	Queue string        // counts only tasks of this queue; empty: of all queues
	Above float64       // the largest value without an alarm: seconds if When is overdue or store_slow, otherwise a count; 0 if the condition has no value
	For   time.Duration // how long the condition must hold before the alarm is raised
	To    string        // the queue whose tasks report the alarm
}

// An Alarm is a raised or ended alarm. Its JSON is the stored document.
type Alarm struct {
	ID       string         `json:"id"` // the rule's name; if the rule can raise several alarms, followed by a slash and a hash
	Name     string         `json:"name"`
	When     string         `json:"when"`
	Queue    string         `json:"queue,omitempty"`
	Endpoint string         `json:"endpoint,omitempty"`
	Above    float64        `json:"above"`
	Value    float64        `json:"value"`            // the value when it was raised
	Since    time.Time      `json:"since"`            // when the condition began to hold
	Counts   map[string]int `json:"counts,omitempty"` // of a reported alarm: what Value consists of, by kind
	Until    time.Time      `json:"until,omitzero"`   // when the condition last held; zero: the alarm is raised
	Ended    time.Time      `json:"ended,omitzero"`   // when the alarm ended: some time after Until, when it was certain
	Reason   string         `json:"reason,omitempty"` // why it ended: over, rule_removed or rule_changed; reported: it has no rule and no end
	To       string         `json:"to"`               // the queue whose tasks report it; empty: no rule covers it
	Date     string         `json:"date,omitempty"`   // of a reported alarm: the day that it is about
	Untold   string         `json:"untold,omitempty"` // why no task reports the latest change; empty: a task does

	Credential string    `json:"credential,omitempty"` // only of credential_expires: what expires; Above and Value are seconds until then
	Expires    time.Time `json:"expires,omitzero"`     // when it does

	Decision *Decision `json:"decision,omitempty"` // only of order_decided_by_hand
	Affected *Case     `json:"affected,omitempty"` // of an order, refund or transfer that needs a person

	once bool // its ID names one case: it is reported and stored once
}

// reported is the Reason of an alarm that has no rule and no end: it was reported once.
const reported = "reported"

// Raised reports whether the alarm has not ended.
func (a *Alarm) Raised() bool { return a.Until.IsZero() }
