package engine_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// A reading store counts what is read from it.
type reading struct {
	store.Store
	due, loads, loaded atomic.Int64
}

func (r *reading) Due(ctx context.Context, shards []uint16, from store.Position, to int64, limit int, buf []store.Entry) ([]store.Entry, error) {
	known := len(buf)
	buf, err := r.Store.Due(ctx, shards, from, to, limit, buf)
	r.due.Add(int64(len(buf) - known))
	return buf, err
}

func (r *reading) under() store.Store { return r.Store }

// Due counts index entries; CountDue does not count.
func (r *reading) CountDue(ctx context.Context, shards []uint16, from store.Position, to, most int64) (int64, error) {
	page, err := r.Store.Due(ctx, shards, from, to, int(most), nil)
	return int64(len(page)), err
}

func (r *reading) Load(ctx context.Context, entries []store.Entry) ([]*bellman.Task, error) {
	r.loads.Add(1)
	r.loaded.Add(int64(len(entries)))
	return r.Store.Load(ctx, entries)
}

// An endpoint has a large backlog. Each of its tasks is read little more than once, many in one
// call. Only the reads that look for other endpoints' tasks behind the backlog come on top.
func TestBacklogIsReadOnce(t *testing.T) {
	const tasks = 40_000 / fewer
	store := &reading{Store: memory.New()}
	var made atomic.Int64
	synctest.Test(t, func(t *testing.T) {
		q := engine.Queue{Name: "q", Handler: bellman.HandlerFunc(func(context.Context, *bellman.Task, int) bellman.Verdict {
			time.Sleep(4 * fewer * time.Millisecond) // 16,000 a second
			made.Add(1)
			return bellman.Verdict{Next: bellman.Succeed}
		})}
		o := engine.Options{Store: store, Limits: sized, Queues: []engine.Queue{q}}
		e, stop := runWith(t, o)
		batch := make([]*bellman.Task, 0, 500/fewer)
		for i := range tasks {
			batch = append(batch, &bellman.Task{Queue: "q", Key: strconv.Itoa(i), Delay: 2 * time.Second, Body: make([]byte, 300)})
			if len(batch) == cap(batch) {
				e.Add(t.Context(), batch...)
				batch = batch[:0]
			}
		}
		stop()
		time.Sleep(3 * time.Second)
		_, stop = runWith(t, o)
		defer stop()
		time.Sleep(4 * time.Second)
		if n := made.Load(); n != tasks {
			t.Errorf("%d attempts of %d tasks in 4s; want all", n, tasks)
		}
	})
	const past = 2 * 10_000 / fewer // two reads past the backlog for other endpoints
	if due := store.due.Load(); due < tasks || due-past > tasks*5/4 {
		t.Errorf("%d index entries were read for %d tasks; want few more", due, tasks)
	}
	if loads, loaded := store.loads.Load(), store.loaded.Load(); loaded > tasks*11/10 || loads > tasks/int64(sized.Chunk)*5/4 {
		t.Errorf("%d tasks were read in %d calls; want %d in calls of %d", loaded, loads, tasks, sized.Chunk)
	}
	t.Logf("%d entries, %d tasks in %d calls", store.due.Load(), store.loaded.Load(), store.loads.Load())
}
