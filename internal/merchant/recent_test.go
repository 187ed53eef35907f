package merchant_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/merchant"
	"github.com/bellmanhq/bellman/store"
)

// newest lists tasks that are there already.
type newest []*bellman.Task

func (n newest) List(_ context.Context, _ store.Filter, _ bellman.ID, limit int) ([]*bellman.Task, bellman.ID, error) {
	return n[:min(len(n), limit)], bellman.ID{}, nil
}

func attempted(result bellman.Result, times int32, at time.Time) *bellman.Task {
	t := &bellman.Task{Last: &bellman.Attempt{Result: result, Started: at}}
	t.Attempts, t.State = times, bellman.Pending
	if result == bellman.Accepted {
		t.State = bellman.Succeeded
	}
	return t
}

// A merchant whose every attempt of late failed is failing, although all of its tasks that
// ended succeeded.
func TestRecent(t *testing.T) {
	now := time.Now()
	failed := func() *bellman.Task { return attempted(bellman.Refused, 2, now.Add(-time.Minute)) }
	accepted := func() *bellman.Task { return attempted(bellman.Accepted, 1, now.Add(-time.Hour)) }
	var many newest
	for range 20 {
		many = append(many, failed())
	}
	tests := map[string]struct {
		tasks   newest
		failing bool
		rate    float64 // -1: none
	}{
		"no task":                           {nil, false, -1},
		"none was attempted":                {newest{{}}, false, -1},
		"one task, attempted twice":         {newest{failed()}, false, 0},
		"two tasks, attempted twice":        {newest{failed(), failed()}, true, 0},
		"twenty failed, older ones did not": {append(many, accepted(), accepted()), true, 0},
		"one of three was accepted":         {newest{failed(), accepted(), failed()}, false, 1.0 / 3},
		"all were accepted":                 {newest{accepted()}, false, 1},
		"two days ago":                      {newest{attempted(bellman.Refused, 9, now.Add(-48*time.Hour))}, false, -1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := merchant.LookRecent(t.Context(), tt.tasks, "M1", now)
			rate := -1.0
			if r.Rate() != nil {
				rate = *r.Rate()
			}
			if err != nil || r.Failing() != tt.failing || rate != tt.rate {
				t.Errorf("failing %t, rate %v, %v; want %t and %v", r.Failing(), rate, err, tt.failing, tt.rate)
			}
			f, err := merchant.Look(t.Context(), tt.tasks, "M1", now, func(*bellman.Task) client.Task { return client.Task{} })
			if err != nil || f.Failing != tt.failing || !reflect.DeepEqual(f.RecentRate, r.Rate()) {
				t.Errorf("Look says %t and %v, %v; LookRecent %+v", f.Failing, f.RecentRate, err, r)
			}
		})
	}
}
