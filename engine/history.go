package engine

import (
	"math/bits"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
)

// A history keeps figures of the latest day, minute by minute, and of each
// queue's latest minute in slices of five seconds. It is this node's alone and
// begins anew with each start.
type history struct {
	mu      sync.Mutex
	minutes [24 * 60]*minute // nil: never used
	queues  map[string]*[13]slice
	failed  map[string]*[61]failures // of each queue's latest hour, minute by minute
	commits [13]commits              // of the latest minute
}

// failures are how many tasks of a queue failed in one minute.
type failures struct {
	at int64 // Unix minutes
	n  int64
}

// commits are those of a slice of time.
type commits struct {
	at   int64 // Unix time / 5 s
	took histogram
}

type minute struct {
	at     int64 // Unix minutes; what is here is of that minute only
	counts counts
	late   histogram
	took   histogram
}

type slice struct {
	at     int64 // Unix time / 5 s
	counts counts
}

const sliceSeconds = 5

const results = int(bellman.Blocked) + 1

type counts struct {
	added, succeeded, failed int64
	attempts                 [results]int64
}

func newHistory() history {
	return history{queues: make(map[string]*[13]slice), failed: make(map[string]*[61]failures)}
}

func (h *history) added(now time.Time, queue string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.minute(now).counts.added++
	h.slice(now, queue).counts.added++
}

func (h *history) attempted(now time.Time, queue string, a *bellman.Attempt, state bellman.State) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.minute(now)
	m.late.record(a.Lateness())
	m.took.record(a.Took)
	for _, c := range [...]*counts{&m.counts, &h.slice(now, queue).counts} {
		c.attempts[a.Result]++
		switch state {
		case bellman.Succeeded:
			c.succeeded++
		case bellman.Failed:
			c.failed++
		}
	}
	if state == bellman.Failed {
		h.fail(now, queue)
	}
}

func (h *history) fail(now time.Time, queue string) {
	q, ok := h.failed[queue]
	if !ok {
		q = new([61]failures)
		h.failed[queue] = q
	}
	at := now.Unix() / 60
	f := &q[at%int64(len(q))]
	if f.at != at {
		*f = failures{at: at}
	}
	f.n++
}

// failedHour counts the tasks of a queue that failed in the latest hour: in this
// minute and the sixty before it.
func (h *history) failedHour(now time.Time, queue string) (n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if q, ok := h.failed[queue]; ok {
		at := now.Unix() / 60
		for i := range q {
			if q[i].at > at-int64(len(q)) && q[i].at <= at {
				n += q[i].n
			}
		}
	}
	return n
}

func (h *history) committed(now time.Time, took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := now.Unix() / sliceSeconds
	c := &h.commits[at%int64(len(h.commits))]
	if c.at != at {
		*c = commits{at: at}
	}
	c.took.record(took)
}

// slowCommit is the 99th percentile of the commits of the latest minute.
func (h *history) slowCommit(now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	var took histogram
	at := now.Unix() / sliceSeconds
	for i := range h.commits {
		if c := &h.commits[i]; c.at > at-60/sliceSeconds && c.at <= at {
			took.add(&c.took)
		}
	}
	return took.percentiles().P99
}

func (h *history) minute(now time.Time) *minute {
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

func (h *history) slice(now time.Time, queue string) *slice {
	q, ok := h.queues[queue]
	if !ok {
		q = new([13]slice)
		h.queues[queue] = q
	}
	at := now.Unix() / sliceSeconds
	s := &q[at%int64(len(q))]
	if s.at != at {
		*s = slice{at: at}
	}
	return s
}

// stats sums up the latest window, which begins with a whole minute.
func (h *history) stats(now time.Time, window time.Duration) bellman.Stats {
	return sumTallies([]Tally{h.tally(now, window)})
}

// tally is stats as it can be summed up with others.
func (h *history) tally(now time.Time, window time.Duration) Tally {
	h.mu.Lock()
	defer h.mu.Unlock()
	first := now.Add(-window).Unix()/60 + 1
	first = min(max(first, now.Unix()/60-int64(len(h.minutes))+1), now.Unix()/60)
	var sum counts
	var late, took histogram
	for _, m := range h.minutes {
		if m == nil || m.at < first || m.at > now.Unix()/60 {
			continue
		}
		sum.add(&m.counts)
		late.add(&m.late)
		took.add(&m.took)
	}
	return Tally{Since: time.Unix(first*60, 0).UTC(), Counts: sum.public(), Late: late.durations(), Took: took.durations()}
}

// lastMinute sums up a queue's latest minute.
func (h *history) lastMinute(now time.Time, queue string) bellman.Counts {
	h.mu.Lock()
	defer h.mu.Unlock()
	var sum counts
	if q, ok := h.queues[queue]; ok {
		at := now.Unix() / sliceSeconds
		for i := range q {
			if q[i].at > at-60/sliceSeconds && q[i].at <= at {
				sum.add(&q[i].counts)
			}
		}
	}
	return sum.public()
}

func (c *counts) add(o *counts) {
	c.added += o.added
	c.succeeded += o.succeeded
	c.failed += o.failed
	for i, n := range o.attempts {
		c.attempts[i] += n
	}
}

func (c *counts) public() bellman.Counts {
	p := bellman.Counts{Added: c.added, Succeeded: c.succeeded, Failed: c.failed, Attempts: make(map[bellman.Result]int64)}
	for i, n := range c.attempts {
		if n > 0 {
			p.Attempts[bellman.Result(i)] = n
		}
	}
	return p
}

// A histogram counts durations in buckets whose width is a quarter of their
// size at most, from 16 µs to a day.
type histogram struct {
	buckets [4*33 + 1]uint32
	max     time.Duration
}

const firstBucket = 16 * time.Microsecond

func bucketOf(d time.Duration) int {
	n := uint64(d / firstBucket)
	if n < 4 {
		return int(n)
	}
	exp := bits.Len64(n) - 3 // n>>exp is 4 to 7
	return min(int(n>>exp)+4*exp, len(histogram{}.buckets)-1)
}

// ceiling returns the smallest duration beyond a bucket.
func ceiling(bucket int) time.Duration {
	bucket++
	if bucket < 8 {
		return time.Duration(bucket) * firstBucket
	}
	exp := bucket/4 - 1
	return time.Duration(uint64(4+bucket%4)<<exp) * firstBucket
}

func (h *histogram) record(d time.Duration) {
	h.buckets[bucketOf(max(d, 0))]++
	h.max = max(h.max, d)
}

func (h *histogram) add(o *histogram) {
	for i, n := range o.buckets {
		h.buckets[i] += n
	}
	h.max = max(h.max, o.max)
}

// percentiles returns each percentile as the upper end of its bucket.
func (h *histogram) percentiles() bellman.Percentiles {
	var p bellman.Percentiles
	for _, n := range h.buckets {
		p.Count += int64(n)
	}
	if p.Count == 0 {
		return p
	}
	at := func(share float64) time.Duration {
		left := int64(share*float64(p.Count)) + 1
		for i, n := range h.buckets {
			if left -= int64(n); left <= 0 {
				return min(ceiling(i), h.max)
			}
		}
		return h.max
	}
	p.P50, p.P90, p.P99, p.Max = at(0.50), at(0.90), at(0.99), h.max
	return p
}
