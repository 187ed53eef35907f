package figures

import (
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// A Queue describes a queue for operators.
type Queue struct {
	Name     string
	Kind     string
	Schedule string
	Success  string
	Timeout  time.Duration
	MaxAge   time.Duration
	Delay    time.Duration // before a task's schedule begins, unless the task gives a time

	Concurrency         int     // attempts in flight; 0: no limit of its own
	Rate                float64 // attempts a second; 0: no limit of its own
	YoungFirst          bool    // tasks with fewer attempts go before those with more
	EndpointConcurrency int     // attempts in flight to one endpoint
	EndpointRate        float64 // attempts a second to one endpoint; 0: no limit

	Pause         *Pause // nil unless paused
	Depth         store.Depth
	OldestOverdue time.Time // due time of the task that waits longest and is not held; zero: none is overdue
	Waiting       int       // in memory, due
	Held          int       // of Waiting, tasks that a pause or a breaker that is not closed keeps back
	InFlight      int
	LastMinute    Counts
	FailedHour    int64 // tasks that failed in the latest hour, or since Gauges.Started, without minor failures
}

// An Intake says whether new tasks are accepted, and why. It closes above High or HeapHigh, and
// opens below Low and seven eighths of HeapHigh.
type Intake struct {
	Open      bool
	Waiting   int   // tasks that are overdue or wait for a commit, without deferred ones; counted only as far as needed
	High, Low int   // marks of Waiting
	Heap      int64 // live bytes after the last garbage collection
	HeapHigh  int64 // 0: no limit

	// Full is since when the store has rejected new tasks for lack of room. It is reset by a task that
	// the store accepts a minute after the last rejection. Zero: it has rejected none.
	Full time.Time
}

// A Pause says who paused something, when and why.
type Pause struct {
	At     time.Time `json:"at"`
	Who    string    `json:"who"`
	Reason string    `json:"reason"`
}

// A MerchantPause is the pause of a merchant.
type MerchantPause struct {
	MerchantNo string
	Pause
}

// A FailingMerchant is a merchant all of whose recent attempts failed.
type FailingMerchant struct {
	MerchantNo string    `json:"merchant_no"`
	Since      time.Time `json:"since"` // the first of the attempts in a row that a node knows
}

// A Refusal counts the rejected messages to a queue within the last hour: notices of a channel, or
// follow-up tasks.
type Refusal struct {
	Queue string    `json:"queue"`
	Count int       `json:"count"`
	Since time.Time `json:"since"` // of the first
	Last  time.Time `json:"last"`
	Why   string    `json:"why"`            // of the last
	Task  string    `json:"task,omitempty"` // id of the task that the last is about
}

// Counts are the events of a period.
type Counts struct {
	Added     int64
	Attempts  map[bellman.Result]int64 // only results that occurred
	Succeeded int64
	Failed    int64 // without minor failures (Verdict.Minor)
}

// An Endpoint describes an endpoint for operators.
type Endpoint struct {
	Endpoint    string
	InFlight    int
	Limit       int     // concurrent attempts that are allowed now; adapts
	Rate        float64 // attempts a second that the endpoint seems to allow, after it asked for fewer; 0: it did not
	Waiting     int
	Oldest      time.Time // due time of the task that waits longest; zero: none waits
	SuccessRate float64   // fraction of recent attempts that were accepted, 0 to 1; −1 before the first
	Attempts    int       // number of these attempts, at most a hundred for each node
	Breaker     string    // closed, open, half_open
	Pause       *Pause    // nil unless paused
	Hour        *Recent   // attempts of the last hour, without minutes; nil: none, and the last one before did not fail
}

// Stats are figures over a period that ends now.
type Stats struct {
	Since    time.Time // start of the period: of the window, or of the node if that is later
	Counts   Counts
	Lateness Percentiles
	Took     Percentiles
	Claimed  int64 // shards that nodes took over from dead nodes
}

// Percentiles of durations; all zero when Count is.
type Percentiles struct {
	Count              int64
	P50, P90, P99, Max time.Duration
}

// An Ask selects figures.
type Ask struct {
	Queues    bool            `json:"queues,omitempty"`
	Endpoints bool            `json:"endpoints,omitempty"`
	Gauges    bool            `json:"gauges,omitempty"`
	Windows   []time.Duration `json:"windows,omitempty"` // of Stats; a day at most
	Minutes   int             `json:"minutes,omitempty"` // number of latest minutes to return one by one
	Every     int             `json:"every,omitempty"`   // minutes that are summed up to one of Minutes; default 1
	Recent    *RecentAsk      `json:"recent,omitempty"`
}

// A RecentAsk names the endpoints and merchants whose last hour is asked for, at most MostRecent of
// each.
type RecentAsk struct {
	Endpoints []string `json:"endpoints,omitempty"`
	Merchants []string `json:"merchants,omitempty"`
}

// MostRecent bounds the names of a RecentAsk. Further ones are ignored.
const MostRecent = 200

// Figures are the sums over all nodes of a cluster that answered.
type Figures struct {
	Queues    []Queue
	Endpoints []Endpoint
	Gauges    Gauges
	Failing   []FailingMerchant // the longest first, if Gauges were asked for
	Refused   []Refusal         // by queue, if Gauges were asked for
	Follows   []Refusal         // follow-up tasks that were not added, by their queue, if Gauges were asked for
	Windows   []Stats           // one for each requested window
	Minutes   []Stats           // the oldest first
	Nodes     int               // number of nodes that answered
	Silent    []string          // names of nodes that did not answer
	Skewed    []Skew            // nodes whose clock differs by more than store.MaxSkew from that of this node

	RecentEndpoints, RecentMerchants []Recent // of Ask.Recent, by name
}

// Fails reports whether the endpoint accepted none of its latest attempts, at least three.
func (e *Endpoint) Fails() bool {
	latest := e.Attempts >= fails && e.SuccessRate == 0
	hour := e.Hour != nil && e.Hour.Fails() && e.Hour.Accepted == 0 && e.Hour.Failed >= fails
	return latest || hour
}

const fails = 3 // an endpoint fails after this many attempts without an accepted one

// A Skew is the clock of another node, as seen from this one.
type Skew struct {
	Node  string
	Ahead time.Duration // negative: it is behind
}

// Gauges are current figures.
type Gauges struct {
	InFlight      int       // attempts in flight
	PoolLimit     int       // concurrent attempts that are allowed now; adapts
	PoolFloor     int       // lowest value of the part of PoolLimit for quick endpoints
	PoolCeiling   int       // highest value of PoolLimit
	Waiting       int       // due, waiting for their turn in memory
	OldestWaiting time.Time // due time of the one that waits longest; zero: none
	Loaded        int       // tasks in memory that are not due yet
	Uncommitted   int       // rows that wait for a commit
	Rejected      int       // outcomes of attempts that the store rejects while it accepts others; they are retried
	OldestOverdue time.Time // over the tasks in the store that no pause and no breaker holds; zero: none is overdue
	Held          int       // of Waiting, tasks that a pause or a breaker that is not closed keeps back
	Endpoints     int       // endpoints known to the dispatcher
	BreakersOpen  int
	Refusing      int       // nodes that reject new tasks because too many wait
	Started       time.Time // when the node began to count; of several nodes the latest

	// SlowCommit is the 99th percentile of the commits of the latest minute, or the duration so far
	// of the present commit with its retries, if that is longer. Zero: no commit.
	SlowCommit time.Duration

	// Fired is when the loop that starts attempts last ran and could have started some, by the wall
	// clock. It runs every few seconds, except while the store accepts no outcomes. Zero: not yet.
	Fired time.Time

	// Stray is how many of the waiting tasks are of queues that are not configured at this node.
	// They are not attempted.
	Stray int

	// RefusedFollows counts invalid follow-up tasks since the start. Each is in the log.
	RefusedFollows int64
}
