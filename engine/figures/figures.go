package figures

import (
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// A Queue is a queue as an operator looks at it.
type Queue struct {
	Name     string
	Kind     string
	Schedule string
	Success  string
	Timeout  time.Duration
	MaxAge   time.Duration
	Delay    time.Duration // before a task's schedule begins, unless the task says when

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
	FailedHour    int64 // tasks that failed in the latest hour, or since Gauges.Started
}

// An Intake says whether tasks are taken in, and what that depends on. It closes
// above High or HeapHigh, and opens again below Low and seven eighths of HeapHigh.
type Intake struct {
	Open      bool
	Waiting   int   // tasks that are overdue or wait to be committed, but for those set aside; counted no further than it takes to know
	High, Low int   // of Waiting
	Heap      int64 // bytes that lived when garbage was collected last
	HeapHigh  int64 // 0: no limit
}

// A Pause says who stopped a queue or an endpoint, and why.
type Pause struct {
	At     time.Time `json:"at"`
	Who    string    `json:"who"`
	Reason string    `json:"reason"`
}

// A MerchantPause says which merchant is paused, by whom and why.
type MerchantPause struct {
	MerchantNo string
	Pause
}

// A FailingMerchant accepts none of its attempts.
type FailingMerchant struct {
	MerchantNo string    `json:"merchant_no"`
	Since      time.Time `json:"since"` // the first of the attempts in a row that a node knows
}

// Counts are events in some stretch of time.
type Counts struct {
	Added     int64
	Attempts  map[bellman.Result]int64 // only results that occurred
	Succeeded int64
	Failed    int64
}

// An Endpoint is an endpoint as an operator looks at it.
type Endpoint struct {
	Endpoint    string
	InFlight    int
	Limit       int     // attempts that may be in flight now; adapts
	Rate        float64 // attempts a second that it seems to allow, where it asked for less; 0: it did not
	Waiting     int
	Oldest      time.Time // due time of the one that waits longest; zero: none waits
	SuccessRate float64   // of its latest attempts, 0 to 1; −1 before the first
	Attempts    int       // how many these are, at most a hundred for each node
	Breaker     string    // closed, open, half_open
	Pause       *Pause    // nil unless paused
}

// Stats are figures over the latest stretch of time, of this node since it started.
type Stats struct {
	Since    time.Time // where the figures begin: the window, or the start if later
	Counts   Counts
	Lateness Percentiles
	Took     Percentiles
}

// Percentiles of durations; all zero when Count is.
type Percentiles struct {
	Count              int64
	P50, P90, P99, Max time.Duration
}

// A Ask says which figures are wanted.
type Ask struct {
	Queues    bool            `json:"queues,omitempty"`
	Endpoints bool            `json:"endpoints,omitempty"`
	Gauges    bool            `json:"gauges,omitempty"`
	Windows   []time.Duration `json:"windows,omitempty"` // of Stats; a day at most
	Minutes   int             `json:"minutes,omitempty"` // the latest so many one by one
}

// Figures are those of all nodes that share a store, or, where some of these did not
// answer, of those that did.
type Figures struct {
	Queues    []Queue
	Endpoints []Endpoint
	Gauges    Gauges
	Failing   []FailingMerchant // the longest first, if Gauges were asked for
	Windows   []Stats           // one for each that was asked for
	Minutes   []Stats           // the oldest first
	Nodes     int               // whose figures these are
	Silent    []string          // the nodes whose figures these are not, for they did not answer, by name
}

// Gauges are figures of the moment.
type Gauges struct {
	InFlight      int       // attempts being made
	PoolLimit     int       // attempts that may be made at once; adapts
	PoolFloor     int       // the least that the part of PoolLimit for quick endpoints shrinks to
	PoolCeiling   int       // the most that PoolLimit may be
	Waiting       int       // due, waiting for their turn in memory
	OldestWaiting time.Time // due time of the one of them that waits longest; zero: none
	Loaded        int       // in memory, not due yet
	Uncommitted   int       // operations waiting for the next group commit
	OldestOverdue time.Time // over the tasks in the store that no pause and no breaker holds; zero: none is overdue
	Held          int       // of Waiting, tasks that a pause or a breaker that is not closed keeps back
	Endpoints     int       // endpoints known to the dispatcher
	BreakersOpen  int
	Refusing      int       // nodes that take no tasks in, since there are too many
	Started       time.Time // when the node began to count, of several the latest

	// SlowCommit is the 99th percentile of the commits of the latest minute, or how
	// long the present one takes already, with its repetitions, if that is longer. Zero:
	// there was none.
	SlowCommit time.Duration

	// Fired is when the loop that starts attempts last came round and was free to
	// start some, by the wall clock: it does that every few seconds, whether anything
	// is due or not, but not while the store takes no outcomes. Zero: not yet.
	Fired time.Time

	// Stray is how many of those that wait are of queues that this node does not have
	// configured: it attempts none of them.
	Stray int

	// RefusedFollows counts the follow-up tasks that were left out since the start,
	// for they were not valid. Each is in the log.
	RefusedFollows int64
}
