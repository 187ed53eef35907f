package bellman

import (
	"context"
	"time"
)

// A Handler makes attempts. It is called from many goroutines at once.
type Handler interface {
	// Attempt tries task once, as attempt number, and says what follows. ctx ends
	// at the task's timeout, or earlier when the process must stop; an attempt cut
	// off so is made again. The task must not be changed or kept. A panic fails
	// this attempt and nothing else.
	Attempt(ctx context.Context, task *Task, number int) Verdict
}

// A HandlerFunc is a function as a Handler.
type HandlerFunc func(ctx context.Context, task *Task, number int) Verdict

// Attempt calls f.
func (f HandlerFunc) Attempt(ctx context.Context, task *Task, number int) Verdict {
	return f(ctx, task, number)
}

// A Checker is a Handler that looks at a task before it is accepted. It may
// fill in what the caller left out (Method, Endpoint), and set Due where the
// first attempt must not be later, whatever the schedule says. It returns an
// *Invalid that names every wrong field.
type Checker interface {
	Check(task *Task) error
}

// A Router is a Handler whose tasks follow rules that may change while they wait: those
// of the merchant that they go to. It is asked about tasks that name a merchant, when
// they are added and before each attempt, so it must answer from memory as a rule.
type Router interface {
	// Route says what holds for a task now. An error means that nobody can tell: then
	// nothing beside the task's and its queue's own does.
	Route(ctx context.Context, task *Task) (Route, error)
}

// Route is what stands before a queue's rules for one task now. Zero fields leave
// it to the queue.
type Route struct {
	// Endpoint is where a task with a MerchantEndpoint goes now; empty for others.
	Endpoint string

	// URL is its merchant's address, for a task that goes there now; empty for others.
	URL string

	// For a task that was not given them (see [Task.Inherited]).
	Schedule, Success string
	Timeout           time.Duration

	// Limits to the Endpoint.
	Concurrency int
	Rate        float64
}

// ScheduleOf is the schedule that a task follows now.
func (g *Route) ScheduleOf(t *Task) string {
	if t.Inherited.Has(InheritedSchedule) && g.Schedule != "" {
		return g.Schedule
	}
	return t.Schedule
}

// SuccessOf is what judges the answers of a task now.
func (g *Route) SuccessOf(t *Task) string {
	if t.Inherited.Has(InheritedSuccess) && g.Success != "" {
		return g.Success
	}
	return t.Success
}

// TimeoutOf is how long an attempt of a task may take now.
func (g *Route) TimeoutOf(t *Task) time.Duration {
	if t.Inherited.Has(InheritedTimeout) && g.Timeout > 0 {
		return g.Timeout
	}
	return t.Timeout
}

// A Completer is a Handler that has a say when a task is completed from outside:
// the answer came another way.
type Completer interface {
	// Complete says what follows from an outcome, for a task in any state, with
	// now as the time. Next Succeed or GiveUp ends the task, once; Again leaves
	// its state, and adds what follows all the same. An *Invalid or ErrConflict
	// refuses the completion.
	Complete(task *Task, outcome string, now time.Time) (Verdict, error)
}

// A Latecomer is a Handler that has a say when the answer of an attempt comes after
// its task ended in some other way: it was completed or cancelled meanwhile.
type Latecomer interface {
	// Late says what still follows from such an attempt's verdict, with the task as
	// it is now: Data and Follow count, and the task stays ended.
	Late(task *Task, verdict Verdict, now time.Time) Verdict
}

// A Verdict says what follows from one attempt. The zero Verdict means: not
// yet, try again when the schedule says.
type Verdict struct {
	Next   Next
	Reason string // why the task ended; empty: accepted, or gave_up

	// For the log of attempts.
	Result   Result
	Status   int    // HTTP status; 0 if none
	Response string // cut at 600 characters
	Error    string

	// Action says what this attempt asked for, where a handler has several things
	// to ask: "query", "close". Empty: the one thing it does.
	Action string

	// Reading says how a handler that reads answers read this one: "PENDING",
	// "PAID", "paid_hint". Empty: it does not.
	Reading string

	// Timing is how long the parts of the attempt took.
	Timing Timing

	// Unsent says that nothing was sent, for a reason on this side: it tells nothing of
	// the endpoint.
	Unsent bool

	// Throttled says that the endpoint asks for fewer attempts. All its tasks are
	// attempted more slowly for a while. The handlers of this module set it where an
	// answer has status 429 or 503.
	Throttled bool

	// Hold is how long the endpoint asks not to be sent anything at all, after this
	// attempt: none of its tasks is attempted. At most 10 minutes count. Zero: it does
	// not ask.
	Hold time.Duration

	// Due is when to attempt the task again, for a handler that counts for itself:
	// with Next Again it stands instead of the schedule's next time, and neither
	// schedule nor MaxAge ends the task then. Never before this attempt ended.
	// Zero: the schedule says.
	Due time.Time

	// RetryAfter asks to wait this long, as an answer's Retry-After does. It can
	// move the next attempt later, but not past the schedule's next two gaps.
	RetryAfter time.Duration

	Data   []byte // replaces the task's Data; nil leaves it
	Follow []Task // tasks to add in the same transaction
}

// Next is what happens to a task after an attempt.
type Next uint8

// What can happen to a task after an attempt.
const (
	Again   Next = iota // attempt it again when the schedule says
	Succeed             // end it as succeeded
	GiveUp              // end it as failed: no attempt can help
)
