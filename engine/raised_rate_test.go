package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store/memory"
)

// A task that was deferred because of a low rate is sent soon after the rate was raised, not
// minutes later at its VisibleAt.
func TestRaisedRateHoldsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const tasks, wait = 4600 / fewer, 8 * time.Second // more than a line holds
		store, r := memory.New(), &receiver{answer: accept}
		q := engine.Queue{Name: "q", Handler: r, Schedule: "0s, 1h", Rate: 1.0 / 3600}
		o := engine.Options{Store: store, Limits: sized, Queues: []engine.Queue{q}}
		e, stop := runWith(t, o)
		ids := make([]bellman.ID, tasks)
		for i := range ids {
			ids[i] = add(t, e, &bellman.Task{Queue: "q"})
		}
		time.Sleep(time.Minute)
		stop()
		if n := len(r.times()); n != 1 {
			t.Fatalf("%d attempts at a rate of one in an hour; want 1", n)
		}
		e, stop = runWith(t, o) // the new engine finds the tasks on disk and has no room for all
		defer stop()
		time.Sleep(time.Minute)
		q.Rate = 1000 / fewer
		if err := e.SetQueues([]engine.Queue{q}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(wait)
		if n := len(r.times()); n != tasks {
			t.Errorf("%d attempts 8 s after the rate was raised; want %d", n, tasks)
		}
	})
}
