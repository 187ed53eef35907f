package engine

import (
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"pgregory.net/rapid"
)

// Every duration lies in the bucket that says so, and buckets are narrow.
func TestHistogramBuckets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, int64(20*time.Hour)).Draw(t, "d"))
		b := bucketOf(d)
		if top := ceiling(b); d >= top {
			t.Fatalf("%v is in the bucket below %v", d, top)
		}
		if b > 0 && d < ceiling(b-1) {
			t.Fatalf("%v is in the bucket above %v", d, ceiling(b-1))
		}
		if b >= 8 && float64(ceiling(b)) > 1.26*float64(ceiling(b-1)) {
			t.Fatalf("bucket %d is from %v to %v", b, ceiling(b-1), ceiling(b))
		}
	})
}

func TestHistory(t *testing.T) {
	h := newHistory()
	start := time.Date(2026, 11, 20, 10, 0, 30, 0, time.UTC)
	for i := range 100 {
		h.added(start, "q")
		state := bellman.Succeeded
		result := bellman.Accepted
		if i%10 == 0 {
			state, result = bellman.Failed, bellman.TimedOut
		}
		h.attempted(start, "q", &bellman.Attempt{Due: start, Started: start.Add(time.Duration(i) * time.Millisecond), Took: time.Second, Result: result}, state)
	}
	s := h.stats(start.Add(10*time.Second), time.Hour)
	if s.Counts.Added != 100 || s.Counts.Succeeded != 90 || s.Counts.Failed != 10 ||
		s.Counts.Attempts[bellman.Accepted] != 90 || s.Counts.Attempts[bellman.TimedOut] != 10 {
		t.Errorf("counts %+v", s.Counts)
	}
	if p := s.Lateness; p.Count != 100 || p.P50 < 50*time.Millisecond || p.P50 > 64*time.Millisecond || p.P99 < 99*time.Millisecond || p.Max != 99*time.Millisecond {
		t.Errorf("lateness %+v", p)
	}
	if m := h.lastMinute(start.Add(30*time.Second), "q"); m.Added != 100 {
		t.Errorf("last minute %+v; want what was added 30 s ago", m)
	}
	if m := h.lastMinute(start.Add(2*time.Minute), "q"); m.Added != 0 {
		t.Errorf("last minute %+v; want nothing 2 min later", m)
	}
	if s := h.stats(start.Add(25*time.Hour), 24*time.Hour); s.Counts.Added != 0 || s.Lateness.Count != 0 {
		t.Errorf("a day later: %+v; want nothing", s)
	}
}
