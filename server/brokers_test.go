package server

import (
	"testing"

	"github.com/bellmanhq/bellman/engine/figures"
)

// The reason names the mark that was passed, and says "at least" if tasks were not counted to the
// end.
func TestShutBy(t *testing.T) {
	tests := []struct {
		name string
		in   figures.Intake
		want string
	}{
		{"open", figures.Intake{Open: true, Waiting: 1500, High: 1000}, ""},
		{"tasks", figures.Intake{Waiting: 1001, High: 1000, Low: 500, Heap: 19 << 20, HeapHigh: 512 << 20}, "overloaded: at least 1001 tasks wait, and flow.high is 1000; it goes on below 500"},
		{"heap", figures.Intake{Waiting: 7, High: 1000, Low: 500, Heap: 70 << 20, HeapHigh: 64 << 20}, "overloaded: 70 MiB in the heap, and flow.heap is 64; it goes on below 56"},
		{"heap, not yet an eighth below", figures.Intake{Waiting: 7, High: 1000, Low: 500, Heap: 60 << 20, HeapHigh: 64 << 20}, "overloaded: 60 MiB in the heap, and flow.heap is 64; it goes on below 56"},
		{"no mark of the heap", figures.Intake{Waiting: 700, High: 1000, Low: 500, Heap: 60 << 20}, "overloaded: at least 700 tasks wait, and flow.high is 1000; it goes on below 500"},
	}
	for _, tt := range tests {
		if got := shutBy(tt.in); got != tt.want {
			t.Errorf("%s: %q; want %q", tt.name, got, tt.want)
		}
	}
}
