package sqlstore

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// TestLoads lets many ask for a task each, while statements take their time, some
// of whom give up: each gets its own, in few statements, and nobody waits for ever.
func TestLoads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l loads
		var statements, most atomic.Int64
		failed := errors.New("the database is away")
		load := func(_ context.Context, entries []store.Entry) ([]*bellman.Task, error) {
			n := statements.Add(1)
			most.Store(max(most.Load(), int64(len(entries))))
			time.Sleep(time.Millisecond)
			if n%7 == 0 {
				return nil, failed
			}
			tasks := make([]*bellman.Task, len(entries))
			for i, e := range entries {
				if e.Version == 1 {
					tasks[i] = &bellman.Task{ID: e.ID}
				}
			}
			return tasks, nil
		}
		const callers, rounds = 100, 50
		var group sync.WaitGroup
		var gaveUp, told atomic.Int64
		for caller := range callers {
			group.Go(func() {
				for round := range rounds {
					ctx, cancel := context.Background(), func() {}
					if (caller+round)%5 == 0 {
						ctx, cancel = context.WithTimeout(ctx, time.Duration(round%4)*time.Millisecond/2)
					}
					e := store.Entry{ID: bellman.NewID(), Version: uint32(round % 2)}
					tasks, err := l.join(ctx, []store.Entry{e}, load)
					cancel()
					switch {
					case errors.Is(err, context.DeadlineExceeded):
						gaveUp.Add(1)
					case errors.Is(err, failed):
						told.Add(1)
					case err != nil || len(tasks) != 1 || (tasks[0] != nil) != (e.Version == 1) || tasks[0] != nil && tasks[0].ID != e.ID:
						t.Errorf("join(%v) = %v, %v", e, tasks, err)
					}
				}
			})
		}
		group.Wait()
		if l.busy != 0 || len(l.waiting) != 0 {
			t.Errorf("%d statements are said to be on their way, %d calls wait", l.busy, len(l.waiting))
		}
		if n := statements.Load(); n > callers*rounds/10 || most.Load() > loadPage {
			t.Errorf("%d statements, of %d entries at most, for %d calls", n, most.Load(), callers*rounds)
		}
		if gaveUp.Load() == 0 || told.Load() == 0 {
			t.Errorf("%d gave up, %d were told of an error: want some of each", gaveUp.Load(), told.Load())
		}
	})
}
