package client

// A Pause says who stopped a queue or an endpoint, and why.
type Pause struct {
	At     Time   `json:"at" format:"date-time"`
	Who    string `json:"who"`
	Reason string `json:"reason"`
}

// Counts are events in some stretch of time.
type Counts struct {
	Added     int64            `json:"added"`
	Attempts  map[string]int64 `json:"attempts" doc:"By result; only results that occurred."`
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

// A Queue is a queue as an operator looks at it.
type Queue struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"`
	Schedule string `json:"schedule"`
	Success  string `json:"success"`
	Timeout  string `json:"timeout"`
	MaxAge   string `json:"max_age" doc:"Empty: the schedule decides alone."`
	Delay    string `json:"delay" doc:"Of a task that gives neither delay nor due. Empty: none."`

	Concurrency int         `json:"concurrency" doc:"Attempts in flight; 0: no limit of its own."`
	Rate        float64     `json:"rate" doc:"Attempts a second; 0: no limit of its own."`
	PerEndpoint PerEndpoint `json:"per_endpoint"`

	Paused        *Pause `json:"paused" doc:"null unless paused."`
	Depth         Depth  `json:"depth"`
	OldestOverdue *Time  `json:"oldest_overdue" format:"date-time" doc:"Due time of the task that waits longest, but for those that are held; null: none is overdue."`
	Waiting       int    `json:"waiting" doc:"In memory, due."`
	Held          int    `json:"held" doc:"Of those that wait, how many a pause or a breaker that is not closed keeps back. They are not overdue."`
	InFlight      int    `json:"in_flight"`
	LastMinute    Counts `json:"last_minute"`
}

// PerEndpoint are a queue's limits for one endpoint.
type PerEndpoint struct {
	Concurrency int     `json:"concurrency"`
	Rate        float64 `json:"rate" doc:"Attempts a second; 0: no limit."`
}

// Queues is the list of all queues.
type Queues struct {
	Queues []Queue `json:"queues" nullable:"false"`
	Intake Intake  `json:"intake"`
	Whole
}

// Whole says of which nodes figures are.
type Whole struct {
	Nodes  int      `json:"nodes" doc:"How many nodes these figures are of."`
	Silent []string `json:"silent" nullable:"false" doc:"Nodes that did not answer in time: what waits there, is in flight or was done lately is not in these figures. Empty: these are all nodes'."`
}

// An Endpoint is a place that tasks go to, as an operator looks at it.
type Endpoint struct {
	Endpoint    string   `json:"endpoint" example:"https://merchant.example:443"`
	InFlight    int      `json:"in_flight"`
	Limit       int      `json:"limit" doc:"Attempts that may be in flight now; adapts."`
	Rate        float64  `json:"rate" doc:"Attempts a second that it seems to allow, after it asked for fewer; 0: it did not."`
	Waiting     int      `json:"waiting"`
	Oldest      *Time    `json:"oldest" format:"date-time" doc:"Due time of the task that waits longest; null: none waits."`
	SuccessRate *float64 `json:"success_rate" doc:"Of its latest attempts, 0 to 1; null before the first."`
	Breaker     string   `json:"breaker" enum:"closed,open,half_open"`
	Paused      *Pause   `json:"paused" doc:"null unless paused."`
}

// Endpoints is the list of all endpoints that the server knows.
type Endpoints struct {
	Endpoints []Endpoint `json:"endpoints" nullable:"false"`
	Whole
}

// Paused answers a pause or resume: what it was done to.
type Paused struct {
	Names []string `json:"names" nullable:"false" doc:"The queue, or the endpoints of the host; of a resume those alone that were paused."`
}

// Stats are figures over the latest stretch of time, of all nodes, each since it
// started.
type Stats struct {
	Since    Time        `json:"since" format:"date-time" doc:"Where the figures begin: the window, or the start if later, of the first node that started."`
	Counts   Counts      `json:"counts"`
	Lateness Percentiles `json:"lateness" doc:"Started minus due."`
	Took     Percentiles `json:"took" doc:"Start to last byte."`
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

// An Audit records one action taken by hand.
type Audit struct {
	At     Time   `json:"at" format:"date-time"`
	Who    string `json:"who" doc:"The key's name; empty where nobody has to say."`
	Action string `json:"action"`
	Target string `json:"target" doc:"A task's id, or queue/NAME, endpoint/HOST, merchant/NUMBER, resend/ID, link/ID."`
	Reason string `json:"reason"`
	From   string `json:"from" doc:"The network address of who asked: that of trusted_proxies' X-Forwarded-For, if one of these passed it on. Empty: not known, or of before it was kept."`
	Job    string `json:"job,omitempty" doc:"The bulk resend or the batch of merchants that this was a part of, as resend/ID or batch/ID; absent: none."`

	Changes []Changed `json:"changes,omitempty" doc:"The fields that the action changed, such as a merchant's. Secrets are shown by their last characters, values in a URL's query by a fingerprint."`
}

// A Changed is one field that an action changed.
type Changed struct {
	Field  string `json:"field"`
	Before string `json:"before" doc:"Empty: it had no value."`
	After  string `json:"after" doc:"Empty: it has no value."`
}

// An AuditPage is a page of audit records, newest first.
type AuditPage struct {
	Audits     []Audit `json:"audits" nullable:"false"`
	NextCursor string  `json:"next_cursor" doc:"Where the next page begins; empty at the end."`
}

// An Event is a change of a task, told after it was committed.
type Event struct {
	Type    string   `json:"-"` // "task" or "attempt"
	Task    Task     `json:"task" doc:"As it is now; last is the attempt of this event, or null."`
	Added   bool     `json:"added" doc:"The task was just created."`
	Attempt *Attempt `json:"attempt,omitempty" doc:"What caused the change; only in attempt events."`
}

// A Backup asks for a consistent copy of the embedded store.
type Backup struct {
	Dir    string `json:"dir" minLength:"1" maxLength:"4096" doc:"An absolute path on the server, of a directory that does not exist yet."`
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"Goes into the audit record."`
}

// Health is the answer of /healthz and /readyz when all is well, or nearly so.
type Health struct {
	Status string `json:"status" enum:"ok,full" doc:"full: the store has no room for new tasks, and those there are go on."`
}
