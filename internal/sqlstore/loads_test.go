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

// TestLoads has many callers that load a task each while statements are slow, and some callers give
// up. Each caller gets its own task, few statements are sent, and no caller waits forever.
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
			t.Errorf("%d statements are counted as running and %d calls as waiting; want none", l.busy, len(l.waiting))
		}
		if n := statements.Load(); n > callers*rounds/10 || most.Load() > loadPage {
			t.Errorf("%d statements with at most %d entries for %d calls; want at most a tenth of the calls, in pages", n, most.Load(), callers*rounds)
		}
		if gaveUp.Load() == 0 || told.Load() == 0 {
			t.Errorf("%d callers gave up and %d got an error; want some of each", gaveUp.Load(), told.Load())
		}
	})
}
