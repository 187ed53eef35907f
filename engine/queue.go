package engine

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/schedule"
)

// A Queue is a class of tasks and its rules.
type Queue struct {
	Name    string
	Kind    bellman.Kind    // of its tasks; default [bellman.KindNotify]. A task of another kind is not attempted
	Handler bellman.Handler // makes the attempts; required

	// Defaults for tasks that leave the field empty. The task keeps the value: a later change of
	// the queue does not affect existing tasks.
	Schedule string        // a preset's name or text; default [schedule.Default]; order_poll for orders, wechat_refund for polls
	Success  string        // how the handler judges an answer; empty: the handler's default
	Timeout  time.Duration // of one attempt; default 5s
	MaxAge   time.Duration // after it the task fails; 0: no limit but the schedule
	Delay    time.Duration // before the schedule begins

	Concurrency         int     // concurrent attempts of the queue; 0: no limit but EndpointConcurrency
	Rate                float64 // attempts a second of the queue, [schedule.MinRate] or more; 0: no limit
	EndpointConcurrency int     // concurrent attempts to one endpoint, which is the whole queue for tasks without one; default 64
	EndpointRate        float64 // attempts a second to one endpoint, as Rate; 0: no limit

	// YoungFirst orders tasks by age class when not all can go: no attempt yet, 1, 2–3, 4–7, 8–15,
	// 16 or more. Younger classes go first. At least each eighth attempt is of the task that waits
	// longest, and each fourth when that task is late.
	//
	// Without YoungFirst, first attempts go before retries. Retries get each eighth attempt, and
	// each second when they are late.
	YoungFirst bool

	perEndpoint bool // limits of one endpoint were given, and hold for the whole cluster
	slots       bool // one of these limits is EndpointConcurrency

	common *common // of all queues whose endpoints may have rates; nil: this queue's have none
	rated  bool    // the endpoint has a rate that holds for all these queues

	// Ended returns the tasks to add when a task of this queue ends. They are added in the same
	// transaction. Ended receives the ended task, with Last, and must not change it. It is called
	// again if a person revives the task and it ends again. For a task that repeats, it is called
	// only when the task is cancelled. Ended may be called more than once for one end, and the
	// tasks of one call are added: give them keys. After a panic the task ends, and nothing
	// follows. Nil: nothing follows.
	Ended func(task *bellman.Task) []bellman.Task
}

// Common parts are for the queues whose endpoints may have rates of their own ([bellman.Limiter]).
// An endpoint's rate holds for the tasks of all these queues, so they must agree which shards have
// its parts. A queue with limits of its own must have parts of them in the same shards. Therefore
// the limits of all these queues are divided into the same parts, which start at the same shard.
type common struct {
	first, of uint16  // the parts of each queue's own limits; without any, all parts
	slots     int     // the least EndpointConcurrency that a queue was given; 0: none was
	most      int     // the least EndpointConcurrency, given or not: parts of an endpoint, at most
	least     float64 // parts of an endpoint that leave room for the EndpointConcurrency of each queue
	ratePart  bool    // a queue has a rate of its own
}

// schedules are the defaults of kinds that do not notify.
var schedules = map[bellman.Kind]string{bellman.KindOrder: "order_poll", bellman.KindPoll: "wechat_refund"}

func (q Queue) withDefaults() Queue {
	q.Kind = cmp.Or(q.Kind, bellman.KindNotify)
	q.Schedule = cmp.Or(q.Schedule, schedules[q.Kind], schedule.Default)
	q.Timeout = cmp.Or(q.Timeout, 5*time.Second)
	q.slots = q.EndpointConcurrency > 0
	q.perEndpoint = q.slots || q.EndpointRate > 0
	q.EndpointConcurrency = cmp.Or(q.EndpointConcurrency, 64)
	return q
}

func (q Queue) check() error {
	if !isName(q.Name) {
		return fmt.Errorf("engine: %.80q is not a valid name of a queue: want 1 to %d characters without spaces and control characters", q.Name, bellman.MaxName)
	}
	if q.Kind > bellman.KindPoll && q.Kind < bellman.KindOwn {
		return fmt.Errorf("engine: queue %q: Kind is %d: want KindNotify, KindOrder, KindPoll, or your own from KindOwn on", q.Name, q.Kind)
	}
	if isNil(q.Handler) {
		return fmt.Errorf("engine: queue %q has no handler", q.Name)
	}
	for _, limit := range []struct {
		name  string
		value int
	}{{"Concurrency", q.Concurrency}, {"EndpointConcurrency", q.EndpointConcurrency}} {
		if limit.value < 0 || limit.value > bellman.MaxConcurrency {
			return fmt.Errorf("engine: queue %q: %s is %d: want 0 to %d", q.Name, limit.name, limit.value, bellman.MaxConcurrency)
		}
	}
	if q.Timeout < time.Millisecond || q.Timeout > bellman.MaxTimeout {
		return fmt.Errorf("engine: queue %q: Timeout is %v: want 1ms to %v", q.Name, q.Timeout, bellman.MaxTimeout)
	}
	if q.MaxAge < 0 || q.MaxAge > schedule.MaxDuration {
		return fmt.Errorf("engine: queue %q: MaxAge is %v: want 0s to 87600h", q.Name, q.MaxAge)
	}
	for _, rate := range []struct {
		name  string
		value float64
	}{{"Rate", q.Rate}, {"EndpointRate", q.EndpointRate}} {
		if rate.value != 0 && !(rate.value >= schedule.MinRate && rate.value <= schedule.MaxRate) { // also NaN
			return fmt.Errorf("engine: queue %q: %s is %v: want 0 for no limit, or 1/3600 to %d attempts a second", q.Name, rate.name, rate.value, schedule.MaxRate)
		}
	}
	if _, err := schedule.Parse(q.Schedule); err != nil {
		return fmt.Errorf("engine: queue %q: %w", q.Name, err)
	}
	if q.Delay < 0 || q.Delay > schedule.MaxDuration {
		return fmt.Errorf("engine: queue %q: delay %v is out of range: want 0s to 87600h", q.Name, q.Delay)
	}
	return nil
}

// isNil reports whether a handler or a store is nil, or a nil function or pointer, such as a
// [bellman.HandlerFunc] without a function.
func isNil(h any) bool {
	switch v := reflect.ValueOf(h); v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Func, reflect.Pointer:
		return v.IsNil()
	}
	return false
}

// isName reports whether a text can name a queue.
func isName(text string) bool {
	forbidden := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	return text != "" && utf8.ValidString(text) && utf8.RuneCountInString(text) <= bellman.MaxName && !strings.ContainsFunc(text, forbidden)
}
