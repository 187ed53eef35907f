package sqlstore

import (
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
)

// TestPruneStart follows one start through searches. A quick search from the beginning is repeated
// at once. After a slow one, searches begin at the last deleted task for a hundred times as long.
func TestPruneStart(t *testing.T) {
	t0 := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	ids := []bellman.ID{bellman.NewID()}
	for _, tt := range []struct {
		name string
		last int64 // of the tasks that the first search found; 0: none
		took time.Duration
		at   time.Duration // time of the second search, after the first
		want int64
	}{
		{"quick", 1000, pruneDeepQuick, time.Millisecond, earliest},
		{"slow", 1000, 100 * time.Millisecond, 9 * time.Second, 1000},
		{"slow, and later", 1000, 100 * time.Millisecond, 10 * time.Second, earliest},
		{"very slow", 1000, time.Minute, pruneDeepRare - time.Second, 1000},
		{"very slow, and later", 1000, time.Minute, pruneDeepRare, earliest},
		{"nothing found", 0, time.Minute, time.Second, 500},
	} {
		p := pruneStart{from: 500}
		if from := p.at(t0); from != earliest {
			t.Fatalf("%s: the first search begins at %d, want the beginning", tt.name, from)
		}
		found := &oldTasks{began: t0, took: tt.took}
		if tt.last > 0 {
			found.ids, found.last = ids, tt.last
		}
		p.searched(earliest, found)
		if from := p.at(t0.Add(tt.at)); from != tt.want {
			t.Errorf("%s: the second search begins at %d, want %d", tt.name, from, tt.want)
		}
	}
}
