package engine

import (
	"testing"

	"github.com/bellmanhq/bellman"
)

// What a loader left out is not forgotten when it is told of something that became
// due after that and before where it reads.
func TestLookBack(t *testing.T) {
	tests := []struct {
		name          string
		skipped, back int64
		look          int64
		want          int64 // where it goes on when it has read on
	}{
		{"nothing under way", noTime, noTime, 100, 100},
		{"behind where it reads", noTime, 200, 300, 200},
		{"before where it reads", noTime, 200, 100, 100},
		{"before what was left out", 100, 200, 50, 50},
		{"after what was left out", 100, 200, 150, 100},
		{"left out alone", 100, 100, 150, 100},
	}
	for _, tt := range tests {
		l := &loader{out: map[peers]bool{{age: 1, of: 2}: true},
			back: bellman.Position{Look: tt.back}, skipped: bellman.Position{Look: tt.skipped}}
		l.lookBack(tt.look)
		if got := min(l.back.Look, l.skipped.Look); got != tt.want {
			t.Errorf("%s: it goes on at %d; want %d", tt.name, got, tt.want)
		}
	}
}
