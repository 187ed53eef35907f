package figures

import (
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"pgregory.net/rapid"
)

// Every duration is in the bucket whose bounds contain it, and buckets are narrow.
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
			t.Fatalf("bucket %d is from %v to %v; want it narrower", b, ceiling(b-1), ceiling(b))
		}
	})
}

func TestHistory(t *testing.T) {
	start := time.Date(2026, 11, 20, 10, 0, 30, 0, time.UTC)
	h := NewHistory(start)
	for i := range 100 {
		h.Added(start, "q")
		state := bellman.Succeeded
		result := bellman.Accepted
		if i%10 == 0 {
			state, result = bellman.Failed, bellman.TimedOut
		}
		h.Attempted(start, "q", &bellman.Attempt{Due: start, Started: start.Add(time.Duration(i) * time.Millisecond), Took: time.Second, Result: result}, state)
	}
	s := total(h.Window(start.Add(10*time.Second), time.Hour))
	if s.Counts.Added != 100 || s.Counts.Succeeded != 90 || s.Counts.Failed != 10 ||
		s.Counts.Attempts[bellman.Accepted] != 90 || s.Counts.Attempts[bellman.TimedOut] != 10 {
		t.Errorf("counts %+v; want 100 added, 90 succeeded and accepted, 10 failed and timed out", s.Counts)
	}
	if p := s.Lateness; p.Count != 100 || p.P50 < 50*time.Millisecond || p.P50 > 64*time.Millisecond || p.P99 < 99*time.Millisecond || p.Max != 99*time.Millisecond {
		t.Errorf("lateness %+v; want 100 values, p50 50 to 64 ms, p99 and maximum 99 ms", p)
	}
	if m := h.LastMinute(start.Add(30*time.Second), "q"); m.Added != 100 {
		t.Errorf("last minute %+v; want the tasks added 30 s ago", m)
	}
	if m := h.LastMinute(start.Add(2*time.Minute), "q"); m.Added != 0 {
		t.Errorf("last minute %+v; want nothing 2 min later", m)
	}
	if s := total(h.Window(start.Add(25*time.Hour), 24*time.Hour)); s.Counts.Added != 0 || s.Lateness.Count != 0 {
		t.Errorf("a day later: %+v; want nothing", s)
	}
}

func TestMinutes(t *testing.T) {
	start := time.Date(2026, 11, 20, 15, 4, 30, 0, time.UTC)
	h := NewHistory(start)
	h.Added(start, "q")
	h.Attempted(start.Add(2*time.Minute), "q", &bellman.Attempt{Result: bellman.Accepted, Took: time.Second}, bellman.Succeeded)
	now := start.Add(2*time.Minute + 10*time.Second)

	all := h.Minutes(now, &Ask{Minutes: 60})
	if len(all) != 3 {
		t.Fatalf("%d minutes since the start; want 3: %+v", len(all), all)
	}
	for i, want := range []struct{ added, succeeded, took int64 }{{1, 0, 0}, {0, 0, 0}, {0, 1, 1}} {
		got := total(all[i])
		if at := start.Truncate(time.Minute).Add(time.Duration(i) * time.Minute); !got.Since.Equal(at) {
			t.Errorf("minute %d begins at %v; want %v", i, got.Since, at)
		}
		if got.Counts.Added != want.added || got.Counts.Succeeded != want.succeeded || got.Took.Count != want.took {
			t.Errorf("minute %d: %+v; want %+v", i, got, want)
		}
	}
	if got := h.Minutes(now, &Ask{Minutes: 2}); len(got) != 2 || got[1].Counts.Succeeded != 1 {
		t.Errorf("the latest 2 minutes: %+v", got)
	}
	if got := h.Minutes(now.Add(48*time.Hour), &Ask{Minutes: 1 << 30}); len(got) != 24*60 || got[0].Counts.Added != 0 {
		t.Errorf("after two days: %d minutes, the first with %d added; want 1440 and 0", len(got), got[0].Counts.Added)
	}
}

func TestFailedHour(t *testing.T) {
	start := time.Date(2026, 11, 20, 15, 4, 30, 0, time.UTC)
	h := NewHistory(start)
	for i := range 3 {
		h.Attempted(start.Add(time.Duration(i)*40*time.Minute), "q", &bellman.Attempt{Result: bellman.Refused}, bellman.Failed)
	}
	for _, tt := range []struct {
		after time.Duration
		want  int64
	}{{80 * time.Minute, 2}, {140 * time.Minute, 1}, {141 * time.Minute, 0}} {
		if got := h.FailedHour(start.Add(tt.after), "q"); got != tt.want {
			t.Errorf("%v after the first of three: %d failed in the latest hour; want %d", tt.after, got, tt.want)
		}
	}
}
