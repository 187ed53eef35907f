package bellman

import "time"

// An Added says what became of one task that was handed in.
type Added struct {
	ID       ID    // the task's, or that of the one that has its key already
	Existing bool  // its key was there with the same content; nothing was added
	Err      error // *Invalid, ErrKeyTaken (ID is set), ErrOverloaded, ErrFull, or the store's
}

// By says who did something by hand, why, and from where. It goes into the audit
// record.
type By struct {
	Who    string // the key's name; empty where nobody has to say
	Reason string
	From   string // the network address of who asked; empty where that is not known
}

// Audit is the record of what they did.
func (by By) Audit(at time.Time, action, target string) Audit {
	return Audit{At: at, Who: by.Who, Action: action, Target: target, Reason: by.Reason, From: by.From}
}

// A Settled says what became of one task that was to be settled.
type Settled struct {
	ID   ID
	Task *Task // as it is now, with Last; nil if it cannot be read
	Err  error // nil: settled; ErrNotFound, ErrWaiting, or the store's
}

// A ResendMode says what a manual resend is.
type ResendMode string

// The modes of a manual resend.
const (
	ResendOnce    ResendMode = "once"    // one attempt now; the schedule stays where it is
	ResendRestart ResendMode = "restart" // the schedule begins anew, now
)

// An Event is a change of a task, told after it was committed.
type Event struct {
	Task    *Task    // as it is now; without Last. Shared: must not be changed
	Attempt *Attempt // the attempt that caused the change; nil if none did
	Added   bool     // the task was just added
}

// A QueueInfo is a queue as an operator looks at it.
type QueueInfo struct {
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
	Depth         Depth
	OldestOverdue time.Time // due time of the task that waits longest; zero: none is overdue
	OldestFree    time.Time // likewise, but for tasks that an open breaker or a pause holds
	Waiting       int       // in memory, due
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

// Counts are events in some stretch of time.
type Counts struct {
	Added     int64
	Attempts  map[Result]int64 // only results that occurred
	Succeeded int64
	Failed    int64
}

// An EndpointInfo is an endpoint as an operator looks at it.
type EndpointInfo struct {
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

// A FiguresAsk says which figures are wanted.
type FiguresAsk struct {
	Queues    bool            `json:"queues,omitempty"`
	Endpoints bool            `json:"endpoints,omitempty"`
	Gauges    bool            `json:"gauges,omitempty"`
	Windows   []time.Duration `json:"windows,omitempty"` // of Stats; a day at most
	Minutes   int             `json:"minutes,omitempty"` // the latest so many one by one
}

// Figures are those of all nodes that share a store, or, where some of these did not
// answer, of those that did.
type Figures struct {
	Queues    []QueueInfo
	Endpoints []EndpointInfo
	Gauges    Gauges
	Windows   []Stats  // one for each that was asked for
	Minutes   []Stats  // the oldest first
	Nodes     int      // whose figures these are
	Silent    []string // the nodes whose figures these are not, for they did not answer, by name
}

// An Observer is told what happens, for metrics. Its methods are called on hot
// paths, from many goroutines, and must return at once.
type Observer interface {
	// Attempted follows each attempt, when it is committed.
	Attempted(queue string, result Result, lateness, took time.Duration)
	// Added follows each commit that added tasks to a queue.
	Added(queue string, n int)
	// Ended follows each task that reached an end state.
	Ended(queue string, state State)
	// Committed follows each group commit.
	Committed(operations int, took time.Duration)
}

// Gauges are figures of the moment.
type Gauges struct {
	InFlight      int       // attempts being made
	PoolLimit     int       // attempts that may be made at once; adapts
	Waiting       int       // due, waiting for their turn in memory
	OldestWaiting time.Time // due time of the one of them that waits longest; zero: none
	Loaded        int       // not due yet, in the wheel
	Uncommitted   int       // operations waiting for the next group commit
	OldestOverdue time.Time // over the tasks in the store that are not set aside; zero: none is overdue
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
