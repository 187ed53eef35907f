package engine_test

import (
	"context"
	"errors"
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

// A task is rescheduled to the very millisecond up to which the loader has read, and its id is
// smaller than the last one read. It is attempted in that millisecond. With an exclusive store no
// sweep would find it within the minute.
func TestMovedToBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := exclusive{memory.New()}
		var mu sync.Mutex
		attempted := make(map[bellman.ID]time.Time)
		e, stop := runSmall(t, store, engine.Queue{Name: "q", Handler: bellman.HandlerFunc(func(_ context.Context, t *bellman.Task, _ int) bellman.Verdict {
			mu.Lock()
			defer mu.Unlock()
			attempted[t.ID] = time.Now()
			return bellman.Verdict{Next: bellman.Succeed}
		})})
		defer stop()
		start := time.Now().Add(20*time.Minute + 5*time.Second).Truncate(time.Millisecond) // beyond the first read, and between two deep sweeps
		moved := add(t, e, &bellman.Task{Queue: "q", Endpoint: "http://moved", Delay: time.Hour})
		var all []bellman.ID
		for i := range 600 { // more than the agenda takes
			all = append(all, add(t, e, &bellman.Task{Queue: "q", Endpoint: fmt.Sprintf("http://%d", i%100), StartAt: start}))
		}
		time.Sleep(time.Until(start) - time.Second)
		if n := e.Gauges(t.Context()).Loaded; n < 400 || n >= 600 {
			t.Fatalf("%d of 600 tasks are loaded; want 400 or more, but not all", n)
		}
		if _, err := e.Reschedule(t.Context(), moved, start, by); err != nil {
			t.Fatal(err)
		}
		time.Sleep(90 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		if late := attempted[moved].Sub(start); late < 0 || late > 100*time.Millisecond {
			t.Errorf("the rescheduled task was attempted %v late; want at most 100ms", late)
		}
		for _, id := range all {
			if late := attempted[id].Sub(start); late < 0 || late > time.Second {
				t.Errorf("a task was attempted %v late; want at most 1s", late)
			}
		}
	})
}

// A brittle store is exclusive, and fails some reads of tasks that are due soon.
type brittle struct {
	store.Store
	good  atomic.Int64 // reads that succeed first
	fails atomic.Int64 // reads that fail then
}

func (s *brittle) Due(ctx context.Context, shards []uint16, after store.Position, until int64, limit int, buf []store.Entry) ([]store.Entry, error) {
	if s.fails.Load() > 0 && until > time.Now().Add(time.Minute).UnixMilli() && s.good.Add(-1) < 0 {
		s.fails.Add(-1)
		return buf, errors.New("broken connection")
	}
	return s.Store.Due(ctx, shards, after, until, limit, buf)
}

func (*brittle) Use() store.Use { return store.Use{Exclusive: true} }

// Tasks deferred by a pause come back at its end, although a read of them fails.
func TestResumeThroughFailedRead(t *testing.T) {
	for good := range 4 {
		t.Run(fmt.Sprintf("after %d good reads", good), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &brittle{Store: memory.New()}
				l := newLedger()
				e, stop := runSmall(t, store, l.queue("n", 0))
				defer stop()
				if err := e.PauseQueue(t.Context(), "q", by); err != nil {
					t.Fatal(err)
				}
				var ids []bellman.ID
				for range 500 { // many pages of the index, and more than a line holds
					ids = append(ids, add(t, e, &bellman.Task{Queue: "q"}))
				}
				time.Sleep(90 * time.Second)
				store.good.Store(int64(good))
				store.fails.Store(1)
				if err := e.ResumeQueue(t.Context(), "q", by); err != nil {
					t.Fatal(err)
				}
				time.Sleep(3 * time.Second)
				if store.fails.Load() != 0 {
					t.Error("no read failed, so the test shows nothing")
				}
				l.once(t, ids)
				time.Sleep(15 * time.Second) // long enough for the check of the agenda
			})
		})
	}
}
