package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
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

// A changing store counts committed changes.
type changing struct {
	*memory.Store
	changes atomic.Int64
}

func (s *changing) Commit(ctx context.Context, b *store.Batch) error {
	s.changes.Add(int64(len(b.Changes)))
	return s.Store.Commit(ctx, b)
}

// addMany adds n tasks, a thousand at a time. f makes the i-th task.
func addMany(t *testing.T, e *engine.Engine, n int, f func(i int) *bellman.Task) {
	t.Helper()
	var batch []*bellman.Task
	for i := range n {
		if batch = append(batch, f(i)); len(batch) == 1000 || i == n-1 {
			for _, a := range e.Add(t.Context(), batch...) {
				if a.Err != nil {
					t.Fatal(a.Err)
				}
			}
			batch = batch[:0]
		}
	}
}

// A paused queue costs no writes while the pause lasts: each overdue task is deferred at most once.
// A sweep still finds tasks of other queues that another writer adds.
func TestPausedQueueCostsNothing(t *testing.T) {
	const tasks = 100_000 / fewer // a million at full size: see "Blocked lines" in DESIGN.md
	synctest.Test(t, func(t *testing.T) {
		db := &changing{Store: memory.New()}
		var mu sync.Mutex
		late := time.Duration(0)
		quick := engine.Queue{Name: "quick", Handler: bellman.HandlerFunc(func(_ context.Context, task *bellman.Task, _ int) bellman.Verdict {
			mu.Lock()
			defer mu.Unlock()
			late = max(late, time.Since(task.Due))
			return bellman.Verdict{Next: bellman.Succeed}
		})}
		e, stop := runWith(t, engine.Options{Store: db, Limits: sized, Flow: engine.Flow{High: 10 * tasks}, Queues: []engine.Queue{
			{Name: "q", Handler: &receiver{answer: accept}}, quick}})
		defer stop()
		if err := e.PauseQueue(t.Context(), "q", by); err != nil {
			t.Fatal(err)
		}
		addMany(t, e, tasks, func(i int) *bellman.Task {
			return &bellman.Task{Queue: "q", Endpoint: fmt.Sprintf("http://%d", i%100)}
		})
		rules, err := engine.NewRules(quick)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 60 {
			time.Sleep(10 * time.Second)
			adds := rules.Prepare(&bellman.Task{Queue: "quick", Endpoint: fmt.Sprintf("http://quick%d", i)})
			adds[0].Task.Shard = uint16(i)
			if err := db.Store.Commit(t.Context(), &store.Batch{Adds: adds}); err != nil { // these adds are not counted
				t.Fatal(err)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		t.Logf("%d changes for %d tasks in 10m, another queue's tasks %v late", db.changes.Load(), tasks, late)
		if n := db.changes.Load(); n > tasks+100 {
			t.Errorf("%d changes in 10m for %d tasks of a paused queue; want at most one for each task", n, tasks)
		}
		if late > 1100*time.Millisecond {
			t.Errorf("a task of another queue was %v late; want at most the second until a sweep", late)
		}
	})
}

// A thousand endpoints that do not answer, with a hundred overdue tasks each, do not delay another
// endpoint's tasks.
func TestSilentEndpointsDoNotDelayOthers(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var lates []time.Duration
		q := engine.Queue{Name: "q", Handler: bellman.HandlerFunc(func(ctx context.Context, task *bellman.Task, _ int) bellman.Verdict {
			if strings.HasPrefix(task.Endpoint, "http://silent") {
				<-ctx.Done()
				return bellman.Verdict{Result: bellman.TimedOut}
			}
			mu.Lock()
			lates = append(lates, time.Since(task.Due))
			mu.Unlock()
			time.Sleep(time.Millisecond)
			return bellman.Verdict{Next: bellman.Succeed}
		})}
		e, stop := runWith(t, engine.Options{Store: memory.New(), Limits: sized, MaxInFlight: 2048 / fewer, Flow: engine.Flow{High: 1_000_000}, Queues: []engine.Queue{q}})
		defer stop()
		const silent = 1000 / fewer
		addMany(t, e, 100*silent, func(i int) *bellman.Task {
			return &bellman.Task{Queue: "q", Endpoint: fmt.Sprintf("http://silent%d", i%silent)}
		})
		time.Sleep(20 * time.Second)
		for range 5 * 1000 / 5 { // 2000 a second, at full size, for 5 s
			addMany(t, e, 10/fewer, func(int) *bellman.Task { return &bellman.Task{Queue: "q", Endpoint: "http://quick"} })
			time.Sleep(5 * time.Millisecond)
		}
		time.Sleep(10 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		slices.Sort(lates)
		if len(lates) != 10_000/fewer {
			t.Fatalf("%d of %d quick tasks were attempted", len(lates), 10_000/fewer)
		}
		p99 := lates[len(lates)*99/100]
		t.Logf("late: p50 %v, p99 %v, at most %v", lates[len(lates)/2], p99, lates[len(lates)-1])
		if p99 > 10*time.Millisecond {
			t.Errorf("quick tasks were %v late (p99); want at most 10ms", p99)
		}
	})
}
