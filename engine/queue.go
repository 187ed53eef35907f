package engine

import (
	"cmp"
	"fmt"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/schedule"
)

// A Queue is a class of tasks and its rules.
type Queue struct {
	Name    string
	Kind    bellman.Kind    // of its tasks; default [bellman.KindNotify]. A task of another kind waits until the queue has that kind again
	Handler bellman.Handler // makes the attempts; required

	// What a task gets that does not say otherwise. It is kept with the task: a
	// later change of the queue does not change tasks that exist.
	Schedule string        // a preset's name or text; default [schedule.Default]
	Success  string        // for handlers that judge answers; the handler's own if empty
	Timeout  time.Duration // of one attempt; default 5s
	MaxAge   time.Duration // 0: the schedule decides alone
	Delay    time.Duration // before the schedule begins, unless the task says when

	Concurrency         int     // attempts in flight; 0: no limit of its own
	Rate                float64 // attempts a second; 0: no limit of its own
	EndpointConcurrency int     // attempts in flight to one endpoint; default 64
	EndpointRate        float64 // attempts a second to one endpoint; 0: no limit

	// YoungFirst says that, when not all can go, tasks with fewer attempts go before
	// those with more: none, 1, 2–3, 4–7, 8–15, 16 or more. At least each eighth
	// attempt is of the task that waits longest, and each fourth when it is late.
	// Otherwise first attempts go before others, which get each eighth, and each
	// second when they are late.
	YoungFirst bool

	perEndpoint bool // limits of one endpoint were given, and are shared out by pieces
	slots       bool // … and how many attempts may be in flight is one of them

	// Ended says what follows when a task of this queue ends: tasks that are added in
	// the same transaction. It is given the task as it ends, with Last, and must not
	// change it. One that ended before is asked about
	// again when it ends otherwise, or begins anew and ends; one that repeats, when it
	// is cancelled. It may be asked more than once for one end, of which one counts;
	// give its tasks keys. nil: nothing follows.
	Ended func(task *bellman.Task) []bellman.Task
}

func (q Queue) withDefaults() Queue {
	q.Kind = cmp.Or(q.Kind, bellman.KindNotify)
	q.Schedule = cmp.Or(q.Schedule, schedule.Default)
	q.Timeout = cmp.Or(q.Timeout, 5*time.Second)
	q.slots = q.EndpointConcurrency > 0
	q.perEndpoint = q.slots || q.EndpointRate > 0
	q.EndpointConcurrency = cmp.Or(q.EndpointConcurrency, 64)
	return q
}

func (q Queue) check() error {
	if q.Name == "" {
		return fmt.Errorf("engine: a queue has no name")
	}
	if q.Handler == nil {
		return fmt.Errorf("engine: queue %q has no handler", q.Name)
	}
	if q.Rate < 0 || q.EndpointRate < 0 {
		return fmt.Errorf("engine: queue %q: rates must not be negative", q.Name)
	}
	if _, err := schedule.Parse(q.Schedule); err != nil {
		return fmt.Errorf("engine: queue %q: %w", q.Name, err)
	}
	if q.Delay < 0 || q.Delay > schedule.MaxDuration {
		return fmt.Errorf("engine: queue %q: delay %v is out of range: want 0s to 87600h", q.Name, q.Delay)
	}
	return nil
}
