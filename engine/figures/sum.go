package figures

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
)

// A Report holds the figures of one node: what is in its memory, and what it did. Nodes of
// different versions exchange it as JSON: a reader ignores fields that it does not know.
type Report struct {
	Node      string            `json:"node"`
	Queues    []QueueReport     `json:"queues,omitempty"`
	Endpoints []Endpoint        `json:"endpoints,omitempty"`
	Gauges    Gauges            `json:"gauges"`
	Failing   []FailingMerchant `json:"failing,omitempty"`
	Refused   []Refusal         `json:"refused,omitempty"`
	Follows   []Refusal         `json:"follows,omitempty"`
	Windows   []Tally           `json:"windows,omitempty"` // one for each requested window
	Minutes   []Tally           `json:"minutes,omitempty"` // the oldest first
	Wall      time.Time         `json:"wall,omitzero"`     // the wall clock of the node when it answered

	RecentEndpoints []Recent `json:"recent_endpoints,omitempty"`
	RecentMerchants []Recent `json:"recent_merchants,omitempty"`
}

// A QueueReport holds one node's figures of a queue.
type QueueReport struct {
	Name       string    `json:"name"`
	Waiting    int       `json:"waiting"`
	InFlight   int       `json:"in_flight"`
	Held       int       `json:"held"`
	OldestFree time.Time `json:"oldest_free"` // earliest due time of the waiting tasks that nothing holds
	LastMinute Counts    `json:"last_minute"`
	FailedHour int64     `json:"failed_hour"`
}

// A Tally counts events since a moment, in a form that can be added.
type Tally struct {
	Since  time.Time `json:"since"`
	Counts Counts    `json:"counts"`
	Late   Durations `json:"late"`
	Took   Durations `json:"took"`

	Claimed int64 `json:"claimed,omitempty"` // shards taken over from dead nodes
}

// total sums up tallies of several nodes, from the earliest moment on.
func total(tallies ...Tally) Stats {
	s := Stats{Counts: new(counts).public()}
	var late, took histogram
	for _, t := range tallies {
		s.Since = Sooner(s.Since, t.Since)
		s.Counts = sumCounts(s.Counts, t.Counts)
		s.Claimed += t.Claimed
		late.count(t.Late)
		took.count(t.Took)
	}
	s.Lateness, s.Took = late.percentiles(), took.percentiles()
	return s
}

// Sum adds the reports of all nodes. It leaves out the queues, about which the store knows more:
// see AddQueue.
func Sum(reports []Report, ask *Ask) (f Figures) {
	f.Endpoints = sumEndpoints(reports)
	f.Failing = sumFailing(reports)
	f.Refused = sumRefused(reports, func(r *Report) []Refusal { return r.Refused })
	f.Follows = sumRefused(reports, func(r *Report) []Refusal { return r.Follows })
	var endpoints, merchants [][]Recent
	for _, r := range reports {
		f.Gauges = sumGauges(f.Gauges, r.Gauges)
		endpoints, merchants = append(endpoints, r.RecentEndpoints), append(merchants, r.RecentMerchants)
	}
	f.RecentEndpoints, f.RecentMerchants = sumRecent(endpoints...), sumRecent(merchants...)
	for i := range ask.Windows {
		var tallies []Tally
		for _, r := range reports {
			if i < len(r.Windows) {
				tallies = append(tallies, r.Windows[i])
			}
		}
		f.Windows = append(f.Windows, total(tallies...))
	}
	minutes := make(map[int64][]Tally)
	for _, r := range reports {
		for _, t := range r.Minutes {
			at := t.Since.Unix() / 60 / ask.every()
			minutes[at] = append(minutes[at], t)
		}
	}
	for _, tallies := range minutes {
		f.Minutes = append(f.Minutes, total(tallies...))
	}
	slices.SortFunc(f.Minutes, func(a, b Stats) int { return a.Since.Compare(b.Since) })
	return f
}

// AddQueue adds another node's figures of a queue.
func AddQueue(q *Queue, r *Report) {
	i := slices.IndexFunc(r.Queues, func(o QueueReport) bool { return o.Name == q.Name })
	if i < 0 {
		return
	}
	o := &r.Queues[i]
	q.Waiting += o.Waiting
	q.InFlight += o.InFlight
	q.Held += o.Held
	q.OldestOverdue = Sooner(q.OldestOverdue, o.OldestFree)
	q.LastMinute = sumCounts(q.LastMinute, o.LastMinute)
	q.FailedHour += o.FailedHour
}

// Sooner returns the earlier of two times. A zero time does not count.
func Sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func sumCounts(a, b Counts) Counts {
	sum := Counts{Added: a.Added + b.Added, Succeeded: a.Succeeded + b.Succeeded, Failed: a.Failed + b.Failed, Attempts: make(map[bellman.Result]int64)}
	for _, c := range []Counts{a, b} {
		for result, n := range c.Attempts {
			sum.Attempts[result] += n
		}
	}
	return sum
}

func sumGauges(a, b Gauges) Gauges {
	sum := Gauges{
		InFlight:       a.InFlight + b.InFlight,
		PoolLimit:      a.PoolLimit + b.PoolLimit,
		PoolFloor:      a.PoolFloor + b.PoolFloor,
		PoolCeiling:    a.PoolCeiling + b.PoolCeiling,
		Waiting:        a.Waiting + b.Waiting,
		OldestWaiting:  Sooner(a.OldestWaiting, b.OldestWaiting),
		Loaded:         a.Loaded + b.Loaded,
		Stray:          a.Stray + b.Stray,
		Uncommitted:    a.Uncommitted + b.Uncommitted,
		Rejected:       a.Rejected + b.Rejected,
		OldestOverdue:  Sooner(a.OldestOverdue, b.OldestOverdue),
		Held:           a.Held + b.Held,
		Endpoints:      max(a.Endpoints, b.Endpoints), // several nodes know the same endpoints
		BreakersOpen:   max(a.BreakersOpen, b.BreakersOpen),
		Refusing:       a.Refusing + b.Refusing,
		Started:        a.Started,
		SlowCommit:     max(a.SlowCommit, b.SlowCommit),
		RefusedFollows: a.RefusedFollows + b.RefusedFollows,
	}
	if b.Started.After(a.Started) {
		sum.Started = b.Started
	}
	return sum
}

// sumEndpoints adds the figures of each endpoint, by name. The worst breaker state wins.
func sumEndpoints(reports []Report) []Endpoint {
	at := make(map[string]int)
	var all []Endpoint
	for _, r := range reports {
		for _, o := range r.Endpoints {
			i, ok := at[o.Endpoint]
			if !ok {
				at[o.Endpoint] = len(all)
				all = append(all, o)
				continue
			}
			s := &all[i]
			s.InFlight += o.InFlight
			s.Limit += o.Limit
			s.Rate += o.Rate
			s.Waiting += o.Waiting
			s.Oldest = Sooner(s.Oldest, o.Oldest)
			switch n := s.Attempts + o.Attempts; {
			case s.Attempts == 0:
				s.SuccessRate = o.SuccessRate
			case o.Attempts > 0:
				s.SuccessRate = (s.SuccessRate*float64(s.Attempts) + o.SuccessRate*float64(o.Attempts)) / float64(n)
			}
			s.Attempts += o.Attempts
			if severity(o.Breaker) > severity(s.Breaker) {
				s.Breaker = o.Breaker
			}
			if s.Pause == nil {
				s.Pause = o.Pause
			}
			switch {
			case s.Hour == nil:
				s.Hour = o.Hour
			case o.Hour != nil:
				hour := s.Hour.plus(o.Hour)
				s.Hour = &hour
			}
		}
	}
	slices.SortFunc(all, func(a, b Endpoint) int { return strings.Compare(a.Endpoint, b.Endpoint) })
	return all
}

func severity(breaker string) int {
	return slices.Index([]string{"closed", "half_open", "open"}, breaker)
}

// sumFailing returns each failing merchant once, the longest failing first.
func sumFailing(reports []Report) (all []FailingMerchant) {
	for _, r := range reports {
		all = append(all, r.Failing...)
	}
	slices.SortFunc(all, func(a, b FailingMerchant) int {
		return cmp.Or(strings.Compare(a.MerchantNo, b.MerchantNo), a.Since.Compare(b.Since))
	})
	all = slices.CompactFunc(all, func(a, b FailingMerchant) bool { return a.MerchantNo == b.MerchantNo })
	slices.SortStableFunc(all, func(a, b FailingMerchant) int { return a.Since.Compare(b.Since) })
	return all
}

// sumRefused adds the refusals of each queue, by name.
func sumRefused(reports []Report, of func(*Report) []Refusal) (all []Refusal) {
	for i := range reports {
		for _, o := range of(&reports[i]) {
			i := slices.IndexFunc(all, func(s Refusal) bool { return s.Queue == o.Queue })
			if i < 0 {
				all = append(all, o)
				continue
			}
			s := &all[i]
			s.Count, s.Since = s.Count+o.Count, Sooner(s.Since, o.Since)
			if o.Last.After(s.Last) {
				s.Last, s.Why, s.Task = o.Last, o.Why, o.Task
			}
		}
	}
	slices.SortFunc(all, func(a, b Refusal) int { return strings.Compare(a.Queue, b.Queue) })
	return all
}
