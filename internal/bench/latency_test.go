package bench

import (
	"testing"
	"time"
)

func TestLatencyIsComparedWithBarePosts(t *testing.T) {
	t.Parallel()
	report := runTiny(t, Options{Scenarios: []string{"latency"}})
	for name, goal := range map[string]string{"p50": "≤ 1.3 × a bare post", "p99": "≤ 2 × a bare post"} {
		f, _ := report.Figure("latency", "create to arrival, "+name+", median of the rounds")
		if f.Base <= 0 || f.Ratio <= 0 || f.Required != goal {
			t.Errorf("%s is %g, %g × %g, goal %q; want a base, a ratio and the goal %q", name, f.Value, f.Ratio, f.Base, f.Required, goal)
		}
	}
}

func TestMedian(t *testing.T) {
	if m := median([]float64{5, 1, 2, 4, 3}); m != 3 {
		t.Errorf("median = %g; want 3", m)
	}
}

func TestTakenOver(t *testing.T) {
	death := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	after := func(ms int) time.Time { return death.Add(time.Duration(ms) * time.Millisecond) }
	for _, tt := range []struct {
		due, at int // ms after the death
		wait    time.Duration
	}{
		{-500, 2400, 2400 * time.Millisecond}, // due before the death
		{300, 2400, 2100 * time.Millisecond},  // due after it
		{300, 302, 0},                         // a living node's
		{-1500, 2400, 0},                      // due too long before
		{2000, 4000, 0},                       // too long after
	} {
		wait, is := takenOver(after(tt.due), after(tt.at), death)
		if wait != tt.wait || is != (tt.wait > 0) {
			t.Errorf("takenOver(due %d, at %d) = %v, %t; want %v", tt.due, tt.at, wait, is, tt.wait)
		}
	}
}
