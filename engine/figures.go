package engine

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
)

// A Report is what one node knows and no other does: what it has in memory, and did.
// Its JSON is what nodes of one cluster answer each other, also while they are of
// different versions: what a reader does not know it leaves out.
type Report struct {
	Node      string                 `json:"node"`
	Queues    []QueueReport          `json:"queues,omitempty"`
	Endpoints []bellman.EndpointInfo `json:"endpoints,omitempty"`
	Gauges    bellman.Gauges         `json:"gauges"`
	Windows   []Tally                `json:"windows,omitempty"` // one for each that was asked for
	Minutes   []Tally                `json:"minutes,omitempty"` // the oldest first
}

// A QueueReport is what one node has of a queue.
type QueueReport struct {
	Name       string         `json:"name"`
	Waiting    int            `json:"waiting"`
	InFlight   int            `json:"in_flight"`
	Oldest     time.Time      `json:"oldest"`
	OldestFree time.Time      `json:"oldest_free"`
	LastMinute bellman.Counts `json:"last_minute"`
	FailedHour int64          `json:"failed_hour"`
}

// A Tally counts what happened since a moment.
type Tally struct {
	Since  time.Time      `json:"since"`
	Counts bellman.Counts `json:"counts"`
	Late   Durations      `json:"late"`
	Took   Durations      `json:"took"`
}

// Durations count durations in buckets of a fixed width: pairs of a bucket's number
// and how many are in it.
type Durations struct {
	Buckets [][2]uint32   `json:"buckets,omitempty"`
	Max     time.Duration `json:"max_ns"`
}

func (h *histogram) durations() Durations {
	d := Durations{Max: h.max}
	for i, n := range h.buckets {
		if n > 0 {
			d.Buckets = append(d.Buckets, [2]uint32{uint32(i), n})
		}
	}
	return d
}

func (h *histogram) count(d Durations) {
	for _, b := range d.Buckets {
		if int(b[0]) < len(h.buckets) {
			h.buckets[b[0]] += b[1]
		}
	}
	h.max = max(h.max, d.Max)
}

// Report says what this node knows and no other does, for Options.Ask of another.
func (e *Engine) Report(ctx context.Context, ask bellman.FiguresAsk) Report {
	now := e.clock.now()
	r := Report{Node: e.leases.name()}
	if ask.Queues {
		states := e.dispatch.Queues()
		names := make(map[string]int, len(states))
		for name := range *e.queues.Load() {
			names[name] = -1
		}
		for i, st := range states {
			names[st.Name] = i
		}
		for name, i := range names {
			q := QueueReport{Name: name, LastMinute: e.watch.history.lastMinute(now, name), FailedHour: e.watch.history.failedHour(now, name)}
			if i >= 0 {
				q.Waiting, q.InFlight, q.Oldest, q.OldestFree = states[i].Waiting, states[i].InFlight, atNs(states[i].OldestDue), atNs(states[i].OldestFree)
			}
			r.Queues = append(r.Queues, q)
		}
	}
	if ask.Endpoints {
		r.Endpoints = e.Endpoints()
	}
	if ask.Gauges {
		r.Gauges = e.Gauges(ctx)
	}
	for _, window := range ask.Windows {
		t := e.watch.history.tally(now, window)
		t.Since = later(t.Since, e.watch.started.Truncate(time.Millisecond))
		r.Windows = append(r.Windows, t)
	}
	r.Minutes = e.watch.history.tallies(now, e.watch.started, ask.Minutes)
	return r
}

// figuresWithin is how long the other nodes have to say their figures: nobody who
// looks waits longer for a node that is down.
const figuresWithin = 300 * time.Millisecond

// Figures returns the figures of all nodes that say them within 300 ms, and names the
// others. The error is the store's.
func (e *Engine) Figures(ctx context.Context, ask bellman.FiguresAsk) (bellman.Figures, error) {
	others, silent := e.reports(ctx, ask)
	f, err := e.sum(ctx, ask, others)
	f.Nodes, f.Silent = 1+len(others), silent
	return f, err
}

// reports asks all other nodes at once.
func (e *Engine) reports(ctx context.Context, ask bellman.FiguresAsk) (reports []Report, silent []string) {
	ctx, cancel := context.WithTimeout(ctx, figuresWithin)
	defer cancel()
	peers := e.peers()
	answers := make([]Report, len(peers))
	var asking sync.WaitGroup
	for i, n := range peers {
		if e.options.Ask == nil || n.Addr == "" {
			continue
		}
		asking.Go(func() {
			r, err := e.options.Ask(ctx, n.Addr, ask)
			if err != nil {
				e.log.Debug("a node did not say its figures", "node", n.Name, "addr", n.Addr, "err", err)
				return
			}
			answers[i] = r
		})
	}
	asking.Wait()
	for i, n := range peers {
		if answers[i].Node != n.Name { // none, or another's
			silent = append(silent, n.Name)
			continue
		}
		reports = append(reports, answers[i])
	}
	return reports, silent
}

// sum sums up this node's figures and what others report.
func (e *Engine) sum(ctx context.Context, ask bellman.FiguresAsk, others []Report) (f bellman.Figures, err error) {
	if ask.Queues {
		if f.Queues, err = e.Queues(ctx); err != nil {
			return f, err
		}
		for i := range f.Queues {
			q := &f.Queues[i]
			for _, r := range others {
				if j := slices.IndexFunc(r.Queues, func(o QueueReport) bool { return o.Name == q.Name }); j >= 0 {
					o := &r.Queues[j]
					q.Waiting += o.Waiting
					q.InFlight += o.InFlight
					q.OldestOverdue = sooner(q.OldestOverdue, o.Oldest)
					q.OldestFree = sooner(q.OldestFree, o.OldestFree)
					q.LastMinute = sumCounts(q.LastMinute, o.LastMinute)
					q.FailedHour += o.FailedHour
				}
			}
		}
	}
	own := e.Report(ctx, bellman.FiguresAsk{Endpoints: ask.Endpoints, Gauges: ask.Gauges, Windows: ask.Windows, Minutes: ask.Minutes})
	all := append([]Report{own}, others...)
	if ask.Endpoints {
		f.Endpoints = sumEndpoints(all)
	}
	for _, r := range all {
		f.Gauges = sumGauges(f.Gauges, r.Gauges)
	}
	for i := range ask.Windows {
		var tallies []Tally
		for _, r := range all {
			if i < len(r.Windows) {
				tallies = append(tallies, r.Windows[i])
			}
		}
		f.Windows = append(f.Windows, sumTallies(tallies))
	}
	minutes := make(map[int64][]Tally)
	for _, r := range all {
		for _, t := range r.Minutes {
			at := t.Since.Unix() / 60
			minutes[at] = append(minutes[at], t)
		}
	}
	for _, tallies := range minutes {
		f.Minutes = append(f.Minutes, sumTallies(tallies))
	}
	slices.SortFunc(f.Minutes, func(a, b bellman.Stats) int { return a.Since.Compare(b.Since) })
	return f, nil
}

// peers returns the other nodes that are alive, as this one saw them last, by name.
func (e *Engine) peers() []bellman.Node {
	e.hints.mu.Lock()
	peers := slices.Clone(e.hints.peers)
	e.hints.mu.Unlock()
	peers = slices.DeleteFunc(peers, func(n bellman.Node) bool { return e.hints.left(n.Name) })
	slices.SortFunc(peers, func(a, b bellman.Node) int { return strings.Compare(a.Name, b.Name) })
	return peers
}

// sooner is the earlier of two times, of which zero is none.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func sumCounts(a, b bellman.Counts) bellman.Counts {
	sum := bellman.Counts{Added: a.Added + b.Added, Succeeded: a.Succeeded + b.Succeeded, Failed: a.Failed + b.Failed, Attempts: make(map[bellman.Result]int64)}
	for _, c := range []bellman.Counts{a, b} {
		for result, n := range c.Attempts {
			sum.Attempts[result] += n
		}
	}
	return sum
}

// sumTallies sums up what several nodes did, since the first of them began to count.
func sumTallies(tallies []Tally) bellman.Stats {
	s := bellman.Stats{Counts: (&counts{}).public()}
	var late, took histogram
	for _, t := range tallies {
		s.Since = sooner(s.Since, t.Since)
		s.Counts = sumCounts(s.Counts, t.Counts)
		late.count(t.Late)
		took.count(t.Took)
	}
	s.Lateness, s.Took = late.percentiles(), took.percentiles()
	return s
}

func sumGauges(a, b bellman.Gauges) bellman.Gauges {
	return bellman.Gauges{
		InFlight:       a.InFlight + b.InFlight,
		PoolLimit:      a.PoolLimit + b.PoolLimit,
		Waiting:        a.Waiting + b.Waiting,
		OldestWaiting:  sooner(a.OldestWaiting, b.OldestWaiting),
		Loaded:         a.Loaded + b.Loaded,
		Stray:          a.Stray + b.Stray,
		Uncommitted:    a.Uncommitted + b.Uncommitted,
		OldestOverdue:  sooner(a.OldestOverdue, b.OldestOverdue),
		Endpoints:      max(a.Endpoints, b.Endpoints), // many are known to several
		BreakersOpen:   max(a.BreakersOpen, b.BreakersOpen),
		Refusing:       a.Refusing + b.Refusing,
		Started:        later(a.Started, b.Started),
		SlowCommit:     max(a.SlowCommit, b.SlowCommit),
		RefusedFollows: a.RefusedFollows + b.RefusedFollows,
	}
}

// sumEndpoints sums up what several nodes have of each endpoint, by name. A breaker is
// shown as the worst of them.
func sumEndpoints(reports []Report) []bellman.EndpointInfo {
	at := make(map[string]int)
	var all []bellman.EndpointInfo
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
			s.Oldest = sooner(s.Oldest, o.Oldest)
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
		}
	}
	slices.SortFunc(all, func(a, b bellman.EndpointInfo) int { return strings.Compare(a.Endpoint, b.Endpoint) })
	return all
}

func severity(breaker string) int {
	return slices.Index([]string{"closed", "half_open", "open"}, breaker)
}
