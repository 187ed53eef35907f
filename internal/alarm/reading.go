package alarm

import (
	"math"
	"time"

	"github.com/bellmanhq/bellman/engine/figures"
)

// A standing says whether a condition holds.
type standing uint8

const (
	unknown standing = iota // the figures do not say
	fine
	holds
)

// A reading is what the figures say about one condition.
type reading struct {
	standing standing
	value    float64
	since    time.Time // the condition has held at least since then; zero: the figures do not say

	credential *Credential   // nil: it is about none
	within     time.Duration // the time before its end that has begun
}

// whole is how long a node must have counted before its figures cover a whole hour.
const whole = time.Hour

// wanted returns the figures that the rules need.
func wanted(rules []Rule) (ask figures.Ask) {
	for _, r := range rules {
		switch r.When {
		case Overdue:
			ask.Queues = true
		case OrdersUnknown, TasksFailed:
			ask.Queues, ask.Gauges = true, true
		case EndpointFailing:
			ask.Endpoints = true
		case StoreSlow, Overloaded:
			ask.Gauges = true
		}
	}
	return ask
}

// read evaluates a rule's condition: for each endpoint if the rule has one alarm for each endpoint,
// otherwise under "". rest is the result for endpoints that have no figures.
//
// If a node did not answer, its figures are missing. A value above the threshold without them is
// certain; a value below it is not.
func read(r *Rule, f *figures.Figures, now time.Time) (readings map[string]reading, rest standing) {
	complete := fine
	if len(f.Silent) > 0 {
		complete = unknown
	}
	one := func(value float64) reading {
		if value > r.Above {
			return reading{standing: holds, value: value}
		}
		return reading{standing: complete, value: value}
	}
	var found reading
	switch r.When {
	case Overdue:
		found = overdue(r, f, now, complete)
	case EndpointFailing:
		return failing(f), complete
	case OrdersUnknown, TasksFailed:
		found = one(float64(failed(r, f)))
		if found.standing == fine && now.Sub(f.Gauges.Started) < whole {
			found.standing = unknown // failures before a restart of the node are not counted
		}
	case StoreSlow:
		found = one(f.Gauges.SlowCommit.Seconds())
	case Overloaded:
		found = one(float64(f.Gauges.Refusing))
	case NodeSilent:
		complete = fine
		found = one(float64(len(f.Silent)))
	}
	return map[string]reading{"": found}, unknown
}

func overdue(r *Rule, f *figures.Figures, now time.Time, complete standing) reading {
	var oldest time.Time
	for i := range f.Queues {
		q := &f.Queues[i]
		switch {
		case r.Queue != "" && q.Name != r.Queue:
		case q.Pause != nil:
			if r.Queue != "" { // neither raise nor end
				return reading{}
			}
		case !q.OldestOverdue.IsZero() && (oldest.IsZero() || q.OldestOverdue.Before(oldest)):
			oldest = q.OldestOverdue
		}
	}
	if oldest.IsZero() {
		return reading{standing: complete}
	}
	above := time.Duration(r.Above * float64(time.Second))
	waits := now.Sub(oldest)
	if waits <= above {
		return reading{standing: complete, value: max(waits, 0).Seconds()}
	}
	return reading{standing: holds, value: waits.Seconds(), since: oldest.Add(above)}
}

// failed returns the number of tasks of a kind that failed within the last hour.
func failed(r *Rule, f *figures.Figures) (n int64) {
	for i := range f.Queues {
		q := &f.Queues[i]
		if order := q.Kind == "order"; order == (r.When == OrdersUnknown) && (r.Queue == "" || r.Queue == q.Name) {
			n += q.FailedHour
		}
	}
	return n
}

// failing reads the endpoints. An endpoint with a half-open breaker counts as failing if most of
// its latest attempts failed. Otherwise a half-open breaker or a pause says nothing.
func failing(f *figures.Figures) map[string]reading {
	readings := map[string]reading{}
	for i := range f.Endpoints {
		e := &f.Endpoints[i]
		share := math.Round(1000*(1-max(e.SuccessRate, 0))) / 10
		switch {
		case e.Breaker == "closed" && e.Pause == nil:
		case e.Pause != nil, e.Breaker == "half_open" && e.SuccessRate >= 0.5:
			readings[e.Endpoint] = reading{standing: unknown, value: share}
		default:
			readings[e.Endpoint] = reading{standing: holds, value: share}
		}
	}
	return readings
}
