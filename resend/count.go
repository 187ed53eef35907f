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

// maxCount is how many tasks Count counts at most.
const maxCount = 100_000

// pageSize is how many tasks are read at a time.
const pageSize = 200

// A Dry says what a job would touch.
type Dry struct {
	Tasks     int             `json:"tasks"`
	More      bool            `json:"more"`      // there are more than Tasks
	Merchants int             `json:"merchants"` // distinct ones among Tasks; no merchant is one too
	Top       []MerchantCount `json:"top"`       // those with most tasks, ten at most; never nil
	Oldest    time.Time       `json:"oldest,omitzero"`
	Newest    time.Time       `json:"newest,omitzero"`
}

// A MerchantCount is a merchant's share of the tasks counted.
type MerchantCount struct {
	MerchantNo string `json:"merchant_no"` // empty: tasks that name no merchant
	Tasks      int    `json:"tasks"`
}

// Count says what a job with this filter would touch if it was started now: the
// newest tasks up to limit. A limit of 0, or above 100,000, is 100,000. The error
// is a *bellman.Invalid when the filter is one that Start refuses.
func (j *Jobs) Count(ctx context.Context, f bellman.Filter, limit int) (Dry, error) {
	if limit <= 0 || limit > maxCount {
		limit = maxCount
	}
	f, wrong := bound(f, time.Now().UTC())
	if err := wrong.Err(); err != nil {
		return Dry{}, err
	}
	dry := Dry{Top: []MerchantCount{}}
	merchants := map[string]int{}
	var before bellman.ID
	for {
		tasks, next, err := j.store.List(ctx, f, before, pageSize)
		if err != nil {
			return Dry{}, fmt.Errorf("count tasks to resend: %w", err)
		}
		for _, t := range tasks {
			if dry.Tasks == limit {
				dry.More = true
				break
			}
			dry.Tasks++
			merchants[t.MerchantNo]++
			dry.Oldest = t.Created()
			if dry.Tasks == 1 {
				dry.Newest = t.Created()
			}
		}
		if dry.More || next.IsZero() {
			break
		}
		before = next
	}
	dry.Merchants = len(merchants)
	names := slices.SortedFunc(maps.Keys(merchants), func(a, b string) int {
		return cmp.Or(merchants[b]-merchants[a], cmp.Compare(a, b))
	})
	for _, name := range names[:min(len(names), 10)] {
		dry.Top = append(dry.Top, MerchantCount{name, merchants[name]})
	}
	return dry, nil
}
