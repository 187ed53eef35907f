package engine_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// Some lines have far more overdue tasks than they may send. In the store the tasks of each line
// lie behind those of the line before. Nevertheless each line sends as often as it may, and the
// tasks that another process adds to another line are as late as the sweep that finds them.
func TestOverloadedLinesDelayNobody(t *testing.T) {
	tests := []struct {
		name  string
		queue engine.Queue
		lines int
		takes time.Duration // an answer
		every time.Duration // an attempt of each line
	}{
		{"one", engine.Queue{EndpointRate: 5}, 1, 0, 200 * time.Millisecond},
		{"one, quicker", engine.Queue{EndpointRate: 15}, 1, 0, time.Second / 15},
		{"one, an attempt at a time", engine.Queue{EndpointConcurrency: 1}, 1, 200 * time.Millisecond, 200 * time.Millisecond},
		{"one queue", engine.Queue{Rate: 10}, 2, 0, 200 * time.Millisecond},
		{"two", engine.Queue{EndpointRate: 5}, 2, 0, 200 * time.Millisecond},
		{"ten", engine.Queue{EndpointRate: 5}, 10, 0, 200 * time.Millisecond},
		{"a hundred", engine.Queue{EndpointRate: 1}, 100 / fewer, 0, time.Second},
		{"a hundred, slow", engine.Queue{EndpointConcurrency: 1}, 100 / fewer, 2 * time.Second, 2 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const lasts = 3 * time.Minute
				var mu sync.Mutex
				late, others := time.Duration(0), 0
				last, gap, made := map[string]time.Time{}, time.Duration(0), 0
				tt.queue.Name = "q"
				tt.queue.Handler = bellman.HandlerFunc(func(_ context.Context, task *bellman.Task, _ int) bellman.Verdict {
					time.Sleep(tt.takes)
					mu.Lock()
					defer mu.Unlock()
					made++
					gap = max(gap, time.Since(last[task.Endpoint]))
					last[task.Endpoint] = time.Now()
					return bellman.Verdict{Next: bellman.Succeed}
				})
				other := engine.Queue{Name: "other", Handler: bellman.HandlerFunc(func(_ context.Context, task *bellman.Task, _ int) bellman.Verdict {
					mu.Lock()
					defer mu.Unlock()
					others++
					late = max(late, time.Since(task.Due))
					return bellman.Verdict{Next: bellman.Succeed}
				})}
				rules, err := engine.NewRules(other)
				if err != nil {
					t.Fatal(err)
				}
				db := &deferring{Store: memory.New()}
				e, stop := runWith(t, engine.Options{Store: db, Queues: []engine.Queue{tt.queue, other}, MaxInFlight: 200, Limits: small, Flow: engine.Flow{High: 1_000_000}})
				defer stop()
				of := int(lasts/tt.every) + 4*small.Line // tasks of each line: more than it may send
				began := time.Now()
				name := func(line int) string { return fmt.Sprint("http://", line) }
				for line := range tt.lines {
					last[name(line)] = began
				}
				for line := range tt.lines {
					addMany(t, e, of, func(int) *bellman.Task { return &bellman.Task{Queue: "q", Endpoint: name(line)} })
				}
				time.Sleep(time.Minute) // until most are deferred
				mu.Lock()
				for _, at := range last {
					gap = max(gap, time.Since(at))
				}
				first := gap
				gap, made = 0, 0
				mu.Unlock()
				n := 0
				for ; time.Since(began) < lasts; n++ {
					adds := rules.Prepare(&bellman.Task{Queue: "other", Endpoint: fmt.Sprint("http://other", n%3)})
					adds[0].Task.Shard = uint16(n % 64)
					if err := db.Store.Commit(t.Context(), &store.Batch{Adds: adds}); err != nil { // as another process would
						t.Fatal(err)
					}
					time.Sleep(10*time.Second/3 + time.Millisecond)
				}
				mu.Lock()
				defer mu.Unlock()
				for _, at := range last {
					gap = max(gap, time.Since(at))
				}
				t.Logf("%d of %d tasks were deferred; %v until each line sent, then gaps of %v; %d of %d others, %v late", db.deferred.Load(), of*tt.lines, first, gap, others, n, late)
				if others != n || late > 1100*time.Millisecond {
					t.Errorf("%d of %d tasks of another process were attempted, at most %v late; want all, and at most the second until a sweep", others, n, late)
				}
				if gap > 2*tt.every+tt.takes { // at most one turn is missed: a line gets its next tasks before it runs empty
					t.Errorf("a line sent nothing for %v; want a task each %v", gap, tt.every)
				}
			})
		})
	}
}

// The contents of tasks that are deferred are read many in one call.
func TestDeferringReadsMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &deferring{Store: memory.New()}
		read := &reading{Store: db}
		limits := sized
		limits.Chunk = 32 // as with bodies of 32 KiB
		e, stop := runWith(t, engine.Options{Store: read, Limits: limits, Queues: []engine.Queue{{Name: "q", EndpointRate: 5, Handler: &receiver{answer: accept}}}})
		defer stop()
		addMany(t, e, 20_000/fewer, func(int) *bellman.Task { return &bellman.Task{Queue: "q"} })
		time.Sleep(10 * time.Second)
		if loads, deferred := read.loads.Load(), db.deferred.Load(); deferred < 15_000/fewer || loads > deferred/3 {
			t.Errorf("%d tasks were deferred after %d reads of contents; want at least %d, and few reads", deferred, loads, 15_000/fewer)
		}
	})
}

// Twenty lines are quicker than the pool, so each of them waits long. To defer their tasks would
// delay all of them still more.
func TestFullPoolDefersNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lines, tasks = 20, 4000
		db := &deferring{Store: memory.New()}
		var made atomic.Int64
		e, stop := runWith(t, engine.Options{Store: db, MaxInFlight: 20, PoolFloor: 2, Limits: small, Queues: []engine.Queue{{Name: "q",
			Handler: bellman.HandlerFunc(func(context.Context, *bellman.Task, int) bellman.Verdict {
				time.Sleep(100 * time.Millisecond) // at most 200 attempts a second of all lines
				made.Add(1)
				return bellman.Verdict{Next: bellman.Succeed}
			})}}})
		defer stop()
		addMany(t, e, tasks, func(i int) *bellman.Task {
			return &bellman.Task{Queue: "q", Endpoint: fmt.Sprint("http://", i%lines)}
		})
		time.Sleep(2 * tasks / 200 * time.Second)
		if n := made.Load(); n != tasks {
			t.Errorf("%d of %d tasks were attempted; want all", n, tasks)
		}
		if n := db.deferred.Load(); n > 0 {
			t.Errorf("%d of %d tasks were deferred; want none", n, tasks)
		}
	})
}
