package resend

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
)

// maxCount is the largest number of tasks that Count counts.
const maxCount = 100_000

// pageSize is the number of tasks in one read.
const pageSize = 200

// The time limits for counting tasks: before a job exists, and when it starts.
const (
	countDry   = 2 * time.Second
	countTotal = 10 * time.Second
)

// Count returns how many tasks a job with this filter would touch if it started now. It counts the
// newest tasks, at most limit of them, within a time limit. A limit of 0 or above 100,000 means
// 100,000; a time of 0 or above two seconds means two seconds. It returns *bellman.Invalid for a
// filter that Start rejects.
func (j *Jobs) Count(ctx context.Context, f Pick, limit int, within time.Duration) (Count, error) {
	if within <= 0 || within > countDry {
		within = countDry
	}
	if limit <= 0 || limit > maxCount {
		limit = maxCount
	}
	f, wrong := j.bound(f, time.Now().UTC())
	if err := wrong.Err(); err != nil {
		return Count{}, err
	}
	count := Count{Top: []MerchantCount{}}
	merchants := map[string]int{}
	more, err := j.count(ctx, &f, limit, within, func(t *bellman.Task) {
		count.Tasks++
		merchants[t.MerchantNo]++
		count.Oldest = t.Created()
		if count.Tasks == 1 {
			count.Newest = t.Created()
		}
	})
	if err != nil {
		return Count{}, err
	}
	count.More, count.Merchants = more, len(merchants)
	names := slices.SortedFunc(maps.Keys(merchants), func(a, b string) int {
		return cmp.Or(merchants[b]-merchants[a], cmp.Compare(a, b))
	})
	for _, name := range names[:min(len(names), 10)] {
		count.Top = append(count.Top, MerchantCount{MerchantNo: name, Tasks: merchants[name]})
	}
	return count, nil
}

// count passes the tasks that match f to a function, the newest first, at most limit of them. It
// does not read a page that would exceed the time limit if it took as long as the last one. more
// reports that there may be others.
func (j *Jobs) count(ctx context.Context, f *Pick, limit int, within time.Duration, each func(*bellman.Task)) (more bool, err error) {
	read := time.Now()
	end := read.Add(within)
	n := 0
	for before := (bellman.ID{}); ; {
		tasks, next, err := j.store.List(ctx, f.Filter, before, pageSize)
		if err != nil {
			return false, fmt.Errorf("count tasks to resend: %w", err)
		}
		for _, t := range tasks {
			switch {
			case !f.Takes(t):
				continue
			case n == limit:
				return true, nil
			}
			n++
			each(t)
		}
		if next.IsZero() {
			return false, nil
		}
		now := time.Now()
		if now.Add(now.Sub(read)).After(end) {
			return true, nil
		}
		before, read = next, now
	}
}
