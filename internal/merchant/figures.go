package merchant

import (
	"context"
	"fmt"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/store"
)

// A Lister lists tasks; every [store.Store] has it.
type Lister interface {
	List(ctx context.Context, f store.Filter, before bellman.ID, limit int) ([]*bellman.Task, bellman.ID, error)
}

// A Recent summarizes the newest attempts of a merchant's newest tasks that were attempted within a
// day.
type Recent struct {
	Tasks    int // attempted tasks
	Attempts int // all attempts of these tasks
	Accepted int // tasks whose newest attempt was accepted
}

// Failing reports whether no task was accepted in at least three attempts.
func (r Recent) Failing() bool { return r.Accepted == 0 && r.Attempts >= failingAfter }

// Rate returns the share of tasks whose newest attempt was accepted; nil if no task was attempted.
func (r Recent) Rate() *float64 { return share(r.Accepted, r.Tasks) }

// share returns part/whole; nil if whole is 0.
func share(part, whole int) *float64 {
	if whole == 0 {
		return nil
	}
	rate := float64(part) / float64(whole)
	return &rate
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

// asks reports whether a task queries a channel: the merchant gets no request by it.
func asks(t *bellman.Task) bool { return t.Kind == bellman.KindOrder || t.Kind == bellman.KindPoll }

// LookRecent reads only Recent, which is quick.
func LookRecent(ctx context.Context, tasks Lister, no string, now time.Time) (r Recent, err error) {
	page, _, err := tasks.List(ctx, store.Filter{MerchantNo: no}, bellman.ID{}, recentTasks)
	if err != nil {
		return r, fmt.Errorf("list tasks of merchant %s: %w", no, err)
	}
	for _, t := range page {
		if !asks(t) {
			r.count(t, now)
		}
	}
	return r, nil
}

// backlogTasks is how many pending tasks of a merchant LookBacklog counts.
const backlogTasks = 100

// LookBacklog counts the newest pending tasks of a merchant in queues that notify: kind returns the
// kind of a queue, empty if it is not known. A queue that is not known counts.
func LookBacklog(ctx context.Context, tasks Lister, no string, now time.Time, kind func(queue string) string) (*client.Backlog, error) {
	pending := bellman.Pending
	page, next, err := tasks.List(ctx, store.Filter{MerchantNo: no, State: &pending, Brief: true}, bellman.ID{}, backlogTasks)
	if err != nil {
		return nil, fmt.Errorf("list pending tasks of merchant %s: %w", no, err)
	}
	b := &client.Backlog{More: !next.IsZero()}
	for _, t := range page {
		if of := kind(t.Queue); of != "" && of != bellman.KindNotify.String() {
			continue
		}
		b.Pending++
		if due := client.At(t.Due); t.Due.Before(now) && (b.Oldest == nil || due.Before(b.Oldest.Time)) {
			b.Oldest = &due
		}
	}
	return b, nil
}

// The bounds of Look.
const (
	maxFigures = 1000
	maxFailed  = 10
	maxPages   = 20                    // some may be short
	lookTime   = 30 * time.Millisecond // after that no other page is read
)

// Look summarizes the newest thousand tasks of a merchant, without orders and polls, or as many as
// there is time for. Its time does not grow with the number of tasks. show converts a task to the
// API's form.
func Look(ctx context.Context, tasks Lister, no string, now time.Time, show func(*bellman.Task) client.Task) (client.MerchantStats, error) {
	f := client.MerchantStats{MerchantNo: no, Results: make(map[string]int), LastFailed: []client.Task{}}
	var recent Recent
	var before bellman.ID
	began, examined := time.Now(), 0
	for range maxPages {
		page, next, err := tasks.List(ctx, store.Filter{MerchantNo: no}, before, min(200, maxFigures-examined))
		if err != nil {
			return f, fmt.Errorf("list tasks of merchant %s: %w", no, err)
		}
		for i, t := range page {
			if examined+i < recentTasks && !asks(t) {
				recent.count(t, now)
			}
		}
		examined += len(page)
		for _, t := range page {
			if asks(t) {
				continue
			}
			if count(&f, t, now) && len(f.LastFailed) < maxFailed {
				f.LastFailed = append(f.LastFailed, show(t))
			}
		}
		before = next
		if next.IsZero() || examined >= maxFigures || time.Since(began) > lookTime {
			break
		}
	}
	f.More = !before.IsZero()
	f.SuccessRate = share(f.Succeeded, f.Succeeded+f.Failed)
	f.Failing, f.RecentRate = recent.Failing(), recent.Rate()
	return f, nil
}

// count adds a task to the statistics, and reports whether the task or its newest attempt failed.
func count(f *client.MerchantStats, t *bellman.Task, now time.Time) (failed bool) {
	f.Tasks++
	since := client.At(t.Created())
	f.Since = &since
	failed = t.State == bellman.Failed
	switch t.State {
	case bellman.Pending:
		f.Pending++
		if t.Due.Before(now) {
			f.Overdue++
			if due := client.At(t.Due); f.Oldest == nil || due.Before(f.Oldest.Time) {
				f.Oldest = &due
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
		f.Results[t.Last.Result.String()]++
	}
	return failed
}
