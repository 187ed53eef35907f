// Package figures counts the work of an engine: for each minute of the latest day, for the latest
// minute and hour of each queue, and as sums over the nodes of a cluster. It has no clock: the
// caller passes the time.
package figures

import (
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
)

// A History counts the tasks, attempts and commits of one node since its start. Make one with
// NewHistory. All methods are safe for concurrent use.
type History struct {
	started time.Time

	mu      sync.Mutex
	minutes [24 * 60]*minute // a ring; nil: not used yet
	queues  map[string]*queue
	commits [13]slice[histogram] // a ring of five-second slices: the latest minute, and the present slice
}

// A queue holds the counts of one queue.
type queue struct {
	counts [13]slice[counts] // a ring of five-second slices
	failed [61]slice[int64]  // a ring of minutes: the latest hour, and the present minute
}

// A slice counts the events of one period, numbered since 1970.
type slice[T any] struct {
	at int64
	n  T
}

type minute struct {
	at     int64 // since 1970
	counts counts
	late   histogram
	took   histogram

	claimed int64
}

const sliceSeconds = 5

// counts is figures.Counts without a map.
type counts struct {
	added, succeeded, failed int64
	attempts                 [bellman.Blocked + 1]int64
}

// NewHistory returns the history of a node that starts now.
func NewHistory(now time.Time) *History {
	return &History{started: now, queues: make(map[string]*queue)}
}

// Started returns when the history began.
func (h *History) Started() time.Time { return h.started }

// Added counts a task that was added.
func (h *History) Added(now time.Time, queue string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.minute(now).counts.added++
	h.queue(queue).now(now).added++
}

// Attempted counts an attempt. ended is the final state of its task, or Pending.
func (h *History) Attempted(now time.Time, queue string, a *bellman.Attempt, ended bellman.State) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m, q := h.minute(now), h.queue(queue)
	m.late.record(a.Lateness())
	m.took.record(a.Took)
	for _, c := range [...]*counts{&m.counts, q.now(now)} {
		c.attempts[a.Result]++
	}
	h.ended(now, queue, ended)
}

// Ended counts a task that ended without an attempt, such as by a channel's notice.
func (h *History) Ended(now time.Time, queue string, state bellman.State) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended(now, queue, state)
}

// ended counts the end of a task. It does not count Pending and Cancelled. The caller holds mu.
func (h *History) ended(now time.Time, queue string, state bellman.State) {
	q := h.queue(queue)
	for _, c := range [...]*counts{&h.minute(now).counts, q.now(now)} {
		switch state {
		case bellman.Succeeded:
			c.succeeded++
		case bellman.Failed:
			c.failed++
		}
	}
	if state == bellman.Failed {
		*current(q.failed[:], now.Unix()/60)++
	}
}

// Claimed counts shards that the node took over from dead nodes.
func (h *History) Claimed(now time.Time, shards int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.minute(now).claimed += int64(shards)
}

// Committed counts a commit and its duration.
func (h *History) Committed(now time.Time, took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	current(h.commits[:], now.Unix()/sliceSeconds).record(took)
}

// Window sums up the whole minutes of the latest window, which is a day at most.
func (h *History) Window(now time.Time, window time.Duration) Tally {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := now.Unix() / 60
	first := now.Add(-window).Unix()/60 + 1
	first = min(max(first, last-int64(len(h.minutes))+1), last)
	var sum minute
	for _, m := range h.minutes {
		if m == nil || m.at < first || m.at > last {
			continue
		}
		sum.add(m)
	}
	since := time.Unix(first*60, 0).UTC()
	if started := h.started.Truncate(time.Millisecond); started.After(since) {
		since = started
	}
	return sum.tally(since)
}

// Minutes returns the latest minutes that an Ask selects, the oldest first. The last of them is not
// over. Minutes before the history began are missing.
func (h *History) Minutes(now time.Time, ask *Ask) []Tally {
	h.mu.Lock()
	defer h.mu.Unlock()
	last, every := now.Unix()/60, ask.every()
	first := max(last-int64(min(ask.Minutes, len(h.minutes)))+1, h.started.Unix()/60)
	var all []Tally
	for at := first; at <= last; {
		var sum minute
		since := at
		for end := (at/every + 1) * every; at < end && at <= last; at++ { // the bounds are those of other nodes
			if m := h.minutes[at%int64(len(h.minutes))]; m != nil && m.at == at {
				sum.add(m)
			}
		}
		all = append(all, sum.tally(time.Unix(since*60, 0).UTC()))
	}
	return all
}

// every returns Ask.Every, or its default.
func (a *Ask) every() int64 { return int64(max(a.Every, 1)) }

func (m *minute) add(o *minute) {
	m.counts.add(&o.counts)
	m.late.add(&o.late)
	m.took.add(&o.took)
	m.claimed += o.claimed
}

// LastMinute sums up a queue's latest minute.
func (h *History) LastMinute(now time.Time, queue string) Counts {
	h.mu.Lock()
	defer h.mu.Unlock()
	var sum counts
	if q := h.queues[queue]; q != nil {
		for c := range latest(q.counts[:], now.Unix()/sliceSeconds, 60/sliceSeconds) {
			sum.add(c)
		}
	}
	return sum.public()
}

// FailedHour counts the tasks of a queue that failed in this minute and the sixty before it.
func (h *History) FailedHour(now time.Time, queue string) (failed int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if q := h.queues[queue]; q != nil {
		for n := range latest(q.failed[:], now.Unix()/60, len(q.failed)) {
			failed += *n
		}
	}
	return failed
}

// SlowCommit returns the 99th percentile of the commits of the latest minute.
func (h *History) SlowCommit(now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	var took histogram
	for c := range latest(h.commits[:], now.Unix()/sliceSeconds, 60/sliceSeconds) {
		took.add(c)
	}
	return took.percentiles().P99
}

func (h *History) minute(now time.Time) *minute {
	at := now.Unix() / 60
	m := h.minutes[at%int64(len(h.minutes))]
	if m == nil {
		m = new(minute)
		h.minutes[at%int64(len(h.minutes))] = m
	}
	if m.at != at {
		*m = minute{at: at}
	}
	return m
}

func (h *History) queue(name string) *queue {
	q := h.queues[name]
	if q == nil {
		q = new(queue)
		h.queues[name] = q
	}
	return q
}

func (q *queue) now(now time.Time) *counts { return current(q.counts[:], now.Unix()/sliceSeconds) }

// current returns the counter of the slice at in a ring. A counter of an older slice is cleared
// first.
func current[T any](ring []slice[T], at int64) *T {
	s := &ring[at%int64(len(ring))]
	if s.at != at {
		*s = slice[T]{at: at}
	}
	return &s.n
}

// latest yields the counters of the latest n slices of a ring. at is the last of them.
func latest[T any](ring []slice[T], at int64, n int) func(yield func(*T) bool) {
	return func(yield func(*T) bool) {
		for i := range ring {
			if s := &ring[i]; s.at > at-int64(n) && s.at <= at && !yield(&s.n) {
				return
			}
		}
	}
}

func (m *minute) tally(since time.Time) Tally {
	return Tally{Since: since, Counts: m.counts.public(), Late: m.late.durations(), Took: m.took.durations(), Claimed: m.claimed}
}

func (c *counts) add(o *counts) {
	c.added += o.added
	c.succeeded += o.succeeded
	c.failed += o.failed
	for i, n := range o.attempts {
		c.attempts[i] += n
	}
}

func (c *counts) public() Counts {
	p := Counts{Added: c.added, Succeeded: c.succeeded, Failed: c.failed, Attempts: make(map[bellman.Result]int64)}
	for i, n := range c.attempts {
		if n > 0 {
			p.Attempts[bellman.Result(i)] = n
		}
	}
	return p
}
