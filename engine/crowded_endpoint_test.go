package engine_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store/memory"
)

// One endpoint has more tasks than it can serve in time. Each of them gets its share, not only
// those that memory holds.
func TestCrowdedEndpointIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		count := map[bellman.ID]int{}
		r := &receiver{answer: func(task *bellman.Task, _ int) bellman.Verdict {
			time.Sleep(10 * fewer * time.Millisecond) // 1600 attempts a second
			mu.Lock()
			defer mu.Unlock()
			count[task.ID]++
			return bellman.Verdict{Result: bellman.Accepted}
		}}
		e, stop := runWith(t, engine.Options{Store: memory.New(), Limits: sized, Queues: []engine.Queue{
			{Name: "q", Handler: r, Schedule: "1s*", YoungFirst: true, EndpointConcurrency: 16}}})
		defer stop()
		const tasks = 8000 / fewer // four times what a line holds in memory
		ids := make([]bellman.ID, tasks)
		for i := range ids {
			ids[i] = add(t, e, &bellman.Task{Queue: "q"})
		}
		time.Sleep(8 * time.Second)
		mu.Lock()
		clear(count)
		mu.Unlock()
		time.Sleep(40 * time.Second) // 64,000 attempts
		mu.Lock()
		defer mu.Unlock()
		all, least, most := 0, count[ids[0]], 0
		for _, id := range ids {
			n := count[id]
			all, least, most = all+n, min(least, n), max(most, n)
		}
		if all < 40*1500/fewer {
			t.Errorf("%d attempts in 40 seconds; want about %d a second", all, 1600/fewer)
		}
		if most > least*3/2 {
			t.Errorf("the tasks got between %d and %d attempts each; want about equal numbers", least, most)
		}
	})
}
