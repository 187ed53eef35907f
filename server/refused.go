package server

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bellmanhq/bellman/engine/figures"
)

// refusals counts the refused notices of the last hour, by queue. The zero value is empty. It is
// safe for concurrent use.
type refusals struct {
	mu sync.Mutex
	by map[string]*refused // of queues that receive notices
}

type refused struct {
	minutes [60]struct {
		at    int64 // minutes since 1970
		first time.Time
		n     int
	}
	last time.Time
	why  string
}

// mostWhy is how much of a reason is kept, in bytes.
const mostWhy = 200

func (r *refusals) note(queue, why string, at time.Time) {
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
	q.last, q.why = at, strings.Clone(strings.ToValidUTF8(why[:min(len(why), mostWhy)], ""))
}

// all returns the queues that refused notices within the hour before now, by name.
func (r *refusals) all(now time.Time) (all []figures.Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, q := range r.by {
		sum := figures.Refusal{Queue: name, Last: q.last.UTC(), Why: q.why}
		for _, m := range q.minutes {
			if m.n > 0 && m.at > now.Unix()/60-60 && m.at <= now.Unix()/60 {
				sum.Count += m.n
				sum.Since = figures.Sooner(sum.Since, m.first.UTC())
			}
		}
		if sum.Count > 0 {
			all = append(all, sum)
		}
	}
	slices.SortFunc(all, func(a, b figures.Refusal) int { return strings.Compare(a.Queue, b.Queue) })
	return all
}
