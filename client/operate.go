package client

// A Pause says who stopped a queue or an endpoint, and why.
type Pause struct {
	At     Time   `json:"at" format:"date-time"`
	Who    string `json:"who"`
	Reason string `json:"reason"`
}

// Counts are numbers of events in a stretch of time.
type Counts struct {
	Added     int64            `json:"added"`
	Attempts  map[string]int64 `json:"attempts" doc:"By result; results that did not occur are absent."`
	Succeeded int64            `json:"succeeded"`
	Failed    int64            `json:"failed"`
}

// A Depth counts a queue's tasks by state.
type Depth struct {
	Pending   int64 `json:"pending"`
	Succeeded int64 `json:"succeeded"`
	Failed    int64 `json:"failed"`
	Cancelled int64 `json:"cancelled"`
}

// A Queue describes a queue for operators.
type Queue struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"`
	Schedule string `json:"schedule"`
	Success  string `json:"success"`
	Timeout  string `json:"timeout"`
	MaxAge   string `json:"max_age" doc:"Empty: only the schedule decides."`
	Delay    string `json:"delay" doc:"Delay of tasks without delay and due; empty: none."`

	Concurrency int         `json:"concurrency" doc:"Most attempts in flight; 0: no limit of its own."`
	Rate        float64     `json:"rate" doc:"Most attempts a second; 0: no limit of its own."`
	PerEndpoint PerEndpoint `json:"per_endpoint"`

	Paused        *Pause `json:"paused" doc:"null if it is not paused."`
	Depth         Depth  `json:"depth"`
	OldestOverdue *Time  `json:"oldest_overdue" format:"date-time" doc:"Due time of the overdue task that has waited longest and is not held; null: none is overdue."`
	Waiting       int    `json:"waiting" doc:"Due tasks in memory."`
	Held          int    `json:"held" doc:"Waiting tasks that a pause or a breaker holds. They are not overdue."`
	InFlight      int    `json:"in_flight"`
	LastMinute    Counts `json:"last_minute"`
}

// PerEndpoint are a queue's limits for one endpoint.
type PerEndpoint struct {
	Concurrency int     `json:"concurrency"`
	Rate        float64 `json:"rate" doc:"Most attempts a second; 0: no limit."`
}

// Queues is the list of all queues.
type Queues struct {
	Queues []Queue `json:"queues" nullable:"false"`
	Intake Intake  `json:"intake"`
	Whole
}

// Whole says which nodes the figures cover.
type Whole struct {
	Nodes  int      `json:"nodes" doc:"Number of nodes that these figures cover."`
	Silent []string `json:"silent" nullable:"false" doc:"Nodes that did not answer in time, whose figures are missing here. Empty: the figures cover all nodes."`
}

// An Endpoint describes an endpoint for operators.
type Endpoint struct {
	Endpoint    string   `json:"endpoint" example:"https://merchant.example:443"`
	InFlight    int      `json:"in_flight"`
	Limit       int      `json:"limit" doc:"Present limit of attempts in flight; it adapts."`
	Rate        float64  `json:"rate" doc:"Rate that the endpoint seems to allow, in attempts a second, after it asked for fewer; 0: it did not."`
	Waiting     int      `json:"waiting"`
	Oldest      *Time    `json:"oldest" format:"date-time" doc:"Due time of the task that has waited longest; null: none waits."`
	SuccessRate *float64 `json:"success_rate" doc:"Share of accepted latest attempts, 0 to 1; null before the first."`
	Breaker     string   `json:"breaker" enum:"closed,open,half_open"`
	Paused      *Pause   `json:"paused" doc:"null if it is not paused."`
	Hour        *Hour    `json:"last_hour" doc:"null: no attempt within an hour, and none that failed within a day."`
}

// An Hour describes the attempts of the last hour, by all nodes since their start.
type Hour struct {
	Attempts     int64             `json:"attempts"`
	SuccessRate  *float64          `json:"success_rate" doc:"Share of them that were accepted, 0 to 1; null: there were none."`
	FailingSince *Time             `json:"failing_since" format:"date-time" doc:"First of the latest failures in a row; null: the last attempt was accepted."`
	LastFailure  *AttentionFailure `json:"last_failure" doc:"The last failed attempt, also before that hour; null: none is known."`
}

// Endpoints is the list of all endpoints that the server knows.
type Endpoints struct {
	Endpoints []Endpoint `json:"endpoints" nullable:"false"`
	Whole
}

// Paused answers a pause or resume with the names that changed.
type Paused struct {
	Names []string `json:"names" nullable:"false" doc:"The queue, or the endpoints of the host. After a resume: only those that were paused."`
}

// Stats are figures over the last stretch of time, of all nodes, each since its start.
type Stats struct {
	Since    Time        `json:"since" format:"date-time" doc:"Start of the figures: the start of the window, or, if later, the start of the first node."`
	Counts   Counts      `json:"counts"`
	Lateness Percentiles `json:"lateness" doc:"Started minus due."`
	Took     Percentiles `json:"took" doc:"From the start to the last byte."`
	Whole
}

// Percentiles of durations, in milliseconds.
type Percentiles struct {
	Count int64   `json:"count"`
	P50MS float64 `json:"p50_ms"`
	P90MS float64 `json:"p90_ms"`
	P99MS float64 `json:"p99_ms"`
	MaxMS float64 `json:"max_ms"`
}

// An Audit records one action of a person or service.
type Audit struct {
	At     Time   `json:"at" format:"date-time"`
	Who    string `json:"who" doc:"Name of the API key; empty if authentication is off."`
	Action string `json:"action"`
	Target string `json:"target" doc:"A task's id, or queue/NAME, endpoint/HOST, merchant/NUMBER, resend/ID, link/ID."`
	Reason string `json:"reason"`
	From   string `json:"from" doc:"Network address of the caller: the one in X-Forwarded-For if a trusted proxy passed it on. Empty: unknown."`
	Job    string `json:"job,omitempty" doc:"The bulk resend or batch of merchants to which the action belongs, as resend/ID or batch/ID; absent: none."`

	Changes []Changed `json:"changes,omitempty" doc:"Fields that the action changed, such as a merchant's. Secrets show their last characters; values in a URL's query show a fingerprint."`
}

// A Changed is one field that an action changed.
type Changed struct {
	Field  string `json:"field"`
	Before string `json:"before" doc:"Empty: it had no value."`
	After  string `json:"after" doc:"Empty: it has no value."`
}

// An AuditFilter selects audit records. Empty fields select all. Every record of the time is
// examined.
type AuditFilter struct {
	Who, Action, Target, Job string // as Audit has them
	CreatedFrom, CreatedTo   Time   // inclusive; exclusive
}

// An AuditPage is a page of audit records, newest first.
type AuditPage struct {
	Audits     []Audit `json:"audits" nullable:"false"`
	NextCursor string  `json:"next_cursor" doc:"Cursor of the next page; empty only at the end. A page with few records, or none, may be followed by another."`
}

// An Event is a change of a task, sent after it was committed.
type Event struct {
	Type    string   `json:"-"` // "task" or "attempt"
	Task    Task     `json:"task" doc:"The task now; last is the attempt of this event, or null."`
	Added   bool     `json:"added" doc:"The task was just created."`
	Attempt *Attempt `json:"attempt,omitempty" doc:"Trigger of the attempt; only in attempt events."`
}

// A Backup requests a consistent copy of the embedded store.
type Backup struct {
	Dir    string `json:"dir" minLength:"1" maxLength:"4096" doc:"An absolute path on the server, of a directory that does not exist."`
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"Written to the audit record."`
}

// Health is the answer of /healthz and /readyz if the server works, perhaps with a problem.
type Health struct {
	Status string `json:"status" enum:"ok,full" doc:"full: the store rejects new tasks; existing tasks go on."`
}
