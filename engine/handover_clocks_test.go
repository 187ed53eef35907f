package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
)

// A task that was handed over belongs to the other node for the duration of the handover, whatever
// the clocks say. If the task was rescheduled, it waits for its new due time.
func TestTimeOfHandover(t *testing.T) { synctest.Test(t, testElsewhere) }

func testElsewhere(t *testing.T) {
	now := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
	since := map[uint16]time.Time{3: time.Now().Add(-4 * time.Second)}
	heldSince := func(shard uint16) time.Time { return since[shard] }
	handedOver := func(at time.Time, d time.Duration, due time.Time) bellman.Status {
		return bellman.Status{Phase: bellman.HandedOver, Updated: at, VisibleAt: at.Add(d), Due: due, Shard: 3}
	}
	for _, tt := range []struct {
		name string
		st   bellman.Status
		want time.Duration
	}{
		{"not handed over", bellman.Status{VisibleAt: now.Add(time.Minute), Shard: 3}, 0},
		{"by the same clock", handedOver(now.Add(-5*time.Second), 10*time.Second, now.Add(-6*time.Second)), 6 * time.Second},
		{"by a clock that is an hour behind", handedOver(now.Add(-time.Hour), 10*time.Second, now.Add(-2*time.Hour)), 6 * time.Second},
		{"by a clock that is a minute ahead", handedOver(now.Add(time.Minute), 10*time.Second, now), 70 * time.Second},
		{"moved to tomorrow yesterday, and due", handedOver(now.Add(-24*time.Hour), 24*time.Hour, now), 0},
		{"moved to another time, and not due", handedOver(now.Add(-time.Hour), 2*time.Hour, now.Add(time.Hour)), time.Hour},
	} {
		if got := elsewhere(heldSince, &bellman.Task{Status: tt.st}, now); got != tt.want {
			t.Errorf("%s: for %v; want %v", tt.name, got, tt.want)
		}
	}
}
