package bellman

import (
	"context"
	"time"
)

// A Handler makes attempts. It is called from many goroutines at once.
type Handler interface {
	// Attempt tries the task once and returns what follows. number is 1 for the first
	// attempt. ctx ends after the task's timeout, or earlier when the process must
	// stop; then the attempt is made again after the next start. The task must not be
	// changed, and not be used after the return. A panic fails this attempt alone, and so
	// does runtime.Goexit.
	Attempt(ctx context.Context, task *Task, number int) Verdict
}

// A HandlerFunc is a function as a Handler.
type HandlerFunc func(ctx context.Context, task *Task, number int) Verdict

// Attempt calls f.
func (f HandlerFunc) Attempt(ctx context.Context, task *Task, number int) Verdict {
	return f(ctx, task, number)
}

// A Checker is a Handler that checks a task before it is accepted. It may fill in what the caller
// left out (Method, Endpoint, Schedule), which is then validated as if the caller had given it.
// Queue and Kind must stay. It may set Due: then the first attempt is not later than that, whatever
// the schedule says. It may set State and Reason: then the task is added as ended, as a record of
// something that has happened. For a task that it refuses it returns an *Invalid that names every
// wrong field. A panic is an error of Add.
//
// A Checker that cannot decide now, because a store does not answer, returns an error that
// wraps ErrUnreachable. Add returns that error. If the task follows from an attempt, that
// attempt is not recorded before a check succeeds or refuses the task. An error that wraps
// context.DeadlineExceeded means the same for up to 20 minutes while bellman's own store
// answers. After that it refuses the task.
type Checker interface {
	Check(task *Task) error
}

// A Router is a Handler that keeps rules of merchants: address, schedule, limits. They
// may change while tasks wait. The engine asks for a task that names a merchant, when
// it is added and before each attempt, so the answer should come from memory.
type Router interface {
	// Route returns the merchant's rules for a task as they are now. After an error or a panic
	// the engine uses those of the task and its queue.
	Route(ctx context.Context, task *Task) (Route, error)
}

// Route holds a merchant's rules for one task, which override the queue's. A zero field leaves the
// queue's rule.
type Route struct {
	// Endpoint is where a task with a MerchantEndpoint goes now; empty for others.
	Endpoint string

	// URL is its merchant's address, for a task that goes there now; empty for others.
	URL string

	// Rules for fields that the caller of Add left empty (see [Task.Inherited]). After an attempt
	// an invalid Schedule counts as empty.
	Schedule, Success string
	Timeout           time.Duration

	// Limits to the Endpoint.
	Concurrency int
	Rate        float64
}

// ScheduleOf returns the schedule that a task follows now.
func (g *Route) ScheduleOf(t *Task) string {
	if t.Inherited.Has(InheritedSchedule) && g.Schedule != "" {
		return g.Schedule
	}
	return t.Schedule
}

// SuccessOf returns the rule that judges the answers of a task now.
func (g *Route) SuccessOf(t *Task) string {
	if t.Inherited.Has(InheritedSuccess) && g.Success != "" {
		return g.Success
	}
	return t.Success
}

// TimeoutOf returns the timeout of an attempt of a task now.
func (g *Route) TimeoutOf(t *Task) time.Duration {
	if t.Inherited.Has(InheritedTimeout) && g.Timeout > 0 {
		return g.Timeout
	}
	return t.Timeout
}

// A Limiter is a Handler whose endpoints have limits of their own, for the tasks of all queues that
// go there. The engine asks for a task with an Endpoint, when it is added and before each attempt,
// so the answer should come from memory.
type Limiter interface {
	// Limits reports whether an endpoint may have a limit at all. The answer stays the same. The
	// limits of all queues with such endpoints are placed on the same nodes of a cluster.
	Limits() bool

	// RateOf returns how many attempts an endpoint takes in a second; 0: as the queue says. After
	// an error or a panic the engine uses the queue's rule.
	RateOf(ctx context.Context, endpoint string) (float64, error)
}

// A Completer is a Handler whose tasks can be completed from outside, when the result
// came another way: a channel's own notice says that an order is paid.
type Completer interface {
	// Complete returns what follows from a completion at the time now. The task may be in
	// any state. A verdict with Next Succeed or GiveUp ends the task if it is pending;
	// with Again its state stays. With Again and a Due, a task that has ended is attempted
	// once then, and stays ended. Follow-up tasks are added in each case. An *Invalid or
	// ErrConflict refuses the completion. A panic is an error of the call.
	Complete(task *Task, c Completion, now time.Time) (Verdict, error)
}

// A Completion is a result that came another way than as the answer to an attempt.
type Completion struct {
	Outcome string // the result in the handler's words: "PAID"; empty: the task succeeded
	Detail  any    // what else is known, of a type that the handler names; nil: nothing
}

// A Latecomer is a Handler that uses the answer of an attempt even if its task ended
// while the attempt was in flight, because it was completed or cancelled.
type Latecomer interface {
	// Late returns what follows from the verdict of such an attempt. task is the ended task as
	// it is now. Of the returned verdict only Data and Follow are used: the task stays ended.
	Late(task *Task, verdict Verdict, now time.Time) Verdict
}

// A Verdict is what follows from one attempt. The zero Verdict means: not successful, attempt it
// again when the schedule says. Its texts are cut at [MaxResponse] characters, and Header at
// [MaxResponseHeader].
type Verdict struct {
	Next   Next
	Reason string // why the task ended; empty: accepted, or gave_up

	// For the log of attempts. Unreachable and TimedOut also count against the endpoint: after some
	// in a row it gets no attempts for a while. The zero Result stands for the one that follows
	// from Next and ctx.
	Result   Result
	Status   int // HTTP status; 0 if none
	Response string
	Header   string // that of [Attempt]
	Error    string

	// Action is what this attempt requested, if the handler has several kinds of requests: "query",
	// "close". Otherwise empty.
	Action string

	// Reading is how the handler read the answer: "PENDING", "PAID", "paid_hint". Empty: the
	// handler does not read answers.
	Reading string

	// Timing is the duration of each part of the attempt.
	Timing Timing

	// Unsent means that nothing was sent, for a reason on this side. The attempt does not count as
	// a failure of the endpoint.
	Unsent bool

	// Minor means that nobody has to look into the task if it fails with this attempt. The figures
	// of failed tasks, and with them the alarms, do not count it.
	Minor bool

	// Throttled means that the endpoint asks for fewer attempts. All its tasks are attempted more
	// slowly for a while. Package deliver sets it for answers with status 429 or 503.
	Throttled bool

	// Hold is how long the endpoint asks for no requests at all. None of its tasks is attempted for
	// that time after this attempt, 10 minutes at most. Zero: no such wish.
	Hold time.Duration

	// Due is when to attempt the task again, for a handler that has its own schedule. With
	// Next Again it is used instead of the schedule's next time, and neither schedule nor
	// MaxAge ends the task. A time before the end of this attempt means at once, and one more than
	// ten years ahead means in ten years. Zero: the schedule decides.
	Due time.Time

	// RetryAfter delays the next attempt, as the header Retry-After asks, but not beyond the time
	// of the attempt after that, and not beyond MaxAge.
	RetryAfter time.Duration

	// Data replaces the task's Data; nil leaves it. With more than MaxData bytes the whole verdict
	// counts as refused.
	Data []byte

	// Follow are tasks to add in the same transaction. If a task has a State other than Pending, it
	// is added as ended, with its Reason, as a record of something that has happened. Checker does
	// not check it.
	Follow []Task
}

// Next is what happens to a task after an attempt.
type Next uint8

// What can happen to a task after an attempt.
const (
	Again   Next = iota // attempt it again when the schedule says
	Succeed             // end it as succeeded
	GiveUp              // end it as failed: no attempt can help
)
