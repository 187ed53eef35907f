package alarm

import (
	"math"
	"time"

	"github.com/bellmanhq/bellman/engine/figures"
)

// A standing is what figures say of a condition.
type standing uint8

const (
	unknown standing = iota // they do not say
	fine
	holds
)

// A reading is what figures say of one condition.
type reading struct {
	standing standing
	value    float64
	since    time.Time // since when it has held at least; zero: they do not say
}

// whole is how long a node must have counted before its latest hour is a whole one.
const whole = time.Hour

// wanted are the figures that rules are judged by.
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

// read says what figures say of a rule's condition: by endpoint where it has one for
// each, else under "". rest is what they say of endpoints that are missing.
//
// The figures of a node that did not answer are not known. What is too much without
// them is too much; what is not may be.
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
			found.standing = unknown // what failed before a start of it is not counted
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
			if r.Queue != "" { // neither a trouble nor over
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

// failed counts the tasks of a kind that failed in the latest hour.
func failed(r *Rule, f *figures.Figures) (n int64) {
	for i := range f.Queues {
		q := &f.Queues[i]
		if order := q.Kind == "order"; order == (r.When == OrdersUnknown) && (r.Queue == "" || r.Queue == q.Name) {
			n += q.FailedHour
		}
	}
	return n
}

// failing reads the endpoints that are not well. One whose breaker is half open is
// failing while most of its latest attempts failed; else that, like a pause, says
// nothing: it may get well.
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
