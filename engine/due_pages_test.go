package engine_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
)

// A full read of due tasks takes several pages. All pages are read at once, so that no task waits
// for a sweep a second later.
func TestDueTasksInSeveralPages(t *testing.T) {
	const (
		pages = 5500 / fewer // number of tasks: several pages, and more than a line holds
		soon  = 200 * time.Millisecond
	)
	tests := []struct {
		name string
		due  time.Duration // from now
		do   func(t *testing.T, c *crew, q engine.Queue) (from time.Time)
	}{
		{"what is due soon, at a start", 20 * time.Second, func(_ *testing.T, c *crew, q engine.Queue) time.Time {
			c.start("a", q)
			return time.Time{}
		}},
		{"what is overdue, at a start", 0, func(_ *testing.T, c *crew, q engine.Queue) time.Time {
			time.Sleep(time.Minute)
			c.start("a", q)
			return time.Now()
		}},
		{"what is due soon in shards that are won", 40 * time.Second, func(_ *testing.T, c *crew, q engine.Queue) time.Time {
			a := c.start("a", q)
			c.start("b", q)
			time.Sleep(20 * time.Second)
			a.store.cut.Store(true) // b gets all of a's shards at once
			time.Sleep(15 * time.Second)
			a.store.cut.Store(false)
			a.stop()
			return time.Time{}
		}},
		{"what was deferred in a pause", 20 * time.Second, func(t *testing.T, c *crew, q engine.Queue) time.Time {
			a := c.start("a", q)
			if err := a.PauseQueue(t.Context(), "q", by); err != nil {
				t.Fatal(err)
			}
			time.Sleep(90 * time.Second)
			if err := a.ResumeQueue(t.Context(), "q", by); err != nil {
				t.Fatal(err)
			}
			return time.Now()
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrew(t)
				c.limits = sized
				var mu sync.Mutex
				var last time.Time
				made, late := 0, time.Duration(0)
				q := engine.Queue{Name: "q", Handler: bellman.HandlerFunc(func(_ context.Context, task *bellman.Task, _ int) bellman.Verdict {
					mu.Lock()
					defer mu.Unlock()
					made++
					last = time.Now()
					late = max(late, time.Since(task.Due))
					return bellman.Verdict{Next: bellman.Succeed}
				})}
				rules, err := engine.NewRules(q)
				if err != nil {
					t.Fatal(err)
				}
				tasks := make([]*bellman.Task, pages)
				for i := range tasks {
					tasks[i] = &bellman.Task{Queue: "q", Delay: tt.due + time.Duration(i)*fewer*time.Millisecond/4}
				}
				adds := rules.Prepare(tasks...)
				for i := range adds {
					adds[i].Task.Shard = uint16(i % 64)
				}
				if err := c.store.Commit(t.Context(), &store.Batch{Adds: adds}); err != nil {
					t.Fatal(err)
				}
				from := tt.do(t, c, q)
				if from.IsZero() {
					time.Sleep(time.Minute)
				} else {
					time.Sleep(30 * time.Second)
				}
				mu.Lock()
				defer mu.Unlock()
				if !from.IsZero() {
					late = last.Sub(from)
				}
				if made != pages || late > soon {
					t.Errorf("%d of %d tasks were attempted, the latest %v late; want all, within %v", made, pages, late, soon)
				}
				for _, m := range c.members {
					defer m.stop()
				}
			})
		})
	}
}
