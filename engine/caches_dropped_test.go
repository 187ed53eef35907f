package engine

import (
	"testing"

	"github.com/bellmanhq/bellman/store/memory"
)

// The engine drops its caches when the heap comes near its limit, before intake stops, and again
// when intake stops. While the heap stays high, it does not drop them at each check.
func TestCachesAreDroppedBeforeIntakeStops(t *testing.T) {
	spared := 0
	e, err := New(Options{
		Store:  memory.New(),
		Queues: []Queue{{Name: "notify", Handler: rates{}}},
		Flow:   Flow{High: 100, Low: 50, Heap: 800},
		Spare:  func() { spared++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	first, err := e.rules.schedules.Parse("0s, 5m")
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		heap   int64
		spared int
		open   bool
	}{
		{600, 0, true}, {710, 1, true}, {720, 1, true}, {900, 2, false}, {900, 2, false},
		{710, 2, false}, {600, 2, true}, {710, 3, true}, {100, 3, true}, {900, 4, false},
	} {
		e.intake.meter(0, step.heap)
		if spared != step.spared || e.Intake().Open != step.open {
			t.Fatalf("with a heap of %d: caches dropped %d times, intake open: %t; want %d, %t", step.heap, spared, e.Intake().Open, step.spared, step.open)
		}
	}
	if again, _ := e.rules.schedules.Parse("0s, 5m"); again == first {
		t.Error("the engine kept its cached schedules; want them dropped")
	}
}
