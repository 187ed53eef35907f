package merchant

import (
	"context"
	"fmt"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// A Lister lists tasks; every [store.Store] has it.
type Lister interface {
	List(ctx context.Context, f store.Filter, before bellman.ID, limit int) ([]*bellman.Task, bellman.ID, error)
}

// Figures are how a merchant's newest tasks went.
type Figures struct {
	Tasks int       // that were looked at
	More  bool      // there are older ones
	Since time.Time // when the oldest of them was created; zero: there are none

	Pending, Succeeded, Failed, Cancelled int
	Overdue, Retrying                     int       // of those that are pending
	OldestOverdue                         time.Time // zero: none is

	Recent Recent

	Results    map[bellman.Result]int // of the newest attempt of each
	LastFailed []*bellman.Task        // the newest that failed, or whose newest attempt did
}

// Recent says how the newest attempts of a merchant's newest tasks went, of those that were
// attempted in the latest day.
type Recent struct {
	Tasks    int // that were attempted
	Attempts int // of these tasks, as many as there were ever
	Accepted int // tasks whose newest attempt was accepted
}

// Failing reports whether nothing was accepted in three attempts or more.
func (r Recent) Failing() bool { return r.Accepted == 0 && r.Attempts >= failingAfter }

// Rate is the share of tasks whose newest attempt was accepted; ok is false if none was
// attempted.
func (r Recent) Rate() (rate float64, ok bool) {
	if r.Tasks == 0 {
		return 0, false
	}
	return float64(r.Accepted) / float64(r.Tasks), true
}

func (r *Recent) count(t *bellman.Task, now time.Time) {
	if t.Last == nil || now.Sub(t.Last.Started) > recentWindow {
		return
	}
	r.Tasks++
	r.Attempts += int(t.Attempts)
	if t.Last.Result == bellman.Accepted {
		r.Accepted++
	}
}

const (
	recentTasks  = 20 // the newest ones
	recentWindow = 24 * time.Hour
	failingAfter = 3
)

// LookRecent reads Recent alone, which is quick.
func LookRecent(ctx context.Context, tasks Lister, no string, now time.Time, skip func(*bellman.Task) bool) (r Recent, err error) {
	page, _, err := tasks.List(ctx, store.Filter{MerchantNo: no}, bellman.ID{}, recentTasks)
	if err != nil {
		return r, fmt.Errorf("list tasks of merchant %s: %w", no, err)
	}
	for _, t := range page {
		if !skip(t) {
			r.count(t, now)
		}
	}
	return r, nil
}

// How much Look looks at.
const (
	maxFigures = 1000
	maxFailed  = 10
	maxPages   = 20 // of which some may be short
)

// Look sums up the newest thousand tasks that name a merchant, but for those that
// skip says: the time it takes does not grow with how many there are.
func Look(ctx context.Context, tasks Lister, no string, now time.Time, skip func(*bellman.Task) bool) (f Figures, err error) {
	f.Results = make(map[bellman.Result]int)
	var before bellman.ID
	examined := 0
	for range maxPages {
		page, next, err := tasks.List(ctx, store.Filter{MerchantNo: no}, before, min(200, maxFigures-examined))
		if err != nil {
			return f, fmt.Errorf("list tasks of merchant %s: %w", no, err)
		}
		for i, t := range page {
			if examined+i < recentTasks && !skip(t) {
				f.Recent.count(t, now)
			}
		}
		examined += len(page)
		for _, t := range page {
			if !skip(t) {
				f.count(t, now)
			}
		}
		before = next
		if next.IsZero() || examined >= maxFigures {
			break
		}
	}
	f.More = !before.IsZero()
	return f, nil
}

func (f *Figures) count(t *bellman.Task, now time.Time) {
	f.Tasks++
	f.Since = t.Created()
	failed := t.State == bellman.Failed
	switch t.State {
	case bellman.Pending:
		f.Pending++
		if t.Due.Before(now) {
			f.Overdue++
			if f.OldestOverdue.IsZero() || t.Due.Before(f.OldestOverdue) {
				f.OldestOverdue = t.Due
			}
		}
		if t.Attempts > 0 {
			f.Retrying++
		}
		failed = t.Last != nil && t.Last.Result != bellman.Accepted
	case bellman.Succeeded:
		f.Succeeded++
	case bellman.Failed:
		f.Failed++
	case bellman.Cancelled:
		f.Cancelled++
	}
	if t.Last != nil {
		f.Results[t.Last.Result]++
	}
	if failed && len(f.LastFailed) < maxFailed {
		f.LastFailed = append(f.LastFailed, t)
	}
}

// SuccessRate is the share of those that succeeded among those that succeeded or
// failed; ok is false if there are none.
func (f *Figures) SuccessRate() (rate float64, ok bool) {
	ended := f.Succeeded + f.Failed
	if ended == 0 {
		return 0, false
	}
	return float64(f.Succeeded) / float64(ended), true
}
