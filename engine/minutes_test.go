package engine

import (
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
)

func TestMinutes(t *testing.T) {
	h := newHistory()
	start := time.Date(2026, 11, 20, 15, 4, 30, 0, time.UTC)
	h.added(start, "q")
	h.attempted(start.Add(2*time.Minute), "q", &bellman.Attempt{Result: bellman.Accepted, Took: time.Second}, bellman.Succeeded)
	now := start.Add(2*time.Minute + 10*time.Second)

	all := h.each(now, start, 60)
	if len(all) != 3 {
		t.Fatalf("%d minutes since the start; want 3: %+v", len(all), all)
	}
	for i, want := range []struct{ added, succeeded, took int64 }{{1, 0, 0}, {0, 0, 0}, {0, 1, 1}} {
		got := all[i]
		if at := start.Truncate(time.Minute).Add(time.Duration(i) * time.Minute); !got.Since.Equal(at) {
			t.Errorf("minute %d begins at %v; want %v", i, got.Since, at)
		}
		if got.Counts.Added != want.added || got.Counts.Succeeded != want.succeeded || got.Took.Count != want.took {
			t.Errorf("minute %d: %+v; want %+v", i, got, want)
		}
	}
	if got := h.each(now, start, 2); len(got) != 2 || got[1].Counts.Succeeded != 1 {
		t.Errorf("the latest 2 minutes: %+v", got)
	}
	if got := h.each(now.Add(48*time.Hour), start, 1<<30); len(got) != 24*60 || got[0].Counts.Added != 0 {
		t.Errorf("after two days: %d minutes, the first with %d added; want 1440 without what is a day old", len(got), got[0].Counts.Added)
	}
}
