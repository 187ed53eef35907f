package store

import (
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
)

// The ids of a filter are those of the tasks that were created in its time, below a bound.
func TestIDs(t *testing.T) {
	at := time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)
	first, last := bellman.FirstID(at), bellman.FirstID(at.Add(time.Hour))
	for name, tt := range map[string]struct {
		f         Filter
		below     bellman.ID
		low, high bellman.ID
	}{
		"all":                    {Filter{}, bellman.ID{}, bellman.ID{}, LastID},
		"below a task":           {Filter{}, first, bellman.ID{}, first},
		"of an hour":             {Filter{CreatedFrom: at, CreatedTo: at.Add(time.Hour)}, bellman.ID{}, first, last},
		"of an hour, below":      {Filter{CreatedFrom: at, CreatedTo: at.Add(time.Hour)}, first, first, first},
		"of an hour, long below": {Filter{CreatedTo: at}, last, bellman.ID{}, first},
	} {
		if low, high := tt.f.IDs(tt.below); low != tt.low || high != tt.high {
			t.Errorf("%s: %v to %v; want %v to %v", name, low, high, tt.low, tt.high)
		}
	}
}
