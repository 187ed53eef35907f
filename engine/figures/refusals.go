package figures

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// Refusals counts what was refused within the last hour, by queue. The zero value is empty. It is
// safe for concurrent use.
type Refusals struct {
	mu sync.Mutex
	by map[string]*refused
}

type refused struct {
	minutes [60]struct {
		at    int64 // minutes since 1970
		first time.Time
		n     int
	}
	last Refusal
}

// mostWhy is how much of a reason is kept, in bytes.
const mostWhy = 200

// Note counts a refusal for a queue. task is the id of the task that it is about; empty: none.
func (r *Refusals) Note(queue, task, why string, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil {
		r.by = make(map[string]*refused)
	}
	q := r.by[queue]
	if q == nil {
		q = new(refused)
		r.by[queue] = q
	}
	m := &q.minutes[at.Unix()/60%60]
	if m.at != at.Unix()/60 {
		m.at, m.first, m.n = at.Unix()/60, at, 0
	}
	m.n++
	q.last = Refusal{Queue: queue, Task: task, Last: at.UTC(), Why: strings.Clone(strings.ToValidUTF8(why[:min(len(why), mostWhy)], ""))}
}

// All returns the queues with refusals within the hour before now, by name.
func (r *Refusals) All(now time.Time) (all []Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.by {
		sum := q.last
		for _, m := range q.minutes {
			if m.n > 0 && m.at > now.Unix()/60-60 && m.at <= now.Unix()/60 {
				sum.Count += m.n
				sum.Since = Sooner(sum.Since, m.first.UTC())
			}
		}
		if sum.Count > 0 {
			all = append(all, sum)
		}
	}
	slices.SortFunc(all, func(a, b Refusal) int { return strings.Compare(a.Queue, b.Queue) })
	return all
}
