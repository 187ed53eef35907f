package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
)

// outcome is the end of a task that nobody waits for.
func outcome() *op {
	return &op{flight: &flight{task: new(bellman.Task), item: new(item), change: bellman.Change{To: bellman.Status{State: bellman.Succeeded}}}}
}

// Outcomes that nobody waits for gather after others were committed; what somebody
// waits for, a full batch, or the end of the lane takes them along at once.
func TestOutcomesGather(t *testing.T) {
	const gap = time.Millisecond
	retry := func(after time.Duration) *op {
		o := outcome()
		now := time.Now()
		o.flight.change.To = bellman.Status{Updated: now, Look: now.Add(after)}
		return o
	}
	tests := map[string]struct {
		gather time.Duration
		then   func(*lane)
		took   int
		after  time.Duration // since the first outcomes were taken
	}{
		"alone":             {gather: gatherServer, then: func(*lane) {}, took: 3, after: gatherServer},
		"a store of ours":   {then: func(*lane) {}, took: 1, after: gap},
		"a retry":           {gather: gatherServer, then: func(l *lane) { l.put(retry(time.Second)) }, took: 4, after: gatherServer},
		"a retry at once":   {gather: gatherServer, then: func(l *lane) { l.put(retry(100 * time.Millisecond)) }, took: 4, after: 3 * gap},
		"a request's tasks": {gather: gatherServer, then: func(l *lane) { l.put(&op{adds: []bellman.Add{{Task: new(bellman.Task)}, {Task: new(bellman.Task)}}}) }, took: 4, after: 3 * gap},
		"a follow-up": {gather: gatherServer, took: 4, after: 3 * gap, then: func(l *lane) {
			o := outcome()
			o.flight.change.Follow = make([]bellman.Add, 1)
			l.put(o)
		}},
		"a task with a key": {gather: gatherServer, took: 4, after: 3 * gap, then: func(l *lane) {
			o := outcome()
			o.flight.task.OrderingKey = "M1"
			l.put(o)
		}},
		"one that is waited for": {gather: gatherServer, took: 4, after: 3 * gap, then: func(l *lane) {
			o := outcome()
			o.flight.item.urgent = true
			l.put(o)
		}},
		"a full batch": {gather: gatherServer, took: 8, after: 3 * gap, then: func(l *lane) {
			for range 7 {
				l.put(outcome())
			}
		}},
		"a flush": {gather: gatherServer, then: func(l *lane) { go l.flush() }, took: 3, after: 3 * gap},
		"a close": {gather: gatherServer, then: func(l *lane) { l.close() }, took: 3, after: 3 * gap},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLane()
				l.gather, l.batch = test.gather, 8
				l.put(outcome())
				begun := time.Now()
				if n := len(l.take(nil)); n != 1 || time.Since(begun) != 0 {
					t.Fatalf("%d ops taken after %v, want the first at once", n, time.Since(begun))
				}
				go func() {
					for range 3 {
						time.Sleep(gap)
						l.put(outcome())
					}
					test.then(l)
				}()
				n := len(l.take(nil))
				if took := time.Since(begun); n != test.took || took != test.after {
					t.Errorf("%d ops taken after %v, want %d after %v", n, took, test.took, test.after)
				}
				time.Sleep(time.Second)
				synctest.Wait() // all is put by now
				if test.gather > 0 {
					l.close()
				}
				for len(l.queue) > 0 {
					l.take(nil)
				}
				if l.pressed != 0 || l.weight != 0 {
					t.Errorf("%d ops press and weigh %d in an empty queue", l.pressed, l.weight)
				}
				l.finish(l.open)
			})
		})
	}
}

// An outcome that comes when none was committed lately does not wait.
func TestARareOutcomeDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane()
		l.gather = gatherServer
		for range 3 {
			begun := time.Now()
			l.put(outcome())
			if n := len(l.take(nil)); n != 1 || time.Since(begun) != 0 {
				t.Errorf("%d ops taken after %v, want one at once", n, time.Since(begun))
			}
			time.Sleep(gatherServer)
		}
	})
}

// A node with a part of the shards lets outcomes gather for as long as it takes to have
// as many as one that has them all.
func TestOutcomesGatherByShare(t *testing.T) {
	for part, want := range map[float64]time.Duration{1: gatherServer, 0.5: 2 * gatherServer, 1.0 / 64: gatherMost} {
		l := newLane()
		if l.pace(part); l.gather != want {
			t.Errorf("with %.2f of the shards outcomes gather for %v, want %v", part, l.gather, want)
		}
	}
}
